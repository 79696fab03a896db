// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/compile.h"

#include "lib/dwarf/dwarf_code.h"
#include "lib/dwarf/dwarf_types.h"
#include "lib/dwarf/dwarf_file_units.h"
#include "lib/dwarf/dwarf_types_reader.h"
#include "lib/dwarf/dwarf_constants.h"

#include <limits.h>
#include <stdbool.h>

// Every test is run with what each compiler can write.
static const char *const c_compilers[] = {
	"gcc -gdwarf-2 -gstrict-dwarf -O0",
	"gcc -gdwarf-4 -O0",
	"gcc -gdwarf-5 -O0",
	"gcc -gdwarf-5 -O2",
	"gcc -gdwarf-4 -fdebug-types-section -O2",
	"gcc -gdwarf-5 -fdebug-types-section -O0",
	"gcc -gdwarf-5 -gdwarf64 -O0",
	"gcc -gdwarf-5 -gz -O0",
	"clang -gdwarf-2 -O0",
	"clang -gdwarf-4 -O2",
	"clang -gdwarf-5 -O0",
	"clang -gdwarf-5 -fdebug-types-section -O0",
};

static const char *const cxx_compilers[] = {
	"g++ -gdwarf-3 -O0",     "g++ -gdwarf-4 -fdebug-types-section -O0",
	"g++ -gdwarf-5 -O2",     "g++ -gdwarf-5 -fdebug-types-section -O0",
	"clang++ -gdwarf-4 -O0", "clang++ -gdwarf-5 -fdebug-types-section -O0",
	"clang++ -gdwarf-5 -O2",
};

static struct heap_unit_types unit;
static const char *compiler;

