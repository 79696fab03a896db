// SPDX-License-Identifier: GPL-3.0-or-later
// Classes with vtables, inherited in all ways. t/end-to-end/cxx.t has the numbers, and builds
// it in several ways: also without debug information, and without symbols.
#include <cstdio>
#include <vector>

namespace zoo
{
struct animal {
	virtual ~animal() = default;
	int legs = 4;
};

struct named {
	virtual ~named() = default;
	const char *name = "somebody";
};

struct dog : animal {
	int tricks = 2;
};

// The second base is at offset 16.
struct pet : animal, named {
	long owner = 7;
};

struct cage {
	virtual ~cage() = default;
	long bars = 12;
};

struct steel : virtual cage {
	long weight = 100;
};

struct glass : virtual cage {
	long panes = 6;
};

// A diamond: one cage, that comes last.
struct aquarium : steel, glass {
	long water = 1000;
};

enum colour {
	RED,
	GREEN
};
enum class size {
	SMALL,
	LARGE
};

template <typename Type, colour Colour, size Size, unsigned long Number> struct painted : animal {
	Type what[Number];
};

namespace
{
struct hidden : animal {
	short secret = 3;
};
} // namespace
} // namespace zoo

struct visitor {
	zoo::named *looks_at;
	zoo::glass *through;
};

std::vector<zoo::animal *> animals;
std::vector<zoo::named *> names;
std::vector<zoo::cage *> cages;
visitor *guest;
zoo::dog *pack;
zoo::animal *heads[4];

static void fill()
{
	struct local : zoo::animal {
		char here = 'h';
	};

	for (int i = 0; i < 5; i++)
		animals.push_back(new zoo::dog);
	for (int i = 0; i < 3; i++) {
		auto *pet = new zoo::pet;

		// Only the second base is pointed to.
		names.push_back(pet);
	}
	for (int i = 0; i < 2; i++)
		cages.push_back(new zoo::aquarium);
	cages.push_back(new zoo::steel);
	heads[0] = new zoo::painted<const char *, zoo::GREEN, zoo::size::LARGE, 2>();
	heads[1] = new zoo::painted<unsigned long, zoo::RED, zoo::size::SMALL, 4>();
	heads[2] = new zoo::hidden;
	heads[3] = new local;
	guest = new visitor{ names[0], dynamic_cast<zoo::aquarium *>(cages[0]) };
	// A count goes before them: they have destructors.
	pack = new zoo::dog[6];
}

int main()
{
	fill();
	std::puts("ready");
	std::fflush(stdout);
	std::getchar();
	std::printf("done %zu\n", animals.size() + names.size() + cages.size() + pack[1].tricks);
	return 0;
}
