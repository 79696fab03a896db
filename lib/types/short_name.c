// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * One pass writes the name into a buffer and remembers where each argument of the open templates
 * begins there. A template of the standard library loses its last arguments when its bracket closes:
 *
 *	std::vector<int, std::allocator<int     and here comes ">"
 *	            ↑    ↑ dropped, as it is a default
 */
#include "lib/types/short_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum {
	MAX_NESTING = 32,   // brackets inside each other
	MAX_ARGUMENTS = 16, // of one template that are remembered; later ones are kept
	MAX_LENGTH = 4096,  // bytes of a name that is made shorter
};

struct bracket {
	char open;                      // its character
	size_t name;                    // where the template's name begins
	size_t argument[MAX_ARGUMENTS]; // where each argument begins; [0] is behind the bracket
	unsigned arguments;
};

struct writing {
	char text[MAX_LENGTH + 1];
	size_t length;
	size_t word; // where the qualified name that is being written began
	struct bracket brackets[MAX_NESTING];
	unsigned depth;
};

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

// --- namespaces --------------------------------------------------------------------------

// Skips the namespaces of versions behind "std::".
static const char *skip_version(const char *at)
{
	static const char *const versions[] = { "__cxx11::", "__1::", "__2::", "__ndk1::" };

	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		if (begins(at, versions[i]))
			return at + strlen(versions[i]);
	}
	return at;
}

static bool ends_with_std(const struct writing *writing)
{
	return writing->length - writing->word == strlen("std::") &&
	       memcmp(writing->text + writing->word, "std::", strlen("std::")) == 0;
}

// --- arguments that are defaults -----------------------------------------------------------

static const char *argument(const struct writing *writing, const struct bracket *bracket,
			    unsigned index, size_t *length)
{
	size_t end = index + 1 < bracket->arguments ? bracket->argument[index + 1] - strlen(", ")
						    : writing->length;

	*length = end - bracket->argument[index];
	return writing->text + bracket->argument[index];
}

// True for "std::less<K>" of a container of K.
static bool is_about_first(const struct writing *writing, const struct bracket *bracket,
			   const char *text, size_t length, const char *template)
{
	size_t first, begin = strlen(template);
	const char *key = argument(writing, bracket, 0, &first);

	return begins(text, template) && length == begin + first + 1 &&
	       memcmp(text + begin, key, first) == 0;
}

static bool is_default(const struct writing *writing, const struct bracket *bracket, unsigned index)
{
	static const char *const of_first[] = { "std::less<",        "std::hash<",
						"std::equal_to<",    "std::default_delete<",
						"std::char_traits<", "std::regex_traits<",
						"std::deque<",       "std::vector<" };
	size_t length;
	const char *text = argument(writing, bracket, index, &length);

	if (begins(text, "std::allocator<"))
		return true;
	if (begins(text, "(__gnu_cxx::_Lock_policy)") || begins(text, "__gnu_cxx::_S_atomic"))
		return true;
	for (size_t i = 0; i < sizeof(of_first) / sizeof(*of_first); i++) {
		if (is_about_first(writing, bracket, text, length, of_first[i]))
			return true;
	}
	return false;
}

// True for templates whose arguments are all the program's own: an allocator in a pair is no default.
static bool has_own_arguments(const char *name)
{
	static const char *const names[] = { "pair<",        "tuple<",      "variant<",
					     "_Tuple_impl<", "_Head_base<", "function<" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (begins(name, names[i]))
			return true;
	}
	return false;
}

static void drop_defaults(struct writing *writing, struct bracket *bracket)
{
	const char *name = writing->text + bracket->name;

	if (bracket->open != '<' || !begins(name, "std::") ||
	    has_own_arguments(name + strlen("std::")))
		return;
	while (bracket->arguments > 1 && bracket->arguments < MAX_ARGUMENTS &&
	       is_default(writing, bracket, bracket->arguments - 1)) {
		bracket->arguments--;
		writing->length = bracket->argument[bracket->arguments] - strlen(", ");
	}
	writing->text[writing->length] = '\0';
}

// Turns "std::basic_string<char" into "std::string". @return false: it is another name
static bool name_after_character(struct writing *writing, const struct bracket *bracket)
{
	static const struct {
		const char *character, *prefix;
	} kinds[] = {
		{ "char", "" },        { "wchar_t", "w" },    { "char8_t", "u8" },
		{ "char16_t", "u16" }, { "char32_t", "u32" },
	};
	static const char basic[] = "std::basic_";
	char *name = writing->text + bracket->name;
	size_t length;

	if (bracket->open != '<' || bracket->arguments != 1 || !begins(name, basic))
		return false;

	const char *character = argument(writing, bracket, 0, &length);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strlen(kinds[i].character) != length ||
		    memcmp(character, kinds[i].character, length) != 0)
			continue;

		size_t rest = bracket->argument[0] - 1 - bracket->name - strlen(basic);
		size_t prefix = strlen(kinds[i].prefix);

		memmove(name + strlen("std::") + prefix, name + strlen(basic), rest);
		memcpy(name + strlen("std::"), kinds[i].prefix, prefix);
		writing->length = bracket->name + strlen("std::") + prefix + rest;
		return true;
	}
	return false;
}

