// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/series/follow_screen.h"

#include "lib/base/cleanup.h"
#include "lib/base/escape.h"
#include "lib/base/standard_streams.h"
#include "lib/base/terminal.h"
#include "shell/base/format.h"
#include "shell/print/describe.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum {
	INTERVAL = 500, // ms between two looks for new files
	PLAIN_ROWS = 10,
	HEAD_LINES = 4,
	KEYS = 64, // bytes that are read at once
};

// In front of a line's text: behind a line that is as wide as the screen, the cursor is still on the last
// character, which it would erase.
#define ERASE_LINE "\x1b[K"

static volatile sig_atomic_t stop_signal, is_suspended;

// The loop over files and keys.
struct screen {
	struct session *session;
	struct follow follow;
	struct follow_view view;
	struct follow_rows rows;
	size_t shown;  // the process; SIZE_MAX before the first
	size_t scroll; // rows above the screen
	bool quit;
	bool is_chosen; // the process, by a key: a new one does not take its place
	struct termios saved;
};

static void note_stop(int number)
{
	stop_signal = number;
}

static void note_suspend(int number)
{
	(void)number;
	is_suspended = 1;
}

// Interrupts poll(): the screen is drawn anew.
static void note_resize(int number)
{
	(void)number;
}

static void handle(int number, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };

	sigaction(number, &action, NULL);
}

// A signal that is ignored, as by nohup(1) or in the background of a script, stays ignored.
static void handle_stop(int number)
{
	struct sigaction before;

	if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
		handle(number, note_stop);
}

static void screen_deinit(struct screen *screen)
{
	follow_deinit(&screen->follow);
	heap_array_deinit(&screen->rows);
}

static void forget_trouble(struct screen *screen)
{
	free(screen->follow.trouble);
	screen->follow.trouble = NULL;
}

static void put(const char *text, size_t size)
{
	while (size > 0) {
		ssize_t written = write(STDOUT_FILENO, text, size);

		if (written < 0 && errno != EINTR)
			return;
		if (written > 0) {
			text += written;
			size -= (size_t)written;
		}
	}
}

// --- the terminal ------------------------------------------------------------------------

// Goes to the alternate screen, without a cursor, and gets keys as they are pressed.
static void begin_terminal(struct screen *screen)
{
	static const char start[] = "\x1b[?1049h\x1b[?25l";
	struct termios raw = screen->saved;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	put(start, sizeof(start) - 1);
}

static void end_terminal(struct screen *screen)
{
	static const char end[] = "\x1b[?25h\x1b[?1049l";

	put(end, sizeof(end) - 1);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &screen->saved);
}

// ^Z: the terminal is the shell's until it continues this process.
static void suspend(struct screen *screen)
{
	is_suspended = 0;
	end_terminal(screen);
	raise(SIGSTOP);
	tcgetattr(STDIN_FILENO, &screen->saved);
	begin_terminal(screen);
}

// --- drawing -----------------------------------------------------------------------------

static void print_keys(FILE *stream, size_t columns)
{
	static const char *const texts[] = {
		"t type  s site  k both   g growth  l last  b bytes  o objects  n name   q quit",
		"t type  s site  k both  sort: g l b o n  q quit",
		"t s k: by  g l b o n: sort  q: quit",
	};
	size_t i = 0;

	while (i + 1 < sizeof(texts) / sizeof(texts[0]) && strlen(texts[i]) > columns)
		i++;
	follow_print_line(stream, columns, "%s", texts[i]);
}

// ", the last 3.0 s ago; process 1 of 2, p for the next".
static const char *describe_rest(struct screen *screen, const struct follow_process *process)
{
	struct session *session = screen->session;
	size_t count = screen->follow.processes.count;
	struct timespec now;
	uint64_t ns;

	clock_gettime(CLOCK_REALTIME, &now);
	ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;

	const char *age = ns > process->times[FOLLOW_LATEST]
				  ? describe_duration(session, ns - process->times[FOLLOW_LATEST])
				  : "0 s";

	return count > 1 ? session_format(session, ", the last %s ago; process %zu of %zu, p: next",
					  age, screen->shown + 1, count)
			 : session_format(session, ", the last %s ago", age);
}

static void print_waiting(struct screen *screen, FILE *stream, size_t columns)
{
	CLEANUP_FREE char *name = format_name(screen->follow.patterns[0]);

	fputs(ERASE_LINE, stream);
	follow_print_line(stream, columns, "Waiting for snapshots: %s%s", name ? name : "",
			  screen->follow.pattern_count > 1 ? " ..." : "");
	fputs("\n", stream);
}