#define check_that(condition) \
	do { \
		if (!(condition)) \
			fail_msg("%s: %s", compiler, #condition); \
	} while (0)

// --- reading what was compiled -------------------------------------------------------------

static struct heap_dwarf_file *file;
static struct heap_dwarf_units *units;
static struct heap_dwarf_code *code;

static void open_file(const char *object)
{
	assert_null(heap_dwarf_open(compile_path(object), &file));
	assert_null(heap_dwarf_file_units(file, &units));
	assert_null(heap_dwarf_file_code(file, &code));
}

// True if it is a unit of that source.
static bool is_of(const struct heap_dwarf_unit *header, const char *source)
{
	struct heap_dwarf_description entry;

	assert_null(heap_dwarf_code_describe(code, header->die, &entry));

	size_t length = strlen(entry.name), wanted = strlen(source);

	return length >= wanted && strcmp(entry.name + length - wanted, source) == 0;
}

// Reads the unit of that source of a shared object.
static void read_unit(const char *object, const char *source)
{
	bool found = false;

	open_file(object);
	for (size_t i = 0; i < units->count && !found; i++) {
		found = is_of(&units->units[i], source);
		if (found)
			assert_null(heap_unit_types_read(file, units->units[i].die, &unit));
	}
	check_that(found);
	heap_dwarf_close(file);
	assert_null(heap_types_check(&unit.types));
}

// Compiles and reads one source with each compiler that is there, and checks what it gave.
static void with_each(const char *const *compilers, size_t count, const char *source,
		      const char *text, void (*check)(void))
{
	size_t tried = 0;

	compile_write(source, text);
	for (size_t i = 0; i < count; i++) {
		if (!compile_has(compilers[i]))
			continue;
		compiler = compilers[i];
		if (!compile_run("%s -fPIC -shared -o object.so %s", compilers[i], source))
			fail_msg("%s does not compile", compilers[i]);
		read_unit("object.so", source);
		check();
		heap_unit_types_deinit(&unit);
		tried++;
	}
	assert_true(tried > 0);
}

#define WITH_EACH(compilers, source, text, check) \
	with_each(compilers, sizeof(compilers) / sizeof(*(compilers)), source, text, check)

// --- what is asked -------------------------------------------------------------------------

static const struct heap_type *type(const char *name)
{
	heap_type_id id = heap_types_find(&unit.types, name, 0);

	if (!id)
		fail_msg("%s: no %s", compiler, name);
	return &unit.types.types[id];
}

static const char *name_of(heap_type_id id)
{
	static char text[512];

	heap_types_format(&unit.types, id, text, sizeof(text));
	return text;
}

static const struct heap_member *member(const struct heap_type *owner, const char *name)
{
	for (uint32_t i = 0; i < owner->members; i++) {
		const struct heap_member *found = &unit.types.members[owner->first_member + i];

		if (strcmp(heap_types_string(&unit.types, found->name), name) == 0)
			return found;
	}
	fail_msg("%s: no member %s", compiler, name);
	return NULL;
}

static void assert_member(const char *owner, const char *name, uint64_t offset,
			  const char *type_name)
{
	const struct heap_member *found = member(type(owner), name);

	if (found->offset != offset || strcmp(name_of(found->type), type_name) != 0)
		fail_msg("%s: %s.%s is %s at %d", compiler, owner, name, name_of(found->type),
			 (int)found->offset);
}

static void assert_bits(const char *owner, const char *name, unsigned first, unsigned size)
{
	const struct heap_member *found = member(type(owner), name);

	if (found->offset * 8 + found->bit_offset != first || found->bit_size != size ||
	    !(found->flags & HEAP_MEMBER_BIT_FIELD))
		fail_msg("%s: %s.%s is %u bits from %u", compiler, owner, name, found->bit_size,
			 (unsigned)(found->offset * 8 + found->bit_offset));
}

// --- C -------------------------------------------------------------------------------------

static const char c_source[] =
	"#include <stddef.h>\n"
	"typedef unsigned long size_type;\n"
	"enum colour { RED = -1, GREEN, BLUE = 7 };\n"
	"struct opaque;\n"
	"struct point { short x; short y; };\n"
	"struct session {\n" // line 6
	"	int id;\n"
	"	char name[16];\n"
	"	struct session *next;\n"
	"	const char *const label;\n"
	"	double matrix[2][3];\n"
	"	struct point at;\n"
	"	union { long number; void *pointer; };\n"
	"	struct { char a, b; } pair;\n"
	"	enum colour colour;\n"
	"	struct opaque *hidden;\n"
	"	void (*done)(struct session *, int);\n"
	"	struct point *(*make[2])(void);\n"
	"	volatile size_type count;\n"
	"	_Bool ready;\n"
	"	unsigned char data[];\n"
	"};\n"
	"struct bits { unsigned a : 3; unsigned b : 7; unsigned long long c : 40; int d : 5;\n"
	"	unsigned char e; unsigned f : 1; signed char g : 4; };\n"
	"struct old { int count; int items[1]; };\n"
	"struct zero { int count; int items[0]; };\n"
	"int sum(struct session *s, struct bits *bits, struct old *old, struct zero *zero)\n"
	"{\n"
	"	struct local { long inside; } l = { s->id };\n"
	"	struct local *p = &l;\n"
	"	long double wide = bits->c; float narrow = old->count;\n"
	"	return p->inside + bits->a + old->items[0] + zero->count + wide + narrow;\n"
	"}\n"
	"size_type sessions(struct session **all, size_t n) { return all[n]->count; }\n";

static void check_base_types(void)
{
	check_that(type("int")->size == 4 && type("int")->flags == HEAP_TYPE_SIGNED);
	check_that(type("double")->size == 8 && type("double")->flags == HEAP_TYPE_FLOAT);
	// char has no sign on aarch64.
	check_that(type("char")->flags ==
		   ((CHAR_MIN < 0 ? HEAP_TYPE_SIGNED : 0) | HEAP_TYPE_CHARACTER));
	check_that(type("unsigned char")->flags == HEAP_TYPE_CHARACTER);
	check_that(type("_Bool")->flags == HEAP_TYPE_BOOLEAN);
	check_that(type("size_type")->kind == HEAP_TYPE_TYPEDEF);
	check_that(heap_types_size(&unit.types, heap_types_find(&unit.types, "size_type", 0)) == 8);
}

static void check_session(void)
{
	const struct heap_type *session = type("struct session");

	check_that(session->size == 160 && session->members == 15);
	check_that(strcmp(heap_types_string(&unit.types, session->file), "unit.c") == 0);
	check_that(session->line == 6);
	assert_member("session", "id", 0, "int");
	assert_member("session", "name", 4, "char[16]");
	assert_member("session", "next", 24, "struct session *");
	assert_member("session", "label", 32, "const char *const");
	assert_member("session", "matrix", 40, "double[2][3]");
	assert_member("session", "at", 88, "struct point");
	assert_member("session", "", 96, "union {…} (unit.c:13)");
	assert_member("session", "pair", 104, "struct {…} (unit.c:14)");
	assert_member("session", "colour", 108, "enum colour");
	assert_member("session", "hidden", 112, "struct opaque *");
	assert_member("session", "done", 120, "void (*)(...)");
	assert_member("session", "make", 128, "struct point *(*[2])(...)");
	assert_member("session", "count", 144, "volatile size_type");
	assert_member("session", "ready", 152, "_Bool");
	assert_member("session", "data", 153, "unsigned char[]");

	const struct heap_type *data = &unit.types.types[member(session, "data")->type];
	const struct heap_type *onion = &unit.types.types[member(session, "")->type];

	check_that(data->flags & HEAP_TYPE_FLEXIBLE && data->size == 0 && data->count == 0);
	check_that(onion->kind == HEAP_TYPE_UNION && onion->members == 2 && onion->size == 8);
	check_that(member(onion, "number")->offset == 0 && member(onion, "pointer")->offset == 0);

	const struct heap_type *matrix = &unit.types.types[member(session, "matrix")->type];

	check_that(matrix->count == 2 && matrix->size == 48);
	check_that(unit.types.types[matrix->target].count == 3);
	check_that(unit.types.types[matrix->target].size == 24);
}

static void check_bits(void)
{
	check_that(type("bits")->size == 16);
	assert_bits("bits", "a", 0, 3);
	assert_bits("bits", "b", 3, 7);
	assert_bits("bits", "c", 10, 40);
	assert_bits("bits", "d", 50, 5);
	assert_member("bits", "e", 7, "unsigned char");
	assert_bits("bits", "f", 64, 1);
	assert_bits("bits", "g", 65, 4);
}

static void check_arrays_at_the_end(void)
{
	const struct heap_type *old = &unit.types.types[member(type("old"), "items")->type];
	const struct heap_type *zero = &unit.types.types[member(type("zero"), "items")->type];

	check_that(old->count == 1 && old->size == 4 && !(old->flags & HEAP_TYPE_FLEXIBLE));
	check_that(zero->count == 0 && zero->size == 0);
	check_that(type("zero")->size == 4);
}

static void check_c(void)
{
	const struct heap_type *colour = type("enum colour");
	const struct heap_enumerator *values = &unit.types.enumerators[colour->first_member];

	check_base_types();
	check_session();
	check_bits();
	check_arrays_at_the_end();
	check_that(colour->members == 3 && colour->size == 4);
	check_that(strcmp(heap_types_string(&unit.types, values[0].name), "RED") == 0);
	check_that(values[0].value == -1 && values[1].value == 0 && values[2].value == 7);
	check_that(type("struct opaque")->flags & HEAP_TYPE_DECLARATION);
	check_that(type("struct opaque")->size == 0);
	assert_member("local", "inside", 0, "long");
}

static void reads_c(void **state)
{
	(void)state;
	WITH_EACH(c_compilers, "unit.c", c_source, check_c);
}

// --- C++ -----------------------------------------------------------------------------------

static const char cxx_source[] =
	"struct plain { int a; };\n"
	"struct shape { virtual ~shape(); int sides; };\n"
	"struct named { char *name; };\n"
	"struct square : shape, named { double edge; static int count; };\n"
	"struct left : virtual plain { int l; };\n"
	"struct right : virtual plain { int r; };\n"
	"struct both : left, right { int b; };\n"
	"shape::~shape() {}\n"
	"int square::count;\n"
	"namespace cache {\n"
	"	enum class state : unsigned char { cold, warm = 200 };\n"
	"	struct table;\n"
	"	class entry {\n"
	"	public:\n"
	"		struct key { long hash; } k;\n"
	"		state s;\n"
	"		entry *next;\n"
	"		entry &self;\n"
	"		int entry::*field;\n"
	"		int (entry::*method)(int);\n"
	"		decltype(nullptr) nothing;\n"
	"		table *owner;\n"
	"		static entry *first;\n"
	"		explicit entry(int);\n"
	"	};\n"
	"	template <class T> struct box { T value; box<T> *inner; };\n"
	"	struct table { box<int> numbers; box<entry *> entries; };\n"
	"	entry *entry::first;\n"
	"	entry::entry(int) : self(*this) {}\n"
	"	namespace { struct secret { int s; }; }\n"
	"	table *the_table; secret *the_secret; both *the_both; square *the_square;\n"
	"}\n"
	"int use() { cache::entry e(1); square s; both b;\n"
	"	return e.k.hash + s.sides + b.l + cache::the_table->numbers.value +\n"
	"		cache::the_secret->s + (e.s == cache::state::warm); }\n";

static const struct heap_member *base(const char *owner, unsigned number)
{
	const struct heap_type *derived = type(owner);

	check_that(number < derived->members);
	return &unit.types.members[derived->first_member + number];
}

static void check_bases(void)
{
	const struct heap_type *shape = type("struct shape"), *square = type("struct square");
	const struct heap_member *vtable = base("shape", 0);

	check_that(shape->flags & HEAP_TYPE_POLYMORPHIC && shape->size == 16);
	check_that(vtable->flags == HEAP_MEMBER_VTABLE && vtable->offset == 0);
	assert_member("shape", "sides", 8, "int");
	// The static member is none of the struct.
	check_that(square->members == 3 && square->size == 32);
	check_that(square->flags & HEAP_TYPE_POLYMORPHIC);
	check_that(base("square", 0)->flags == HEAP_MEMBER_BASE);
	check_that(strcmp(name_of(base("square", 0)->type), "struct shape") == 0);
	check_that(base("square", 1)->flags == HEAP_MEMBER_BASE);
	check_that(base("square", 1)->offset == 16);
	check_that(strcmp(name_of(base("square", 1)->type), "struct named") == 0);
	assert_member("square", "edge", 24, "double");

	bool found = false;

	for (unsigned i = 0; i < type("left")->members; i++)
		found |= base("left", i)->flags == (HEAP_MEMBER_BASE | HEAP_MEMBER_VIRTUAL_BASE);
	check_that(found);
	assert_member("left", "l", 8, "int");
	assert_member("both", "b", 28, "int");
	check_that(type("struct both")->size == 40);
}

static void check_cxx(void)
{
	const struct heap_type *state = type("enum cache::state");

	check_bases();
	check_that(state->size == 1 && state->members == 2);
	check_that(unit.types.enumerators[state->first_member + 1].value == 200);
	check_that(type("class cache::entry")->size == 72);
	assert_member("cache::entry", "k", 0, "struct cache::entry::key");
	assert_member("cache::entry", "s", 8, "enum cache::state");
	assert_member("cache::entry", "next", 16, "class cache::entry *");
	assert_member("cache::entry", "self", 24, "class cache::entry &");
	assert_member("cache::entry", "field", 32, "int ::*");
	assert_member("cache::entry", "method", 40, "int (::*)(...)");
	check_that(member(type("cache::entry"), "nothing")->offset == 56);
	assert_member("cache::entry", "owner", 64, "struct cache::table *");
	assert_member("cache::table", "numbers", 0, "struct cache::box<int>");
	// gcc writes box<cache::entry*> and clang box<cache::entry *>.
	check_that(member(type("cache::table"), "entries")->offset == 16);
	check_that(type("struct cache::box<cache::entry*[*]>")->size == 16);
	assert_member("cache::box<int>", "value", 0, "int");
	assert_member("cache::box<int>", "inner", 8, "struct cache::box<int> *");
	assert_member("cache::(anonymous namespace)::secret", "s", 0, "int");
}

static void reads_cxx(void **state)
{
	(void)state;
	WITH_EACH(cxx_compilers, "unit.cc", cxx_source, check_cxx);
}

// --- arrays that begin at 1 ----------------------------------------------------------------

static uint64_t elements(const char *owner, const char *name)
{
	return unit.types.types[heap_types_strip(&unit.types, member(type(owner), name)->type)]
		.count;
}

static const char fortran_source[] = "module shelf\n"
				     "  type box\n"
				     "    integer :: from_one(3)\n"
				     "    integer :: given(-2:7)\n"
				     "    integer :: zero(0:3)\n"
				     "    integer :: table(4,5)\n"
				     "    integer :: none(0)\n"
				     "    real(8), allocatable :: grown(:)\n"
				     "    type(box), pointer :: others(:,:)\n"
				     "    character(len=12) :: code\n"
				     "    character(len=:), allocatable :: title\n"
				     "  end type\n"
				     "  type(box), save :: boxes(6)\n"
				     "end module\n";

static void check_fortran(void)
{
	const struct heap_type *table;

	check_that(elements("shelf::box", "from_one") == 3);
	check_that(elements("shelf::box", "given") == 10);
	check_that(elements("shelf::box", "zero") == 4);
	check_that(elements("shelf::box", "none") == 0);
	// Column-major, as the compiler says it.
	check_that(elements("shelf::box", "table") * 5 == 4 * 5);
	table = &unit.types.types[member(type("shelf::box"), "table")->type];
	check_that(unit.types.types[table->target].count == 5);
	// Descriptors, which begin with a pointer to the elements. DWARF 2 cannot say so.
	if (!strstr(compiler, "dwarf-2")) {
		assert_member("shelf::box", "grown", 152, "real(kind=8) *");
		assert_member("shelf::box", "others", 216, "struct shelf::box *");
	}
	check_that(elements("shelf::box", "code") == 12);
	assert_member("shelf::box", "title", 320, "character *");
}

static void reads_fortran(void **state)
{
	static const char *const compilers[] = { "gfortran -gdwarf-2", "gfortran -gdwarf-4",
						 "gfortran -gdwarf-5 -O2" };

	(void)state;
	if (!compile_has(compilers[0])) {
		compile_lack(compilers[0]);
		return;
	}
	WITH_EACH(compilers, "unit.f90", fortran_source, check_fortran);
}

static const char ada_source[] = "package Unit is\n"
				 "   type Day is (Mo, Tu, We, Th, Fr, Sa, Su);\n"
				 "   type One is array (1 .. 3) of Integer;\n"
				 "   type Ten is array (10 .. 12) of Integer;\n"
				 "   type Week is array (Day) of Integer;\n"
				 "   type Work is array (Day range Mo .. Fr) of Integer;\n"
				 "   type Both is record X : One; Y : Ten; Z : Week; W : Work; S : "
				 "String (1 .. 12); end record;\n"
				 "   B : Both;\n"
				 "end Unit;\n";

static void check_ada(void)
{
	check_that(elements("unit__both", "x") == 3);
	check_that(elements("unit__both", "y") == 3);
	check_that(elements("unit__both", "s") == 12);
	check_that(elements("unit__both", "z") == 7);
	check_that(elements("unit__both", "w") == 5);
}

static void reads_ada(void **state)
{
	static const char *const compilers[] = { "gcc -gdwarf-4", "gcc -gdwarf-5 -O0" };

	(void)state;
	compile_write("unit.ads", ada_source);
	// A cross compiler may be without Ada beside a gnatmake of this machine.
	if (!compile_has("gnatmake") || !compile_run("gcc -c unit.ads 2>/dev/null")) {
		compile_lack("Ada");
		return;
	}
	for (size_t i = 0; i < sizeof(compilers) / sizeof(*compilers); i++) {
		compiler = compilers[i];
		assert_true(compile_run("%s -fPIC -c unit.ads", compiler));
		assert_true(compile_run("gcc -shared -o object.so unit.o"));
		read_unit("object.so", "unit.ads");
		check_ada();
		heap_unit_types_deinit(&unit);
	}
}

// --- which entry is which type -------------------------------------------------------------

static void ignore(void *context, uint16_t name, const struct heap_dwarf_value *value)
{
	(void)context;
	(void)name;
	(void)value;
}

static void look_up(uint64_t place, size_t *checked)
{
	struct heap_dwarf_description entry;

	assert_null(heap_dwarf_code_describe(code, place, &entry));
	if (strcmp(entry.name, "p") != 0 && strcmp(entry.name, "zero") != 0 &&
	    strcmp(entry.name, "all") != 0)
		return;

	const char *found = name_of(heap_unit_types_find(&unit, entry.type));

	check_that(strcmp(found, *entry.name == 'p'   ? "struct local *"
				 : *entry.name == 'z' ? "struct zero *"
						      : "struct session **") == 0);
	check_that(heap_unit_types_find(&unit, entry.type + 1) == HEAP_NO_TYPE);
	++*checked;
}

// Looks the type of each variable and parameter of functions up by its entry.
static void look_up_unit(const struct heap_dwarf_unit *header, size_t *checked)
{
	for (uint64_t next, place = header->die; place < header->end; place = next) {
		const struct heap_dwarf_dies *entries;
		uint16_t tag;
		bool children;

		assert_null(heap_dwarf_code_visit(code, place, ignore, NULL, &entries, &tag,
						  &children, &next));
		if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter)
			look_up(place, checked);
	}
}