// --- writing ---------------------------------------------------------------------------

static bool is_of_name(char character)
{
	return isalnum((unsigned char)character) || character == '_' || character == ':' ||
	       character == '~' || character == '$' || (unsigned char)character >= 0x80;
}

static void put(struct writing *writing, char character)
{
	writing->text[writing->length++] = character;
}

static bool open_bracket(struct writing *writing, char character)
{
	if (writing->depth == MAX_NESTING)
		return false;

	struct bracket *bracket = &writing->brackets[writing->depth++];

	bracket->open = character;
	bracket->name = writing->word;
	put(writing, character);
	bracket->arguments = 1;
	bracket->argument[0] = writing->word = writing->length;
	return true;
}

static bool close_bracket(struct writing *writing, char character)
{
	static const char pairs[] = "<>()[]{}";
	struct bracket *bracket;

	if (writing->depth == 0)
		return false;
	bracket = &writing->brackets[--writing->depth];
	if (strchr(pairs, bracket->open)[1] != character)
		return false;
	while (character == '>' && writing->length > bracket->argument[0] &&
	       writing->text[writing->length - 1] == ' ')
		writing->length--;
	drop_defaults(writing, bracket);
	if (!name_after_character(writing, bracket))
		put(writing, character);
	writing->word = bracket->name; // "std::vector<int>::iterator" is one name
	return true;
}

static const char *take_comma(struct writing *writing, const char *at)
{
	struct bracket *bracket =
		writing->depth > 0 ? &writing->brackets[writing->depth - 1] : NULL;

	put(writing, ',');
	put(writing, ' ');
	at += 1 + strspn(at + 1, " ");
	writing->word = writing->length;
	if (bracket && bracket->arguments < MAX_ARGUMENTS)
		bracket->argument[bracket->arguments++] = writing->length;
	return at;
}

// True if a < or > is an operator's, or an arrow's.
static bool is_operator(const struct writing *writing, const char *at)
{
	static const char operator[] = "operator";
	size_t length = strlen(operator), end = writing->length;

	if (*at == '>' && end > 0 && writing->text[end - 1] == '-')
		return true;
	while (end > 0 && strchr("<>=-", writing->text[end - 1]))
		end--;
	return (*at == '<' || *at == '>') && end >= length &&
	       memcmp(writing->text + end - length, operator, length) == 0;
}

// Writes what comes next. @return behind it; NULL: it cannot be made shorter
static const char *take(struct writing *writing, const char *at)
{
	if (*at == '\'' && at[1] && at[2] == '\'') { // a character, which may be a bracket
		for (int i = 0; i < 3; i++)
			put(writing, *at++);
		return at;
	}
	if (strchr("<([{", *at) && !is_operator(writing, at))
		return open_bracket(writing, *at) ? at + 1 : NULL;
	if (strchr(">)]}", *at) && !is_operator(writing, at))
		return close_bracket(writing, *at) ? at + 1 : NULL;
	if (*at == ',')
		return take_comma(writing, at);
	put(writing, *at);
	if (!is_of_name(*at++))
		writing->word = writing->length;
	return ends_with_std(writing) ? skip_version(at) : at;
}

// @return false if the name cannot be made shorter
static bool shorten(struct writing *writing, const char *name)
{
	writing->length = writing->word = 0;
	writing->depth = 0;
	for (const char *at = name; at && *at;) {
		if (writing->length + 4 > MAX_LENGTH)
			return false;
		at = take(writing, at);
		if (!at)
			return false;
	}
	writing->text[writing->length] = '\0';
	return writing->depth == 0;
}

size_t heap_short_name(const char *name, char *buffer, size_t size)
{
	struct writing writing;
	const char *result = strpbrk(name, "<:") && shorten(&writing, name) ? writing.text : name;
	size_t length = strlen(result);

	if (size > 0) {
		size_t kept = length < size ? length : size - 1;

		memcpy(buffer, result, kept);
		buffer[kept] = '\0';
	}
	return length;
}

const char *heap_name_inside(const char *name)
{
	const char *at = name;

	for (int open = 0; *at; at++) {
		if (strchr("<([{", *at))
			open++;
		else if (strchr(">)]}", *at))
			open--;
		else if (open == 0 && at[0] == ':' && at[1] == ':')
			return at[2] ? at + 2 : NULL;
	}
	return NULL;
}