HEAP_MUST_CHECK
static struct heap_error *print_process(struct screen *screen, FILE *stream, size_t columns,
					size_t lines)
{
	const struct follow_process *process = &screen->follow.processes.items[screen->shown];

	HEAP_TRY(follow_rows_make(&screen->rows, process, &screen->view));
	if (screen->scroll >= screen->rows.count)
		screen->scroll = screen->rows.count > 0 ? screen->rows.count - 1 : 0;
	fputs(ERASE_LINE, stream);
	follow_print_process(stream, columns, screen->session, process,
			     describe_rest(screen, process));
	fputs("\n" ERASE_LINE, stream);
	follow_print_total(stream, columns, process);
	fputs("\n" ERASE_LINE, stream);
	follow_print_line(stream, columns, "by %s", follow_order_name(screen->view.order));
	fputs(screen->view.colours ? "\n" ERASE_LINE "\x1b[7m" : "\n" ERASE_LINE, stream);
	follow_print_titles(stream, columns, &screen->view);
	fputs("\x1b[m\n", stream);
	for (size_t i = screen->scroll; i < screen->rows.count && i - screen->scroll < lines; i++) {
		fputs(ERASE_LINE, stream);
		follow_print_row(stream, columns, &screen->rows.items[i]);
		fputs("\n", stream);
	}
	return NULL;
}

// The last line: why a file could not be read, or the keys.
static void print_foot(struct screen *screen, FILE *stream, size_t columns, size_t rows)
{
	fprintf(stream, "\x1b[J\x1b[%zu;1H" ERASE_LINE, rows);
	if (screen->follow.trouble)
		follow_print_line(stream, columns, "%s", screen->follow.trouble);
	else
		print_keys(stream, columns);
}

// Draws in one write, so that the screen does not flicker.
HEAP_MUST_CHECK
static struct heap_error *draw(struct screen *screen)
{
	size_t columns = output_terminal_columns(stdout), rows = output_terminal_rows(stdout);
	CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	struct heap_error *error = NULL;

	if (!stream)
		return heap_error_out_of_memory();
	fputs("\x1b[H", stream);
	if (screen->shown == SIZE_MAX)
		print_waiting(screen, stream, columns);
	else
		error = print_process(screen, stream, columns,
				      rows > HEAD_LINES + 1 ? rows - HEAD_LINES - 1 : 0);
	print_foot(screen, stream, columns, rows);
	fclose(stream);
	if (!error)
		put(text, size);
	return error;
}

// --- keys --------------------------------------------------------------------------------

static void choose_order(struct screen *screen, enum follow_order order)
{
	screen->view.order = order;
	screen->scroll = 0;
}

static void choose_way(struct screen *screen, int way)
{
	screen->view.way = way;
	screen->scroll = 0;
}

static void choose_next_process(struct screen *screen)
{
	size_t count = screen->follow.processes.count;

	screen->is_chosen = count > 1;
	screen->scroll = 0;
	if (count > 0)
		screen->shown = (screen->shown + 1) % count;
}

static void scroll_by(struct screen *screen, int rows)
{
	if (rows < 0 && screen->scroll < (size_t)-rows)
		screen->scroll = 0;
	else
		screen->scroll += (size_t)rows;
}

