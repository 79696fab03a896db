// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * help: the commands by task, one command, or a topic that concerns many of them.
 */
#include "lib/base/cleanup.h"
#include "lib/base/nearest.h"
#include "shell/command.h"

#include <string.h>

// --- topics --------------------------------------------------------------------

struct topic {
	const char *name;
	const char *summary;
	const char *text;
};

static const struct topic topics[] = {
	{ "operands", "how objects are named: addresses, $1, variables, paths",
	  "Where a command takes OBJ, it takes\n\n"
	  "  0x55d0c0ffee40   an address in hexadecimal, also one inside an object\n"
	  "  $3               the third object of the last list. Objects keep their numbers\n"
	  "                   until the next list; `last` shows them\n"
	  "  sessions         the object that the variable points to\n"
	  "  &sessions        the variable itself\n"
	  "  *sessions        what it points to, as in C\n\n"
	  "and any of these followed by members and elements, as in C:\n\n"
	  "  sessions->next->peer    $2.slots[85].value    0x55d0c0ffee40->name\n\n"
	  "Pointers are followed as needed: . and -> are the same. A pointer at the end stands\n"
	  "for the object that it leads to. `show` takes a range of elements, too:\n\n"
	  "  show cache->slots[10..20]\n\n"
	  "Elements of C++ containers are those that `show` displays; owners such as\n"
	  "std::unique_ptr are followed like pointers:\n\n"
	  "  bus.listeners[300]->title    ages[\"Ada\"]    customers[17]->orders[3].note\n\n"
	  "A variable of a namespace or class needs no more than its last name, cache for\n"
	  "shop::cache. The program's own variables come before those of its libraries.\n" },
	{ "filters", "how objects are selected: find, strings, waste, retained...",
	  "An object must match all filters; `not` negates the next one, `or` stands between\n"
	  "groups. Words need quotes only where the shell would: type struct date, size >1K.\n\n"
	  "By what they are\n"
	  "  type NAME          a type's name or a glob, with or without struct; NAME[] and\n"
	  "                     NAME[12] are arrays\n"
	  "  untyped            no type is known\n"
	  "  under-typed        the type covers half of the object at most\n"
	  "  conflict           pointers of several types lead to it\n"
	  "  evidence KIND      named by that evidence; see `help evidence`\n"
	  "  tag SYMBOL         it points to that method table (exact, or a glob)\n"
	  "  size [<>=]N[K|M|G] its own size\n"
	  "  field NAME=VALUE   a member has that value (also != < > <= >=): a number, an\n"
	  "                     enumerator, a text, NULL, an address or a function\n"
	  "  string TEXT        its contents hold that text\n"
	  "                     --regex: an extended regular expression; --exact: the whole\n"
	  "                     text; -i: upper or lower case. They go before TEXT or VALUE\n"
	  "By where they come from\n"
	  "  site FUNCTION|FILE[:LINE]    allocated there\n"
	  "  frame FUNCTION|FILE[:LINE]   allocated by what was called from there\n"
	  "  module NAME        allocated by that program or library\n"
	  "  age [<>]DURATION   such as >10s, <5m, >=2h\n"
	  "  new, gone          compared with another snapshot; see `help compare`\n"
	  "  traced             a sample of the trace\n"
	  "  allocated T1,T2    a sample, taken in that time of the trace\n"
	  "By who holds them\n"
	  "  reachable, leaked  a root leads to it, or none does\n"
	  "  points-to OBJ      it has a pointer to that object or function\n"
	  "  pointed-by OBJ     that object has a pointer to it\n"
	  "  local NAME         a local variable of that name points to it\n"
	  "  under OBJ          it would be free without OBJ, which is among them\n"
	  "  retained [<>=]N    how much would be free without it\n\n"
	  "  find type session field state=HUNG_UP age >1h\n"
	  "  find untyped size >4K or under-typed not leaked\n" },
	{ "evidence", "how types become known, and how certain they are",
	  "Programs do not record which type a block has: heapsh infers it. `show` and `count`\n"
	  "print the evidence for an object's type. The most certain comes first:\n\n"
	  "  declared    you said so (`istype`), or the program did (heapsnap_set_type)\n"
	  "  vtable      its first word points to the vtable of the class\n"
	  "  pointer     a typed pointer leads to its start, and the size agrees\n"
	  "  embedding   a typed pointer leads to a part of it\n"
	  "  site        the code that allocated it stores it in a variable of that type\n"
	  "  vote        others of the same site and size are of that type; or, after attach,\n"
	  "              others of that size whose pointers lead to the like\n"
	  "  tag         it points to the method table of objects of that type, or begins\n"
	  "              with the enumerator of that name; or a header says what was thrown\n"
	  "  methods     it points to a table of functions that take that type; or a callback\n"
	  "              beside a pointer to it does; or it begins with those of a coroutine\n"
	  "  cast        after attach: code casts a void pointer that leads to it to that type\n"
	  "  shape       no debug information: where it holds pointers, texts and numbers;\n"
	  "              or debug information does not tell, and it ends with a text\n"
	  "  pool        no type itself: the program divides it into objects of its own; or\n"
	  "              only its beginning is known: struct table and 16 bytes\n"
	  "  none        no type is known\n\n"
	  "`find conflict` lists objects that pointers of two types lead to. Where you know\n"
	  "better, set the type with `istype`; `suggest` shows where that helps most.\n\n"
	  "  find type session evidence vote\n" },
	{ "types", "how types are named",
	  "Names of types are as in C or C++, with or without struct, union, class or enum:\n\n"
	  "  struct session    session    session_t    ns::cache<int>    char *\n\n"
	  "A glob stands for several: 'struct *', 'std::map*'. NAME[] is an array of any length,\n"
	  "NAME[12] one of twelve elements. Where two types have one name, file and line tell\n"
	  "them apart: 'struct slot (cache.c:12)'. The snapshot has the types of its objects and\n"
	  "variables, and those that their pointers lead to.\n\n"
	  "A type of a namespace needs no more than its last name, Product for shop::Product.\n"
	  "Names of the C++ library are short: std::string, std::map<int, item> without the\n"
	  "comparison and the allocator. A T from std::make_shared is found as T.\n" },
};