static void check_entries(void)
{
	size_t checked = 0;

	open_file("object.so");
	for (size_t i = 0; i < units->count; i++)
		if (!units->units[i].type_die && !is_of(&units->units[i], "second.c"))
			look_up_unit(&units->units[i], &checked);
	check_that(checked >= 3);
	heap_dwarf_close(file);
}

static void finds_types_by_entry(void **state)
{
	(void)state;
	static const char *const compilers[] = {
		"gcc -gdwarf-5 -O0",
		"clang -gdwarf-4 -O0",
		"gcc -gdwarf-4 -fdebug-types-section -O0",
		"gcc -gdwarf-5 -fdebug-types-section -O0",
	};

	WITH_EACH(compilers, "unit.c", c_source, check_entries);
}

// --- other units ---------------------------------------------------------------------------

// dwz moves what two units have in common to a partial unit.
static void check_dwz(void)
{
	if (!compile_has("dwz"))
		return;
	heap_unit_types_deinit(&unit);
	compile_write("second.c", c_source);
	assert_true(compile_run("sed -i 's/sum/sum2/; s/sessions/sessions2/' second.c"));
	assert_true(compile_run("%s -fPIC -shared -o object.so unit.c second.c && dwz object.so",
				compiler));
	read_unit("object.so", "unit.c");
	check_c();
	check_entries();
}

