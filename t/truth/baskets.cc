// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Baskets whose vectors of numbers have room for more, in blocks that were texts: the end of the text is still there, and a
 * pointer leads to where it begins, behind the last number. Chunks of baskets are known late.
 */
#include "t/truth/library.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

namespace
{

constexpr size_t chunk_size = 32, baskets = 40, used = 5, room = 8;

struct Basket {
	std::vector<uint32_t> items;
	std::string label;
};

class Pool
{
      public:
	virtual ~Pool() = default;
	virtual size_t count() const = 0;
};

template <class T> class Chunks : public Pool
{
      public:
	size_t count() const override
	{
		return count_;
	}

	T &add(const char *type)
	{
		if (count_ % chunk_size == 0) {
			void *chunk = ::operator new(chunk_size * sizeof(T));

			chunks_.push_back(
				static_cast<T *>(truth_log(chunk, TRUTH_ARRAY, type, chunk_size)));
		}
		return *new (&chunks_.back()[count_++ % chunk_size]) T();
	}

      private:
	std::vector<T *> chunks_;
	size_t count_ = 0;
};

// Leaves the bytes of a text in what operator new returns next.
void leave_text()
{
	void *volatile text = ::operator new(room * sizeof(uint32_t));

	memset(text, 'a', room * sizeof(uint32_t) - 1);
	static_cast<char *>(text)[room * sizeof(uint32_t) - 1] = '\0';
	::operator delete(text);
}

std::unique_ptr<Pool> pool;

} // namespace

int main()
{
	auto chunks = std::make_unique<Chunks<Basket>>();

	for (uint32_t i = 0; i < baskets; i++) {
		Basket &basket = chunks->add("(anonymous namespace)::Basket");

		leave_text();
		basket.items.reserve(room);
		for (uint32_t j = 0; j < used; j++)
			basket.items.push_back(i);
		truth_log(basket.items.data(), TRUTH_ARRAY, "unsigned int", room);
		basket.label = "basket";
	}
	pool = std::move(chunks);
	truth_capture();
	printf("%zu\n", pool->count());
	return 0;
}
