// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A line as a person types it: words with quotes as in a shell, then perhaps `| program`
 * (passed to sh unchanged) or `> file`, `>> file`.
 */
#include "lib/base/escape.h"
#include "lib/query/filter.h"
#include "shell/command.h"
#include "shell/base/pager.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MAX_WORDS = 256,
};

struct line {
	char *words[MAX_WORDS + 1];
	int count;
	const char *pipe; // what follows |
	char *file;       // what follows >
	bool append;
};

// The filters that compare: > after one of them, or inside it, is no redirection.
static bool compares(const char *word, size_t length)
{
	static const char *const names[] = { "size", "age", "retained", "field" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strlen(names[i]) == length && strncmp(names[i], word, length) == 0)
			return true;
	}
	return false;
}

// True if the next word may begin with > as an operator: size > 1K, field count > 1.
static bool expects_operator(const struct line *line)
{
	const char *last = line->count > 0 ? line->words[line->count - 1] : "";
	int at = line->count - 2; // the word before a member's name and the options of texts

	if (compares(last, strlen(last)))
		return true;
	if (strpbrk(last, "=<>!"))
		return false;
	while (at >= 0 && heap_filter_is_option(line->words[at]))
		at--;
	return at >= 0 && strcmp(line->words[at], "field") == 0;
}

// The arrow of "sessions->next": no redirection either.
static bool is_arrow(const char *at, const char *word, const char *end)
{
	return *at == '>' && end - word > 1 && end[-1] == '-' &&
	       (isalpha((unsigned char)at[1]) || at[1] == '_');
}

// How many template brackets are open at `end`: in "std::map<int, int>" the last > is no redirection.
// @param open  how many are before the word
static int open_brackets(const char *word, const char *end, int open)
{
	for (const char *at = word; at < end; at++) {
		if (*at == '<' && at > word && (isalnum((unsigned char)at[-1]) || at[-1] == '_'))
			open++;
		else if (*at == '>' && open > 0 && (at == word || at[-1] != '-'))
			open--;
	}
	return open;
}

// Reads a word without its quotes, malloc'd. @return what is wrong with it, or NULL
// @param open  how many template brackets the words before it left open
static const char *read_word(const char **at, bool comparison, int open, char **result)
{
	const char *from = *at;
	char *word = malloc(strlen(from) + 1), *to = word;
	char quote = '\0';

	if (!word)
		return "out of memory";
	for (; *from; from++) {
		if (!quote && *from == '>')
			comparison = comparison || compares(word, (size_t)(to - word)) ||
				     open_brackets(word, to, open) > 0;
		if (!quote && !is_arrow(from, word, to) &&
		    strchr(comparison ? " \t\n|" : " \t\n|>", *from))
			break;
		if (quote ? *from == quote : *from == '\'' || *from == '"')
			quote = quote ? '\0' : *from;
		else if (*from == '\\' && quote != '\'' && from[1])
			*to++ = *++from;
		else
			*to++ = *from;
	}
	*to = '\0';
	*at = from;
	if (quote) {
		free(word);
		return "a quote is not closed";
	}
	*result = word;
	return NULL;
}

static void free_line(struct line *line)
{
	for (int i = 0; i < line->count; i++)
		free(line->words[i]);
	free(line->file);
}

// A query needs no quoting: its quotes, | and > are SQL's.
static bool takes_rest(const struct line *line, const char *at)
{
	return line->count > 0 && strcmp(line->words[0], "sql") == 0 && *at != '\'' && *at != '"' &&
	       *at != '-' && *at != '|' && *at != '>';
}

// @return what is wrong, or NULL
static const char *take_rest(const char *at, struct line *line)
{
	size_t length = strlen(at);

	while (length > 0 && isspace((unsigned char)at[length - 1]))
		length--;
	line->words[line->count] = strndup(at, length);
	return line->words[line->count++] ? NULL : "out of memory";
}

static const char *parse_file(const char *at, struct line *line)
{
	line->append = at[1] == '>';
	at += line->append ? 2 : 1;
	at += strspn(at, " \t\n");

	const char *wrong = *at ? read_word(&at, false, 0, &line->file) : NULL;

	if (wrong)
		return wrong;
	if (!line->file || !*line->file)
		return "> : no file follows";
	return at[strspn(at, " \t\n")] ? "> : something follows the file" : NULL;
}

// @return what is wrong with the line, or NULL
static const char *parse_line(const char *at, struct line *line)
{
	int open = 0;

	for (;;) {
		at += strspn(at, " \t\n");
		if (*at == '\0' || *at == '#')
			return NULL;
		if (takes_rest(line, at))
			return take_rest(at, line);
		if (*at == '|') {
			line->pipe = at + 1;
			return line->pipe[strspn(line->pipe, " \t\n")] ? NULL
								       : "| : no program follows";
		}

		bool comparison = expects_operator(line);

		if (*at == '>' && !comparison && open == 0)
			return parse_file(at, line);
		if (line->count == MAX_WORDS)
			return "too many words";

		const char *wrong = read_word(&at, comparison, open, &line->words[line->count]);

		if (wrong)
			return wrong;

		const char *word = line->words[line->count];

		open = comparison || compares(word, strcspn(word, "<"))
			       ? 0
			       : open_brackets(word, word + strlen(word), open);
		line->count++;
	}
}

