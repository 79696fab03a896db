// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/compile.h"

#include "lib/dwarf/dwarf_file_units.h"
#include "lib/dwarf/dwarf_types.h"
#include "lib/types/virtual_bases.h"

// A program that tells where the virtual bases of its classes are, and is asked by its debug information, too.
static const char source[] =
	"#include <cstdio>\n"
	"#include <memory>\n"
	"#include <sstream>\n"
	"struct Top { virtual ~Top() {} std::unique_ptr<int> held; int tag; };\n"
	"struct Left : virtual Top { int x; }; struct Right : virtual Top { int y; };\n"
	"struct Diamond : Left, Right { int z; };\n"
	"struct Plain { int a; }; struct Byte { char c; };\n"
	"struct UnderPlain : virtual Plain { char c; };\n"
	"struct Two : virtual Byte, virtual Plain { short s; };\n"
	"struct Order : Plain, virtual Top { char c; };\n"
	"struct Face { virtual void f() {} virtual ~Face() {} };\n"
	"struct Other { virtual void g() {} };\n"
	"struct Impl : virtual Face { int n; };\n"
	"struct Faces : virtual Face, virtual Other { int n; };\n"
	"struct Deep : Impl, virtual Other { long m; };\n"
	"struct Mixed : Diamond, Impl { char last; };\n"
	"struct Chain : virtual Left { char c; }; struct Longer : virtual Chain { double d; };\n"
	"struct Empty {}; struct OnEmpty : virtual Empty { int n; };\n"
	"struct Wide { long double l; }; struct OnWide : virtual Wide { char c; };\n"
	"struct Array { char text[3]; }; struct OnArray : virtual Array, virtual Top { short s; "
	"};\n"
	"struct Bits { int a : 3; int b : 7; virtual ~Bits() {} }; struct OnBits : virtual Bits { "
	"int c : 2; };\n"
	"#define SAY(type, base) { type *p = new type; \\\n"
	"	printf(\"%s %s %ld\\n\", #type, #base, (long)((char *)static_cast<base *>(p) - "
	"(char *)p)); }\n"
	"int main() {\n"
	"	SAY(Diamond, Top) SAY(UnderPlain, Plain) SAY(Two, Byte) SAY(Two, Plain) SAY(Order, "
	"Top)\n"
	"	SAY(Impl, Face) SAY(Faces, Face) SAY(Faces, Other) SAY(Deep, Face) SAY(Deep, "
	"Other)\n"
	"	SAY(Mixed, Top) SAY(Mixed, Face) SAY(Chain, Left) SAY(Chain, Top) SAY(Longer, "
	"Chain)\n"
	"	SAY(Longer, Left) SAY(Longer, Top) SAY(OnEmpty, Empty) SAY(OnWide, Wide)\n"
	"	SAY(OnArray, Array) SAY(OnArray, Top) SAY(OnBits, Bits) SAY(Left, Top)\n"
	"}\n";

static const char *const compilers[] = { "g++ -gdwarf-5", "g++ -gdwarf-4 -O2", "clang++ -gdwarf-5",
					 "clang++ -gdwarf-4 -O2" };

static struct heap_unit_types unit;

static void read_types(void)
{
	struct heap_dwarf_file *file;
	struct heap_dwarf_units *units;

	assert_null(heap_dwarf_open(compile_path("program"), &file));
	assert_null(heap_dwarf_file_units(file, &units));
	assert_true(units->count > 0);

	const struct heap_dwarf_unit *largest = &units->units[0];

	for (size_t i = 1; i < units->count; i++) {
		if (units->units[i].end - units->units[i].start > largest->end - largest->start)
			largest = &units->units[i];
	}
	assert_null(heap_unit_types_read(file, largest->die, &unit));
	heap_dwarf_close(file);
}

static void check(const char *compiler, const char *class, const char *base, long offset)
{
	struct heap_virtual_base bases[HEAP_VIRTUAL_BASES];
	size_t count =
		heap_virtual_bases_find(&unit.types, heap_types_find(&unit.types, class, 0), bases);

	for (size_t i = 0; i < count; i++) {
		const char *name =
			heap_types_string(&unit.types, unit.types.types[bases[i].type].name);

		if (strcmp(name, base) != 0)
			continue;
		if (bases[i].offset != (uint64_t)offset)
			fail_msg("%s: %s of %s at %d, not %ld", compiler, base, class,
				 (int)bases[i].offset, offset);
		return;
	}
	fail_msg("%s: no %s of %s among %d", compiler, base, class, (int)count);
}

static void places_as_compilers_do(void **state)
{
	(void)state;
	compile_write("program.cc", source);
	for (size_t i = 0; i < sizeof(compilers) / sizeof(*compilers); i++) {
		char class[32], base[32];
		long offset;
		int said = 0;

		if (!compile_has(compilers[i]))
			continue;
		assert_true(compile_run("%s -o program program.cc", compilers[i]));
		if (!compile_run("./program >said")) {
			compile_lack("the program is for another machine");
			return;
		}
		read_types();

		FILE *lines = fopen(compile_path("said"), "r");

		assert_non_null(lines);
		while (fscanf(lines, "%31s %31s %ld", class, base, &offset) == 3) {
			check(compilers[i], class, base, offset);
			said++;
		}
		fclose(lines);
		assert_int_equal(said, 23);
		heap_unit_types_deinit(&unit);
	}
}

// What nothing is derived from gets its virtual bases; what is a base keeps them without a place.
static void completes_classes(void **state)
{
	const struct heap_type *diamond, *left;
	const struct heap_member *last;

	(void)state;
	compile_write("program.cc", source);
	assert_true(compile_run("c++ -g -o program program.cc"));
	read_types();
	assert_null(heap_virtual_bases_place(&unit.types));
	assert_null(heap_types_check(&unit.types));
	diamond = &unit.types.types[heap_types_find(&unit.types, "Two", 0)];
	left = &unit.types.types[heap_types_find(&unit.types, "Left", 0)];
	last = &unit.types.members[diamond->first_member + diamond->members - 1];
	assert_int_equal(diamond->members, 4); // a pointer, s, two bases
	assert_int_equal(last->flags, HEAP_MEMBER_BASE);
	assert_int_equal(last->offset, 12);
	assert_int_equal(left->members, 3);
	assert_true(unit.types.members[left->first_member].flags & HEAP_MEMBER_VIRTUAL_BASE ||
		    unit.types.members[left->first_member + 1].flags & HEAP_MEMBER_VIRTUAL_BASE);
	heap_unit_types_deinit(&unit);
}

UNIT_TESTS("virtual_bases",
	   cmocka_unit_test_setup_teardown(places_as_compilers_do, compile_begin, compile_end),
	   cmocka_unit_test_setup_teardown(completes_classes, compile_begin, compile_end))
