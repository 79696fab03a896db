// SPDX-License-Identifier: GPL-3.0-or-later
// Runs a command on a terminal of its own, for tests:
//
//	terminal [--after TEXT] COMMAND [ARG...]
//
// Standard input is typed, what the terminal shows goes to standard output, and the status
// is the command's. What is typed before a program reads is echoed in the midst of what it says; with --after
// nothing is typed until a write has ended with a text, such as a prompt. (script(1) does the same, but guesses the status when the terminal closes
// before it has been told of the command's end.)
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// What the terminal must show before anything is typed; NULL once it has.
static const char *awaited;

static void look_for_awaited(const char *shown, size_t length)
{
	if (awaited && length >= strlen(awaited) &&
	    memcmp(shown + length - strlen(awaited), awaited, strlen(awaited)) == 0)
		awaited = NULL;
}

// @return whether there was something to pass on
static bool relay(int from, int to)
{
	char buffer[4096];
	ssize_t length = read(from, buffer, sizeof(buffer));

	if (from != STDIN_FILENO && length > 0)
		look_for_awaited(buffer, (size_t)length);

	if (length < 0 && errno == EINTR)
		return true;
	for (ssize_t done = 0; done < length;) {
		ssize_t written = write(to, buffer + done, (size_t)(length - done));

		if (written < 0)
			return false;
		done += written;
	}
	return length > 0;
}

// Until the terminal has been closed by all who had it.
static void relay_both(int terminal)
{
	struct pollfd waiting[2] = {
		{ .fd = terminal, .events = POLLIN },
		{ .fd = STDIN_FILENO, .events = POLLIN },
	};

	for (;;) {
		if (poll(waiting, awaited ? 1 : 2, -1) < 0 && errno != EINTR)
			return;
		if (waiting[0].revents && !relay(terminal, STDOUT_FILENO))
			return;
		if (!awaited && waiting[1].revents && !relay(STDIN_FILENO, terminal))
			waiting[1].fd = -1;
	}
}

int main(int argc, char **argv)
{
	int terminal, status;
	pid_t pid;

	if (argc > 2 && strcmp(argv[1], "--after") == 0) {
		awaited = argv[2];
		argc -= 2;
		argv += 2;
	}
	if (argc < 2) {
		fputs("usage: terminal [--after TEXT] COMMAND [ARG...]\n", stderr);
		return 2;
	}
	pid = forkpty(&terminal, NULL, NULL, NULL);
	if (pid < 0) {
		perror("terminal: forkpty");
		return 2;
	}
	if (pid == 0) {
		execvp(argv[1], argv + 1);
		fprintf(stderr, "terminal: cannot run %s: %s\n", argv[1], strerror(errno));
		_exit(127);
	}
	relay_both(terminal);
	if (waitpid(pid, &status, 0) != pid) {
		perror("terminal: waitpid");
		return 2;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
