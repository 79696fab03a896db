// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A mail server: sessions with states, mailboxes by name, messages with attachments that are shared,
 * a queue of deliveries, filters as functions, statistics by hour.
 */
#include "t/truth/library.h"
#include "t/truth/truth.h"

#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#define LOGGED(T, ...) (static_cast<T *>(truth_log(new T(__VA_ARGS__), TRUTH_ARRAY, #T, 1)))
#ifdef _LIBCPP_VERSION
enum {
	HASH_VALUE = 16,
	TREE_NUMBER = 28
};
#else
enum {
	HASH_VALUE = 8,
	TREE_NUMBER = 32
};
#endif

struct Attachment {
	std::string file;
	std::vector<uint8_t> content;
	unsigned uses = 0;
};

struct Message {
	uint32_t number;
	std::string from, subject;
	std::vector<std::shared_ptr<Attachment>> attachments;
	Message *reply_to;
	Message(uint32_t n, std::string sender, std::string title, Message *to)
	    : number(n), from(std::move(sender)), subject(std::move(title)), reply_to(to)
	{
	}
};

class Mailbox
{
      public:
	explicit Mailbox(std::string owner) : owner_(std::move(owner))
	{
	}
	~Mailbox();
	Message *add(uint32_t number, const std::string &from)
	{
		auto *message = LOGGED(Message, number, from,
				       "subject number " + std::to_string(number) + " of this box",
				       messages_.empty() ? nullptr : messages_.back());
		messages_.push_back(message);
		unread_.insert(number);
		return message;
	}
	void log() const
	{
		log_text(owner_);
		log_at(messages_.data(), 0, "Message *", messages_.size());
		for (auto &number : unread_)
			log_at(&number, TREE_NUMBER,
			       "std::_Rb_tree_node<unsigned int>|std::__tree_node<unsigned int, "
			       "void *>");
		for (auto *message : messages_) {
			log_text(message->from);
			log_text(message->subject);
			if (!message->attachments.empty())
				log_at(message->attachments.data(), 0,
				       "std::shared_ptr<Attachment>", message->attachments.size());
		}
	}
	size_t size() const
	{
		return messages_.size();
	}

      private:
	std::string owner_;
	std::vector<Message *> messages_;
	std::set<uint32_t> unread_;
};

Mailbox::~Mailbox()
{
	for (auto *message : messages_)
		delete message;
}

class State
{
      public:
	virtual ~State() = default;
	virtual std::unique_ptr<State> next(const std::string &line) = 0;
};

class Selected : public State
{
      public:
	explicit Selected(Mailbox *box) : box_(box)
	{
	}
	std::unique_ptr<State> next(const std::string &) override
	{
		return nullptr;
	}

      private:
	Mailbox *box_;
	unsigned first_ = 1;
};

class Greeting : public State
{
      public:
	std::unique_ptr<State> next(const std::string &line) override
	{
		lines_.push_back(line);
		return nullptr;
	}

      private:
	std::list<std::string> lines_;
};

struct Session {
	int socket;
	State *state;
	std::string peer;
	Session *newer = nullptr;
};

struct Delivery {
	Message *message;
	uint32_t tries;
	uint32_t wait;
};

using Filter = std::function<bool(const Message &)>;

class Server
{
      public:
	void run()
	{
		for (uint32_t i = 0; i < 60; i++)
			create("user" + std::to_string(i) + "@a-long-domain.example.org");
		for (uint32_t i = 0; i < 900; i++)
			receive(i);
		for (int i = 0; i < 200; i++)
			connect(i);
		filters_.push_back(
			[this](const Message &message) { return message.number < received_; });
	}
	void log() const
	{
		for (auto &entry : boxes_) {
			log_at(&entry, 32,
			       "std::_Rb_tree_node<std::pair<std::string const, Mailbox *>>|"
			       "std::__tree_node<std::__value_type<std::string, Mailbox *>, void "
			       "*>");
			log_text(entry.first);
			entry.second->log();
		}
		for (auto &entry : by_number_)
			log_at(&entry, HASH_VALUE,
			       "std::__detail::_Hash_node<std::pair<unsigned int const, Message "
			       "*>, false>|"
			       "std::__hash_node<std::__hash_value_type<unsigned int, Message *>, "
			       "void *>");
		for (auto &session : sessions_) {
			log_at(&session, 16,
			       "std::_List_node<Session *>|std::__list_node<Session *, void *>");
			log_text(session->peer);
		}
		for (auto &attachment : attachments_) {
			log_text(attachment->file);
			log_at(attachment->content.data(), 0, "unsigned char",
			       attachment->content.size());
		}
	}
	size_t size() const
	{
		return boxes_.size() + queue_.size() + filters_.size();
	}

      private:
	void create(const std::string &name)
	{
		boxes_[name] = LOGGED(Mailbox, name);
	}
	void receive(uint32_t number)
	{
		auto at = boxes_.begin();
		std::advance(at, number % boxes_.size());
		auto *message = at->second->add(number, "someone-" + std::to_string(number) +
								"@elsewhere.example.com");
		by_number_[number] = message;
		if (number % 5 == 0) {
			auto attachment = std::make_shared<Attachment>();
			attachment->file = "/var/spool/mail/attachments/" + std::to_string(number);
			attachment->content.assign(100 + number % 7, static_cast<uint8_t>(number));
			attachments_.push_back(attachment);
		}
		if (number % 3 == 0 && !attachments_.empty())
			message->attachments.push_back(attachments_[number % attachments_.size()]);
		queue_.push_back(Delivery{ message, 0, number });
		received_++;
	}
	void connect(int number)
	{
		auto *session = LOGGED(Session, );
		session->socket = number;
		session->peer = "the-client-with-number-" + std::to_string(number);
		if (number % 2)
			session->state = LOGGED(Selected, boxes_.begin()->second);
		else
			session->state = LOGGED(Greeting, );
		session->state->next("EHLO a line of the client that is not short");
		session->newer = sessions_.empty() ? nullptr : sessions_.back();
		sessions_.push_back(session);
	}

	std::map<std::string, Mailbox *> boxes_;
	std::unordered_map<uint32_t, Message *> by_number_;
	std::list<Session *> sessions_;
	std::deque<Delivery> queue_;
	std::vector<std::shared_ptr<Attachment>> attachments_;
	std::vector<Filter> filters_;
	uint32_t received_ = 0;
};

int main()
{
	auto server = std::make_unique<Server>();

	server->run();
	server->log();
	log_at(server.get(), 0, "Server");
	truth_capture();
	printf("%zu\n", server->size());
	return 0;
}
