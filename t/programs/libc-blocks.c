// SPDX-License-Identifier: GPL-3.0-or-later
// CFLAGS: -g0 -D_GNU_SOURCE
/*
 * Blocks that libc allocates, kept by globals of a program without debug information. Their
 * contents read as no text, so that only their sites tell what they are.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char bytes[] = "\1\2\3\4\5\6\7\010\011\013\014\015\016\017\020\021\022\023";

FILE *stream;
char *line, *copy, *part, *printed;

int main(void)
{
	size_t room = 0;
	char done;

	stream = tmpfile();
	if (!stream || fwrite(bytes, 1, sizeof(bytes) - 1, stream) != sizeof(bytes) - 1)
		return 1;
	rewind(stream);
	if (getdelim(&line, &room, '\n', stream) <= 0 || asprintf(&printed, "%s", bytes) < 0)
		return 1;
	copy = strdup(bytes);
	part = strndup(bytes, 7);
	if (write(STDOUT_FILENO, "ready\n", 6) != 6 || read(STDIN_FILENO, &done, 1) < 0)
		return 1;
	free(copy);
	free(part);
	free(line);
	free(printed);
	return 0;
}