// True if a text is read as the words that its blanks divide it into.
static bool is_plain(const char *text)
{
	struct line line = { .count = 0 };
	const char *at = text;
	bool is_same = !parse_line(text, &line) && !line.pipe && !line.file && line.count > 0;

	for (int i = 0; is_same && i < line.count; i++) {
		size_t length = strlen(line.words[i]);

		is_same = strncmp(at, line.words[i], length) == 0 &&
			  at[length] == (i + 1 < line.count ? ' ' : '\0');
		at += length + 1;
	}
	free_line(&line);
	return is_same;
}

char *command_quote(const char *name, char quote)
{
	const char *harmful = quote == '"' ? "\"\\" : " \t\n|>'\"\\#";
	char *result, *to;

	if (quote == '\'' || (!quote && is_plain(name)))
		return quote && strchr(name, quote) ? NULL : strdup(name);
	result = to = malloc(2 * strlen(name) + 1);
	for (; result && *name; name++) {
		if (strchr(harmful, *name))
			*to++ = '\\';
		*to++ = *name;
	}
	if (result)
		*to = '\0';
	return result;
}

// A new file is for its owner alone, as snapshots are.
static FILE *open_target(const struct line *line)
{
	int how = line->append ? O_APPEND : O_TRUNC, descriptor;
	FILE *stream;

	if (line->pipe)
		return popen(line->pipe, "w");
	descriptor = open(line->file, O_WRONLY | O_CREAT | O_CLOEXEC | how, 0600);
	stream = descriptor < 0 ? NULL : fdopen(descriptor, line->append ? "a" : "w");
	if (!stream && descriptor >= 0)
		close(descriptor);
	return stream;
}

// Runs a line that has no program of its own to a pager.
static enum command_status run_to_pager(struct session *session, struct line *line)
{
	FILE *terminal = output_redirect(session->output, stdout, session->colours);
	struct pager *pager;
	FILE *stream = pager_open(terminal, &pager);
	enum command_status status;

	if (!stream)
		return command_run(session, line->count, line->words);

	void (*before)(int) = signal(SIGPIPE, SIG_IGN);

	output_redirect(session->output, stream, session->colours);
	output_set_size(session->output, pager_columns(pager), pager_rows(pager));
	session->paged = false;
	session->target = "the pager";
	status = command_run(session, line->count, line->words);
	session->paged = true;
	output_redirect(session->output, terminal, session->colours);
	pager_close(stream, pager);
	signal(SIGPIPE, before);
	return status;
}

static enum command_status run_to_target(struct session *session, struct line *line)
{
	FILE *target = open_target(line);

	if (!target) {
		heap_print(session->errors, "heapsh: cannot %s %s: %s\n",
			   line->pipe ? "start" : "write to", line->pipe ? line->pipe : line->file,
			   strerror(errno));
		return COMMAND_FAILED;
	}

	// A program that ends early (head) must not end the shell.
	void (*before)(int) = signal(SIGPIPE, SIG_IGN);
	FILE *stream = output_redirect(session->output, target, false);
	bool colours = session->colours, paged = session->paged, numbered = session->numbered;
	const char *before_target = session->target;
	enum command_status status;

	session->colours = session->paged = session->numbered = false;
	session->target = line->pipe ? line->pipe : line->file;
	status = command_run(session, line->count, line->words);
	session->colours = colours;
	session->paged = paged;
	session->numbered = numbered;
	session->target = before_target;
	output_redirect(session->output, stream, session->colours);
	if (line->pipe) {
		pclose(target);
	} else if (fclose(target) != 0 && status <= COMMAND_NOTHING) {
		heap_print(session->errors, "heapsh: cannot write to %s: %s\n", line->file,
			   strerror(errno));
		status = COMMAND_FAILED;
	}
	signal(SIGPIPE, before);
	return status;
}

enum command_status command_run_line(struct session *session, const char *text)
{
	struct line line = { .count = 0 };
	char *expanded = aliases_expand(&session->aliases, text);
	const char *wrong = expanded ? parse_line(expanded, &line) : "out of memory";
	enum command_status status = COMMAND_OK;

	if (wrong) {
		heap_print(session->errors, "heapsh: %s\n", wrong);
		status = COMMAND_USAGE;
	} else if (line.count > 0) {
		status = line.pipe || line.file ? run_to_target(session, &line)
			 : session->paged       ? run_to_pager(session, &line)
						: command_run(session, line.count, line.words);
	}
	// After the pager, whose screen it would disturb.
	if (session_interrupted && session->nesting == 0)
		fputs("interrupted\n", session->errors);
	free_line(&line);
	free(expanded);
	return status;
}
