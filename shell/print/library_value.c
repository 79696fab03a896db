// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/library_value.h"

#include "shell/print/container_text.h"
#include "shell/print/describe.h"
#include "shell/print/place.h"
#include "shell/print/value_print.h"
#include "shell/base/format.h"

#include <inttypes.h>
#include <string.h>

enum {
	// A lock's counts share words with flags (glibc's nptl/pthread_rwlock_common.c and
	// nptl/pthread_cond_common.c).
	READER_SHIFT = 3,
	WAITER_SHIFT = 3,
};

// --- locks ---------------------------------------------------------------------------------

static const char *describe_mutex(struct session *session, const struct place *place)
{
	static const char *const paths[] = { "_M_mutex.__data", "__m_.__data", "__data", NULL };
	struct place data;
	uint64_t lock, owner, count;

	if (!place_find_first(session, place, paths, &data) ||
	    !place_find_number(session, &data, "__lock", &lock) ||
	    !place_find_number(session, &data, "__owner", &owner) ||
	    !place_find_number(session, &data, "__count", &count))
		return "";
	if (lock == 0)
		return "unlocked";
	if (owner == 0)
		return "locked";
	return session_format(session, "locked by thread %" PRIu64 "%s", owner,
			      count > 1 ? session_format(session, ", %" PRIu64 " times", count)
					: "");
}

static const char *describe_read_write_lock(struct session *session, const struct place *place)
{
	static const char *const paths[] = { "_M_impl._M_rwlock.__data", "_M_rwlock.__data",
					     "__data", NULL };
	struct place data;
	uint64_t readers, writer;

	if (!place_find_first(session, place, paths, &data) ||
	    !place_find_number(session, &data, "__readers", &readers) ||
	    !place_find_number(session, &data, "__cur_writer", &writer))
		return "";
	readers >>= READER_SHIFT;
	if (writer != 0)
		return session_format(session, "locked for writing by thread %" PRIu64, writer);
	if (readers > 0)
		return session_format(session, "locked by %" PRIu64 " reader%s", readers,
				      format_plural(readers));
	return "unlocked";
}

static const char *describe_condition(struct session *session, const struct place *place)
{
	static const char *const paths[] = { "_M_cond._M_cond.__data", "_M_cond.__data",
					     "__cv_.__data", "__data", NULL };
	struct place data;
	uint64_t references;

	if (!place_find_first(session, place, paths, &data) ||
	    !place_find_number(session, &data, "__wrefs", &references))
		return "";
	references >>= WAITER_SHIFT;
	if (references == 0)
		return "condition variable";
	return session_format(session, "condition variable, %" PRIu64 " thread%s wait%s",
			      references, format_plural(references), references == 1 ? "s" : "");
}

// --- durations -----------------------------------------------------------------------------

// The unit that std::chrono::duration<long, std::ratio<1, 1000> > has; NULL if it has no name.
static const char *name_unit(const char *type)
{
	static const struct {
		const char *period, *name;
	} units[] = {
		{ "ratio<1, 1000000000>", "ns" }, { "ratio<1, 1000000>", "us" },
		{ "ratio<1, 1000>", "ms" },       { "ratio<1, 1>", "s" },
		{ "ratio<60, 1>", "min" },        { "ratio<3600, 1>", "h" },
		{ "ratio<86400, 1>", "days" },
	};
	const char *period = strstr(type, "ratio<");

	for (size_t i = 0; period && i < sizeof(units) / sizeof(*units); i++) {
		// Compilers write 1000, 1000L or 1000l.
		const char *expected = units[i].period, *at = period;

		for (; *expected && (*at == *expected || *at == 'l' || *at == 'L'); at++)
			expected += *at == *expected;
		if (*expected == '\0')
			return units[i].name;
	}
	return NULL;
}