// Takes an arrow or page key. @return the bytes of its sequence, 0 if it is none
static size_t take_sequence(struct screen *screen, const char *keys)
{
	static const struct {
		const char *sequence;
		int rows;
	} known[] = {
		{ "\x1b[A", -1 }, { "\x1bOA", -1 },   { "\x1b[B", 1 },
		{ "\x1bOB", 1 },  { "\x1b[5~", -10 }, { "\x1b[6~", 10 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t length = strlen(known[i].sequence);

		if (strncmp(keys, known[i].sequence, length) != 0)
			continue;
		scroll_by(screen, known[i].rows);
		return length;
	}
	return 0;
}

static void take_key(struct screen *screen, char key)
{
	static const char orders[] = "glbon", ways[] = "kts";
	const char *found;

	if (key == 'q' || key == 'Q')
		screen->quit = true;
	else if (key == 'p')
		choose_next_process(screen);
	else if ((found = strchr(orders, key)))
		choose_order(screen, (enum follow_order)(found - orders));
	else if ((found = strchr(ways, key)))
		choose_way(screen, (int)(found - ways));
}

static void take_keys(struct screen *screen)
{
	char keys[KEYS + 1];
	ssize_t length = read(STDIN_FILENO, keys, KEYS);

	if (length <= 0) {
		screen->quit = length == 0 || errno != EINTR;
		return;
	}
	keys[length] = '\0';
	forget_trouble(screen);
	for (ssize_t i = 0; i < length;) {
		size_t sequence = take_sequence(screen, keys + i);

		if (sequence == 0 && keys[i])
			take_key(screen, keys[i]);
		i += sequence > 0 ? (ssize_t)sequence : 1;
	}
}

// --- the loop ----------------------------------------------------------------------------

// Reads the next file. @param process  gets the number of its process, or SIZE_MAX
HEAP_MUST_CHECK
static struct heap_error *read_next(struct screen *screen, size_t *process)
{
	HEAP_TRY(follow_find(&screen->follow));
	HEAP_TRY(follow_read(&screen->follow, screen->session, process));
	if (*process != SIZE_MAX && !screen->is_chosen)
		screen->shown = *process;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *show_screen(struct screen *screen)
{
	while (!screen->quit && !stop_signal) {
		struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
		size_t process;

		if (is_suspended)
			suspend(screen);
		HEAP_TRY(read_next(screen, &process));
		HEAP_TRY(draw(screen));
		if (poll(&input, 1, screen->follow.waiting.count > 0 ? 0 : INTERVAL) > 0)
			take_keys(screen);
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *print_snapshot(struct screen *screen, size_t number)
{
	const struct follow_process *process = &screen->follow.processes.items[number];
	struct output *output = screen->session->output;

	HEAP_TRY(follow_rows_make(&screen->rows, process, &screen->view));
	if (output_is_json(output)) {
		follow_print_json(output, process, &screen->rows, SIZE_MAX);
		return NULL;
	}
	follow_print_process(stdout, 0, screen->session, process, "\n");
	follow_print_total(stdout, 0, process);
	putchar('\n');
	follow_print_titles(stdout, 0, &screen->view);
	putchar('\n');
	for (size_t i = 0; i < screen->rows.count && i < PLAIN_ROWS; i++) {
		follow_print_row(stdout, 0, &screen->rows.items[i]);
		putchar('\n');
	}
	putchar('\n');
	return NULL;
}

static void tell_trouble(struct screen *screen)
{
	if (screen->follow.trouble)
		heap_print(screen->session->errors, "heapsh: %s\n", screen->follow.trouble);
	forget_trouble(screen);
}

HEAP_MUST_CHECK
static struct heap_error *print_all(struct screen *screen)
{
	struct output *output = screen->session->output;

	for (bool is_waiting = true; !stop_signal;) {
		// A reader that is gone shows before the next snapshot comes.
		struct pollfd reader = { .fd = STDOUT_FILENO };
		size_t process;

		HEAP_TRY(read_next(screen, &process));
		is_waiting &= !screen->follow.trouble;
		tell_trouble(screen);
		if (process != SIZE_MAX) {
			HEAP_TRY(print_snapshot(screen, process));
			if (!output_finish(output))
				return heap_standard_output_error();
		} else if (is_waiting && screen->follow.processes.count == 0 &&
			   screen->follow.waiting.count == 0 && !screen->session->quiet) {
			heap_print(screen->session->errors, "heapsh: waiting for snapshots: %s\n",
				   screen->follow.patterns[0]);
			is_waiting = false;
		}
		if (poll(&reader, 1, screen->follow.waiting.count > 0 ? 0 : INTERVAL) > 0 &&
		    reader.revents & (POLLERR | POLLHUP))
			return NULL;
	}
	return NULL;
}

// One that has the alternate screen and the cursor's movements of ECMA-48.
static bool is_able_terminal(struct screen *screen)
{
	return heap_terminal_is_able(STDOUT_FILENO) && !output_is_json(screen->session->output) &&
	       tcgetattr(STDIN_FILENO, &screen->saved) == 0;
}

struct heap_error *follow_run(struct session *session, char *const *patterns, size_t count,
			      const struct follow_view *view)
{
	CLEANUP(screen_deinit)
	struct screen screen = {
		.session = session,
		.follow = { .patterns = patterns, .pattern_count = count },
		.view = *view,
		.shown = SIZE_MAX,
	};
	struct heap_error *error;

	handle_stop(SIGINT);
	handle_stop(SIGTERM);
	handle_stop(SIGHUP);
	if (is_able_terminal(&screen)) {
		handle(SIGTSTP, note_suspend);
		handle(SIGWINCH, note_resize);
		begin_terminal(&screen);
		error = show_screen(&screen);
		end_terminal(&screen);
	} else {
		error = print_all(&screen);
	}
	if (!error && stop_signal) {
		handle(stop_signal, SIG_DFL);
		raise(stop_signal);
	}
	return error;
}