static void reads_partial_units_along(void **state)
{
	(void)state;
	static const char *const compilers[] = { "gcc -gdwarf-4 -O0", "gcc -gdwarf-5 -O0" };

	WITH_EACH(compilers, "unit.c", c_source, check_dwz);
}

// --- link-time optimization ----------------------------------------------------------------

struct heap_error *__real_heap_dwarf_dies_read(const struct heap_dwarf_dies *dies, uint64_t place,
					       bool any, struct heap_dwarf_die *result,
					       uint64_t *next);
struct heap_error *__wrap_heap_dwarf_dies_read(const struct heap_dwarf_dies *dies, uint64_t place,
					       bool any, struct heap_dwarf_die *result,
					       uint64_t *next);

static uint64_t dies_read;

struct heap_error *__wrap_heap_dwarf_dies_read(const struct heap_dwarf_dies *dies, uint64_t place,
					       bool any, struct heap_dwarf_die *result,
					       uint64_t *next)
{
	dies_read++;
	return __real_heap_dwarf_dies_read(dies, place, any, result, next);
}

enum {
	MANY = 2000,
};

// Many static variables, each in a namespace of its own.
static void write_many(const char *source)
{
	FILE *out = fopen(compile_path(source), "w");

	assert_non_null(out);
	for (int i = 0; i < MANY; i++)
		fprintf(out,
			"namespace n%d { static int *v; }\n"
			"int *f%d(int *p) { int *old = n%d::v; n%d::v = p; return old; }\n",
			i, i, i, i);
	assert_int_equal(fclose(out), 0);
}

