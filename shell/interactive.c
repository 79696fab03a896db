// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/interactive.h"

#include "lib/base/terminal.h"
#include "lib/base/trust.h"
#include "shell/command.h"
#include "shell/series/series.h"
#include "shell/complete.h"

#include <readline/history.h>
#include <readline/readline.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MAX_HISTORY = 1000,
};

// --- history -----------------------------------------------------------------

// $XDG_STATE_HOME/heapsh/history (XDG Base Directory Specification 0.8); malloc'd. NULL: none is
// kept, as where root has the home directory of a user.
static char *history_path(void)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	char *directory = NULL, *path = NULL;
	int length = -1;

	if (state && *state == '/')
		length = asprintf(&directory, "%s", state);
	else if (home && *home == '/')
		length = asprintf(&directory, "%s/.local/state", home);
	if (length < 0)
		return NULL;
	if (asprintf(&path, "%s/heapsh", directory) < 0)
		path = NULL;
	free(directory);

	struct heap_error *error = path ? heap_trust_make_directory(path) : NULL;
	char *file = NULL;

	if (path && !error && asprintf(&file, "%s/history", path) < 0)
		file = NULL;
	if (file && access(file, F_OK) == 0)
		error = heap_trust_file(file);
	if (error) {
		free(file);
		file = NULL;
	}
	heap_error_destroy(error);
	free(path);
	return file;
}

// --- the loop ----------------------------------------------------------------

static void interrupt(int number)
{
	(void)number;
	session_interrupted = 1;
}

// While a line is being typed ^C gives a new prompt.
static int look_at_interrupt(void)
{
	if (session_interrupted) {
		session_interrupted = 0;
		rl_free_line_state();
		rl_callback_sigcleanup();
		rl_crlf();
		rl_replace_line("", 1);
		rl_on_new_line();
		rl_redisplay();
	}
	return 0;
}

// A ^C that came before a key belongs to the prompt, and not to the command that the line will
// become; readline looks only when a read is interrupted.
static int read_key(FILE *stream)
{
	int key;

	look_at_interrupt();
	key = rl_getc(stream);
	look_at_interrupt();
	return key;
}

// A line, malloc'd. A ^C from its last key on is for its command.
static char *read_line(struct session *session)
{
	session_interrupted = 0;
	clearerr(stdout); // a write that ^C ended is no fault of the terminal
	return readline(series_prompt(session));
}

// One that can show a screen of text.
static bool is_able_terminal(void)
{
	return heap_terminal_is_able(STDOUT_FILENO);
}

// $XDG_CONFIG_HOME/heapsh/heapshrc; nobody needs to have one.
static void run_startup_file(struct session *session)
{
	const char *config = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");
	char *path = NULL;
	int length = -1;

	if (config && *config == '/')
		length = asprintf(&path, "%s/heapsh/heapshrc", config);
	else if (home && *home == '/')
		length = asprintf(&path, "%s/.config/heapsh/heapshrc", home);
	if (length < 0)
		return;
	if (access(path, F_OK) == 0) {
		// Its lines may run programs.
		struct heap_error *error = heap_trust_file(path);

		if (error)
			command_fail(session, heap_error_within(error, "not run"));
		else
			command_run_file(session, path);
	}
	free(path);
}

int interactive_run(struct session *session)
{
	char *path = history_path();
	char *line;
	struct sigaction action = { .sa_handler = interrupt };

	rl_readline_name = "heapsh";
	complete_begin(session);
	rl_catch_signals = 0;
	rl_change_environment = 0; // COLUMNS is the user's word
	rl_signal_event_hook = look_at_interrupt;
	rl_getc_function = read_key;
	sigaction(SIGINT, &action, NULL);
	session->paged = is_able_terminal();
	session->numbered = !output_is_json(session->output);
	run_startup_file(session);
	using_history();
	stifle_history(MAX_HISTORY);
	if (path)
		read_history(path);
	while (!session->quit && (line = read_line(session))) {
		if (line[strspn(line, " \t")]) {
			add_history(line);
			command_run_line(session, line);
		}
		free(line);
	}
	if (!session->quit)
		putchar('\n');
	if (path)
		write_history(path);
	free(path);
	return 0;
}
