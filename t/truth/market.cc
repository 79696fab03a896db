// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * An exchange: books of orders in pools with free lists, price levels in maps, instruments as a hierarchy of classes
 * with a common interface, messages as variants, strategies with closures, and trades in chunks.
 */
#include "t/truth/library.h"
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#define NEW_OBJECT(T, ...) \
	(static_cast<T *>(truth_log(new T{ __VA_ARGS__ }, TRUTH_ARRAY, "market::" #T, 1)))

namespace market
{

template <typename T> class Pool
{
	union Slot {
		Slot *next;
		alignas(T) unsigned char bytes[sizeof(T)];
	};
	struct Slab {
		Slab *previous;
		Slot slots[64];
	};

      public:
	Pool(const char *type, const char *slab) : type_(type), slab_(slab)
	{
	}
	template <typename... A> T *make(A &&...arguments)
	{
		if (!free_)
			refill();
		Slot *slot = free_;
		free_ = slot->next;
		used_++;
		truth_log(slot, TRUTH_PART, type_, 1);
		return new (slot->bytes) T{ std::forward<A>(arguments)... };
	}
	void drop(T *object)
	{
		object->~T();
		Slot *slot = reinterpret_cast<Slot *>(object);
		slot->next = free_;
		free_ = slot;
		used_--;
		truth_forget_part(object);
	}
	size_t used() const
	{
		return used_;
	}

      private:
	void refill()
	{
		Slab *slab = new Slab;
		truth_log(slab, TRUTH_POOL, slab_, 0);
		slab->previous = slabs_;
		slabs_ = slab;
		for (Slot &slot : slab->slots) {
			slot.next = free_;
			free_ = &slot;
		}
	}
	const char *type_, *slab_;
	Slab *slabs_ = nullptr;
	Slot *free_ = nullptr;
	size_t used_ = 0;
};

class Instrument
{
      public:
	Instrument(std::string symbol, double tick) : symbol_(std::move(symbol)), tick_(tick)
	{
		log_text(symbol_);
	}
	virtual ~Instrument() = default;
	virtual double value(double price) const = 0;
	const std::string &symbol() const
	{
		return symbol_;
	}

      protected:
	std::string symbol_;
	double tick_;
};

class Share final : public Instrument
{
      public:
	using Instrument::Instrument;
	double value(double price) const override
	{
		return price * tick_;
	}
};

class Future : public Instrument
{
      public:
	Future(std::string symbol, double tick, int64_t expiry)
	    : Instrument(std::move(symbol), tick), expiry_(expiry)
	{
	}
	double value(double price) const override
	{
		return price * 1000 + static_cast<double>(expiry_);
	}

      private:
	int64_t expiry_;
};

class Option final : public Future
{
      public:
	Option(std::string symbol, const Instrument *underlying, double strike)
	    : Future(std::move(symbol), 0.01, 1800000000), underlying_(underlying), strike_(strike)
	{
	}
	double value(double price) const override
	{
		return underlying_->value(price) - strike_;
	}

      private:
	const Instrument *underlying_;
	double strike_;
};

struct Account;
struct Level;

struct Order {
	uint64_t id;
	Account *account;
	Level *level;
	Order *previous, *next;
	uint32_t quantity, filled;
	bool buys;
};

struct Level {
	int64_t price;
	Order *first, *last;
	uint64_t quantity;
	class Book *book;
};

struct Account {
	std::string owner;
	double cash;
	std::unordered_map<const Instrument *, int64_t> positions;
	std::vector<Order *> open;
};

struct Trade {
	uint64_t buyer, seller;
	int64_t price;
	uint32_t quantity;
};

struct TradeChunk {
	std::unique_ptr<TradeChunk> older;
	unsigned count = 0;
	Trade trades[32];
};

struct Cancel {
	uint64_t order;
};
struct Quote {
	std::string maker;
	int64_t bid, ask;
};
struct Halt {
	std::shared_ptr<std::string> reason;
};
using Message = std::variant<Cancel, Quote, Halt>;

class Book
{
      public:
	Book(const Instrument *instrument, Pool<Order> &orders, Pool<Level> &levels)
	    : instrument_(instrument), orders_(orders), levels_(levels)
	{
	}
	Order *add(uint64_t id, Account *account, int64_t price, uint32_t quantity, bool buys)
	{
		Order *order = orders_.make(
			Order{ id, account, nullptr, nullptr, nullptr, quantity, 0, buys });
		if (buys)
			queue(bids_, price, order);
		else
			queue(asks_, price, order);
		return order;
	}
	void cancel(Order *order)
	{
		Level *level = order->level;

		(order->previous ? order->previous->next : level->first) = order->next;
		(order->next ? order->next->previous : level->last) = order->previous;
		level->quantity -= order->quantity;
		orders_.drop(order);
	}
	void trade(uint64_t buyer, uint64_t seller, int64_t price)
	{
		if (!trades_ || trades_->count == 32) {
			std::unique_ptr<TradeChunk> chunk(NEW_OBJECT(TradeChunk, ));
			chunk->older = std::move(trades_);
			trades_ = std::move(chunk);
		}
		trades_->trades[trades_->count++] = Trade{ buyer, seller, price, 10 };
	}
	size_t levels() const
	{
		return bids_.size() + asks_.size() + (instrument_ ? 1 : 0);
	}

      private:
	template <typename M> void queue(M &side, int64_t price, Order *order)
	{
		Level *&level = side[price];
		if (!level)
			level = levels_.make(Level{ price, nullptr, nullptr, 0, this });
		order->level = level;
		order->previous = level->last;
		(level->last ? level->last->next : level->first) = order;
		level->last = order;
		level->quantity += order->quantity;
	}
	const Instrument *instrument_;
	Pool<Order> &orders_;
	Pool<Level> &levels_;
	std::map<int64_t, Level *, std::greater<>> bids_;
	std::map<int64_t, Level *> asks_;
	std::unique_ptr<TradeChunk> trades_;
};

struct Strategy {
	virtual ~Strategy() = default;
	virtual void tick(int64_t price) = 0;
};

template <int Window> struct Average : Strategy {
	double values[Window] = {};
	unsigned at = 0;
	Account *account = nullptr;
	void tick(int64_t price) override
	{
		values[at++ % Window] = static_cast<double>(price);
	}
};

struct Hedge : Strategy {
	std::vector<std::unique_ptr<Strategy>> legs;
	std::function<double(int64_t)> ratio;
	void tick(int64_t price) override
	{
		for (auto &leg : legs)
			leg->tick(static_cast<int64_t>(ratio(price)));
	}
};

class Exchange
{
      public:
	void list(unsigned count)
	{
		for (unsigned i = 0; i < count; i++) {
			std::string symbol = "SYMBOL-OF-COMPANY-" + std::to_string(i);
			Instrument *instrument;
			if (i % 3 == 0)
				instrument = NEW_OBJECT(Share, symbol, 0.01);
			else if (i % 3 == 1)
				instrument = NEW_OBJECT(Future, symbol, 0.5, 1700000000 + i);
			else
				instrument = NEW_OBJECT(Option, symbol, instruments_.back().get(),
							10.0 * i);
			instruments_.emplace_back(instrument);
			books_.emplace_back(NEW_OBJECT(Book, instrument, orders_, levels_));
		}
	}
	void open(unsigned count)
	{
		for (unsigned i = 0; i < count; i++) {
			Account *account = NEW_OBJECT(Account, );
			account->owner = "holder of account number " + std::to_string(i);
			log_text(account->owner);
			account->cash = 1000.0 * i;
			accounts_[i].reset(account);
		}
	}
	void run(unsigned count)
	{
		for (unsigned i = 0; i < count; i++) {
			Account *account = accounts_[next() % accounts_.size()].get();
			size_t number = next() % books_.size();
			Order *order = books_[number]->add(i, account,
							   1000 + static_cast<int64_t>(next() % 40),
							   1 + next() % 100, next() % 2);
			account->positions[instruments_[number].get()] += order->quantity;
			if (next() % 4 == 0)
				books_[number]->cancel(order);
			else
				account->open.push_back(order);
			if (next() % 3 == 0)
				books_[number]->trade(i, i / 2, 1000);
			if (i % 5 == 0)
				message(i);
		}
	}
	void plan(unsigned count)
	{
		for (unsigned i = 0; i < count; i++) {
			auto *hedge = NEW_OBJECT(Hedge, );
			for (unsigned j = 0; j < 1 + i % 3; j++) {
				Strategy *leg;
				if (j % 2)
					leg = NEW_OBJECT(Average<8>, );
				else
					leg = NEW_OBJECT(Average<20>, );
				hedge->legs.emplace_back(leg);
			}
			hedge->ratio = [i, this](int64_t price) {
				return static_cast<double>(price + i) /
				       static_cast<double>(books_.size());
			};
			strategies_.emplace_back(hedge);
		}
	}
	size_t size() const
	{
		return orders_.used() + levels_.used() + books_[0]->levels();
	}

      private:
	void message(unsigned i)
	{
		if (i % 2)
			messages_.emplace_back(Cancel{ i });
		else if (i % 3)
			messages_.emplace_back(
				Quote{ "a maker of markets, number " + std::to_string(i), 10, 11 });
		else
			messages_.emplace_back(Halt{ std::make_shared<std::string>(
				"trading was halted at " + std::to_string(i)) });
	}
	Pool<Order> orders_{ "market::Order", "market::Pool<market::Order>::Slab" };
	Pool<Level> levels_{ "market::Level", "market::Pool<market::Level>::Slab" };
	std::vector<std::unique_ptr<Instrument>> instruments_;
	std::vector<std::unique_ptr<Book>> books_;
	std::unordered_map<uint64_t, std::unique_ptr<Account>> accounts_;
	std::vector<std::unique_ptr<Strategy>> strategies_;
	std::vector<Message> messages_;
};

} // namespace market

int main()
{
	auto exchange = std::make_unique<market::Exchange>();

	exchange->list(60);
	exchange->open(400);
	exchange->run(9000);
	exchange->plan(120);
	truth_capture();
	printf("%zu\n", exchange->size());
	return 0;
}
