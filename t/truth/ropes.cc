// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Ropes: texts in pieces of any length, to which pointers to their common base lead. A tag in that tells the pieces
 * apart, and no debug information tells how long they are.
 */
#include "t/truth/library.h"
#include "t/truth/random.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <vector>

enum {
	ROPES = 300,
	FANOUT = 6,
};

// Small, so that many pieces are as large as several.
struct Piece {
	size_t length;
	int references;
	uint8_t tag;
	char storage[3];
};

// Its characters begin in the storage.
struct FlatPiece : Piece {
	static FlatPiece *make(const std::string &text)
	{
		size_t bytes = offsetof(Piece, storage) + text.size();
		void *room = ::operator new(bytes < sizeof(FlatPiece) ? sizeof(FlatPiece) : bytes);
		auto *piece = new (room) FlatPiece;

		piece->length = text.size();
		piece->references = 1;
		piece->tag = static_cast<uint8_t>(6 + text.size() / 8);
		memcpy(static_cast<Piece *>(piece)->storage, text.data(), text.size());
		return FLEXIBLE_OF(FlatPiece, piece);
	}
};

struct TreePiece : Piece {
	Piece *children[FANOUT];
};

struct BorrowedPiece : Piece {
	const char *text;
	void (*release)(const char *text);
};

class Rope
{
      public:
	void append(Piece *piece)
	{
		size_ += piece->length;
		if (!root_) {
			root_ = piece;
			return;
		}
		auto *tree = OF(TreePiece, new TreePiece());

		tree->length = size_;
		tree->references = 1;
		tree->tag = 3;
		tree->children[0] = root_;
		tree->children[1] = piece;
		root_ = tree;
	}
	size_t size() const
	{
		return size_;
	}

      private:
	Piece *root_ = nullptr;
	size_t size_ = 0;
};

static std::vector<Rope *> *ropes;

static void keep(const char *)
{
}

static Piece *borrow(const char *text)
{
	auto *piece = OF(BorrowedPiece, new BorrowedPiece());

	piece->length = strlen(text);
	piece->references = 1;
	piece->tag = 5;
	piece->text = text;
	piece->release = keep;
	return piece;
}

static Rope *make_rope(int number)
{
	Rope *rope = OF(Rope, new Rope);

	rope->append(FlatPiece::make(std::string(20 + next() % 300, 'a' + number % 26)));
	for (uint64_t i = next() % 4; i > 0; i--)
		rope->append(FlatPiece::make(std::string(20 + 40 * i, 'x')));
	if (number % 3 == 0)
		rope->append(borrow("a text that the program has not allocated"));
	return rope;
}

int main(void)
{
	size_t sum = 0;

	ropes = OF(std::vector<Rope *>, new std::vector<Rope *>);
	ropes->reserve(ROPES);
	ARRAY_OF(Rope *, ROPES, ropes->data());
	for (int i = 0; i < ROPES; i++)
		ropes->push_back(make_rope(i));
	truth_capture();
	for (const Rope *rope : *ropes)
		sum += rope->size();
	printf("%zu\n", sum);
	return 0;
}
