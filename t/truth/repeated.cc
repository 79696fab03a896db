// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Messages as libraries of serialisation make them: arrays behind a header whose array is declared as large as an index
 * allows, and strings of their own behind pointers with flags, whose type is void *.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <climits>
#include <cstdint>
#include <cstdio>
#include <string>

enum {
	MESSAGES = 400,
	FLAG = 2, // of a string that the message owns
};

class Pointers
{
      public:
	void add(void *item)
	{
		if (used == total)
			grow();
		header->items[used++] = item;
	}

      private:
	struct Header {
		int allocated;
		void *items[(INT_MAX - 2 * sizeof(int)) / sizeof(void *)];
	};

	void grow()
	{
		int larger = total == 0 ? 3 : 2 * total + 1;
		size_t bytes = sizeof(void *) * (static_cast<size_t>(larger) + 1);
		void *moved = ::operator new(bytes);

		truth_log(moved, TRUTH_FLEXIBLE, "Pointers::Header", 0);
		if (header) {
			memcpy(moved, header, sizeof(void *) * (static_cast<size_t>(total) + 1));
			truth_forget(header);
			::operator delete(header);
		}
		header = static_cast<Header *>(moved);
		total = header->allocated = larger;
	}

	int used = 0, total = 0;
	Header *header = nullptr;
};

class Tagged
{
      public:
	void set(const std::string &text)
	{
		char *own = reinterpret_cast<char *>(OF(std::string, new std::string(text)));

		word = own + FLAG;
	}

      private:
	void *word = nullptr;
};

struct Item {
	Tagged code;
	long count;
};

struct Message {
	Message *next;
	Tagged name, note;
	Pointers items;
};

static Message *messages;

int main()
{
	for (int i = 0; i < MESSAGES; i++) {
		Message *message = OF(Message, new Message());

		message->name.set("message number " + std::to_string(i) + " of many");
		message->note.set("note");
		for (uint64_t left = next() % 9; left > 0; left--) {
			Item *item = OF(Item, new Item());

			item->code.set("code " + std::to_string(next() % 100));
			item->count = static_cast<long>(next() % 10);
			message->items.add(item);
		}
		message->next = messages;
		messages = message;
	}
	truth_capture();
	printf("%p\n", static_cast<void *>(messages));
	return 0;
}