static const char *describe_chrono_duration(struct session *session, const struct place *place)
{
	const struct heap_types *types = &session->snapshot->types;
	const char *unit;
	struct place count;
	const char *number;

	if (!place_find(session, place, "__r", &count) &&
	    !place_find(session, place, "__rep_", &count))
		return "";
	unit = name_unit(
		heap_types_string(types, types->types[heap_types_strip(types, place->type)].name));
	number = value_describe(session, count.value, count.type, count.offset);
	return *number && unit ? session_format(session, "%s %s", number, unit) : "";
}

static const char *describe_time_point(struct session *session, const struct place *place)
{
	struct place duration;

	return place_find(session, place, "__d", &duration) ||
			       place_find(session, place, "__d_", &duration)
		       ? describe_chrono_duration(session, &duration)
		       : "";
}

// --- others --------------------------------------------------------------------------------

static bool find_path(const struct session *session, const struct place *place, struct place *text)
{
	return place_find(session, place, "_M_pathname", text) ||
	       place_find(session, place, "__pn_", text);
}

static const char *describe_path(struct session *session, const struct place *place)
{
	struct place text;

	return find_path(session, place, &text) ? container_text_describe(session, &text) : "";
}

static const char *describe_complex(struct session *session, const struct place *place)
{
	struct place value, imaginary;
	const char *number, *other;

	if (place_find(session, place, "_M_value", &value))
		return value_describe(session, value.value, value.type, value.offset);
	if (!place_find(session, place, "__re_", &value) ||
	    !place_find(session, place, "__im_", &imaginary))
		return "";
	number = value_describe(session, value.value, value.type, value.offset);
	other = value_describe(session, imaginary.value, imaginary.type, imaginary.offset);
	return *number && *other
		       ? session_format(session, "%s %c %si", number, *other == '-' ? '-' : '+',
					other + (*other == '-'))
		       : "";
}

// Structures of C have no name of their own, but for their members'.
static const char *describe_unnamed(struct session *session, const struct place *place)
{
	const char *text = describe_mutex(session, place);

	if (!*text)
		text = describe_read_write_lock(session, place);
	return *text ? text : describe_condition(session, place);
}

static const struct {
	const char *name; // without std:: and template arguments
	const char *(*describe)(struct session *session, const struct place *place);
} kinds[] = {
	{ "mutex", describe_mutex },
	{ "recursive_mutex", describe_mutex },
	{ "timed_mutex", describe_mutex },
	{ "recursive_timed_mutex", describe_mutex },
	{ "shared_mutex", describe_read_write_lock },
	{ "shared_timed_mutex", describe_read_write_lock },
	{ "condition_variable", describe_condition },
	{ "chrono::duration", describe_chrono_duration },
	{ "chrono::time_point", describe_time_point },
	{ "complex", describe_complex },
	{ "filesystem::path", describe_path },
	{ "filesystem::__cxx11::path", describe_path },
	{ "__fs::filesystem::path", describe_path },
};

const char *library_value_describe(struct session *session, const struct value *value,
				   heap_type_id type, uint64_t offset)
{
	const struct heap_types *types = &session->snapshot->types;
	const struct place place = { value, offset, type };
	size_t length;
	const char *name = place_standard_name(session, type, &length);

	if (types->types[heap_types_strip(types, type)].kind == HEAP_TYPE_UNION)
		return describe_unnamed(session, &place);
	for (size_t i = 0; length > 0 && i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strlen(kinds[i].name) == length && strncmp(name, kinds[i].name, length) == 0)
			// The text is the session's:
			// cppcheck-suppress returnDanglingLifetime
			return kinds[i].describe(session, &place);
	}
	return "";
}

const char *library_value_text(struct session *session, const struct place *place, size_t *length)
{
	struct place path;
	size_t name_length;
	const char *text, *name = place_standard_name(session, place->type, &name_length);

	if (name_length >= 4 && strncmp(name + name_length - 4, "path", 4) == 0 &&
	    find_path(session, place, &path))
		return container_text_read(session, &path, length);
	text = library_value_describe(session, place->value, place->type, place->offset);
	*length = strlen(text);
	return *text ? text : NULL;
}
