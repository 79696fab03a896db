// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A line as a person types it: words with quotes as in a shell, then perhaps `| program`
 * (handed to sh as it is) or `> file`, `>> file`.
 */
#include "shell/command.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_WORDS = 256,
};

struct line {
	char *words[MAX_WORDS + 1];
	int count;
	const char *pipe; // what follows |
	const char *file; // what follows >
	bool append;
};

// Reads a word, unquoting it in place. @return false if a quote is not closed
static bool read_word(char **at, char **word)
{
	char *from = *at, *to = *at;
	char quote = '\0';

	*word = to;
	for (; *from && (quote || !strchr(" \t\n|>", *from)); from++) {
		if (quote ? *from == quote : *from == '\'' || *from == '"')
			quote = quote ? '\0' : *from;
		else if (*from == '\\' && quote != '\'' && from[1])
			*to++ = *++from;
		else
			*to++ = *from;
	}
	*at = from;
	if (quote)
		return false;
	// The separator is still needed: it is looked at before the word is cut.
	if (to == from && *from) {
		char *copy = strndup(*word, (size_t)(to - *word));

		*word = copy;
		return copy != NULL;
	}
	*to = '\0';
	*word = strdup(*word);
	return *word != NULL;
}

static void free_line(struct line *line)
{
	for (int i = 0; i < line->count; i++)
		free(line->words[i]);
}

// @return what is wrong with the line, or NULL
static const char *parse_line(char *at, struct line *line)
{
	for (;;) {
		at += strspn(at, " \t\n");
		if (*at == '\0' || *at == '#')
			return NULL;
		if (*at == '|') {
			line->pipe = at + 1;
			return line->pipe[strspn(line->pipe, " \t\n")] ? NULL
								       : "| : no program follows";
		}
		if (*at == '>') {
			char *word;

			line->append = at[1] == '>';
			at += line->append ? 2 : 1;
			at += strspn(at, " \t\n");
			if (!*at || !read_word(&at, &word))
				return "> : no file follows";
			line->file = word;
			at += strspn(at, " \t\n");
			return *at ? "> : something follows the file" : NULL;
		}
		if (line->count == MAX_WORDS)
			return "too many words";
		if (!read_word(&at, &line->words[line->count]))
			return "a quote is not closed";
		line->count++;
	}
}

static FILE *open_target(const struct line *line)
{
	if (line->pipe)
		return popen(line->pipe, "w");
	return fopen(line->file, line->append ? "a" : "w");
}

static enum command_status run_to_target(struct session *session, struct line *line)
{
	FILE *target = open_target(line);

	if (!target) {
		fprintf(session->errors, "heapsh: %s: %s\n", line->pipe ? line->pipe : line->file,
			strerror(errno));
		return COMMAND_FAILED;
	}

	// A program that ends early (head) must not end the shell.
	void (*before)(int) = signal(SIGPIPE, SIG_IGN);
	FILE *stream = output_redirect(session->output, target, false);
	enum command_status status = command_run(session, line->count, line->words);

	output_redirect(session->output, stream, session->colours);
	if (line->pipe)
		pclose(target);
	else if (fclose(target) != 0)
		status = COMMAND_FAILED;
	signal(SIGPIPE, before);
	return status;
}

enum command_status command_run_line(struct session *session, const char *text)
{
	struct line line = { .count = 0 };
	char *copy = strdup(text);
	const char *wrong = copy ? parse_line(copy, &line) : "out of memory";
	enum command_status status = COMMAND_OK;

	if (wrong) {
		fprintf(session->errors, "heapsh: %s\n", wrong);
		status = COMMAND_USAGE;
	} else if (line.count > 0) {
		status = line.pipe || line.file ? run_to_target(session, &line)
						: command_run(session, line.count, line.words);
	}
	free_line(&line);
	free((char *)line.file);
	free(copy);
	return status;
}