// Notes which of the variables have their names.
static void find_many(const struct heap_types_reader *reader, bool found[MANY])
{
	for (uint32_t i = 0; i < reader->variable_count; i++) {
		unsigned number;
		char end;

		if (sscanf(heap_types_string(&reader->types, reader->variables[i].name), "n%u::%c",
			   &number, &end) == 2 &&
		    number < MANY && reader->variables[i].type)
			found[number] = true;
	}
}

/*
 * Variables are in the units of the optimizer, and what they are called in those of the sources: in one step
 * each, not in as many as there are variables.
 */
static void reads_optimized_variables_once(void **state)
{
	static bool found[MANY];
	struct heap_types_reader reader;

	(void)state;
	compiler = "g++ -flto";
	write_many("many.cc");
	if (!compile_has(compiler) ||
	    !compile_run("g++ -flto -g -O1 -fPIC -shared -o object.so many.cc"))
		skip();
	open_file("object.so");
	assert_null(heap_types_reader_init(&reader, file));
	reader.wants_variables = true;
	dies_read = 0;
	for (size_t i = 0; i < units->count; i++)
		assert_null(heap_types_reader_read(&reader, &units->units[i], false));
	find_many(&reader, found);
	for (int i = 0; i < MANY; i++)
		check_that(found[i]);
	check_that(dies_read < 20 * reader.dies);
	heap_types_reader_deinit(&reader);
	heap_dwarf_close(file);
}

UNIT_TESTS("dwarf_types", cmocka_unit_test_setup_teardown(reads_c, compile_begin, compile_end),
	   cmocka_unit_test_setup_teardown(reads_cxx, compile_begin, compile_end),
	   cmocka_unit_test_setup_teardown(reads_fortran, compile_begin, compile_end),
	   cmocka_unit_test_setup_teardown(reads_ada, compile_begin, compile_end),
	   cmocka_unit_test_setup_teardown(finds_types_by_entry, compile_begin, compile_end),
	   cmocka_unit_test_setup_teardown(reads_partial_units_along, compile_begin, compile_end),
	   cmocka_unit_test_setup_teardown(reads_optimized_variables_once, compile_begin,
					   compile_end))