const char *const help_topics[] = { "operands", "filters", "evidence", "types", NULL };

static const struct topic *find_topic(const char *name)
{
	for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++) {
		if (strcmp(topics[i].name, name) == 0)
			return &topics[i];
	}
	return NULL;
}

static void print_topic(struct session *session, const struct topic *topic)
{
	output_lines(session->output, topic->text);
}

// --- one command -----------------------------------------------------------------

static void print_command(struct session *session, const struct command *command,
			  const struct topic *topic)
{
	struct output *output = session->output;

	output_text(output, "%s%s%s\n    %s\n", command->name, *command->synopsis ? " " : "",
		    command->synopsis, command->summary);
	output_text(output, "\n");
	output_lines(output, command->details);
	output_text(output, "\n");
	if (topic) {
		output_text(output, "\n");
		print_topic(session, topic);
	}
	output_open_object(output, NULL);
	output_string(output, "name", command->name);
	output_string(output, "synopsis", command->synopsis);
	output_string(output, "summary", command->summary);
	output_string(output, "details", command->details);
	if (topic)
		output_string(output, "topic", topic->text);
	output_close(output);
}

static enum command_status print_topic_alone(struct session *session, const struct topic *topic)
{
	print_topic(session, topic);
	output_open_object(session->output, NULL);
	output_string(session->output, "name", topic->name);
	output_string(session->output, "summary", topic->summary);
	output_string(session->output, "details", topic->text);
	return COMMAND_OK;
}

static enum command_status explain(struct session *session, const char *name)
{
	const struct topic *topic = find_topic(name);
	const struct command *command = command_find(name);
	struct heap_nearest nearest;

	// A topic goes before a command that only begins like it.
	if (topic && (!command || strcmp(command->name, name) != 0))
		return print_topic_alone(session, topic);
	if (command) {
		print_command(session, command, topic);
		return COMMAND_OK;
	}
	heap_nearest_init(&nearest, name);
	for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++)
		heap_nearest_offer(&nearest, topics[i].name);

	CLEANUP_FREE char *hint = heap_nearest_hint(&nearest);

	if (!hint || !*hint) {
		command_report_unknown(session, name);
		return COMMAND_MISUSED;
	}
	return command_fail(session,
			    heap_error_create(HEAP_ERROR_ARGUMENT, "%s: no such command or topic%s",
					      name, hint));
}

// --- all of them -----------------------------------------------------------------

static void print_row(struct session *session, const struct command *command, int width)
{
	struct output *output = session->output;

	output_text(output, "  %-*s %s\n", width, command->name, command->summary);
	output_open_object(output, NULL);
	output_string(output, "name", command->name);
	output_string(output, "synopsis", command->synopsis);
	output_string(output, "summary", command->summary);
	output_string(output, "group", command_group(command));
	output_close(output);
}

static void print_topics(struct session *session, int width)
{
	output_text(session->output, "Topics\n");
	for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++)
		output_text(session->output, "  %-*s %s\n", width, topics[i].name,
			    topics[i].summary);
}

static enum command_status help_run(struct session *session, int argc, char **argv)
{
	size_t count, width = 0;
	const struct command *const *all = command_all(&count);
	const char *group = "";

	if (argc == 2)
		return explain(session, argv[1]);
	for (size_t i = 0; i < count; i++) {
		if (strlen(all[i]->name) > width)
			width = strlen(all[i]->name);
	}
	output_open_array(session->output, NULL);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(group, command_group(all[i])) != 0)
			output_text(session->output, "%s\n", command_group(all[i]));
		group = command_group(all[i]);
		print_row(session, all[i], (int)width);
	}
	output_close(session->output);
	print_topics(session, (int)width);
	output_text(session->output,
		    "`help COMMAND` and `help TOPIC` tell more; `COMMAND | program` and\n"
		    "`COMMAND > file` work; every command takes --json and --help.\n");
	return COMMAND_OK;
}

const struct command help_command = {
	.name = "help",
	.synopsis = "[COMMAND|TOPIC]",
	.summary = "the commands by task, one of them, or a topic",
	.details = "Topics are operands, filters, evidence and types.\n\n"
		   "  help find\n"
		   "  help filters",
	.run = help_run,
	.words = WORDS_COMMAND | WORDS_TOPIC,
	.keeps_answer = true,
};
