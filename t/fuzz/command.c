// SPDX-License-Identifier: GPL-3.0-or-later
// Lines as a person types them, to the whole shell, on a snapshot; as text, then as JSON. Lines
// that would run programs or write files are left out, and files are not sourced.
#include "shell/command.h"
#include "shell/series/series.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void run_lines(char *text, enum output_mode mode, FILE *nowhere)
{
	struct session session = { .errors = nowhere, .nesting = 1000 };
	char path[] = "t/snapshots/format-1.snap", *paths[] = { path, path };
	struct heap_error *error = series_open(&session, paths, 2);
	char *rest = text;

	if (error)
		abort();
	progress_init(&session.progress, NULL);
	session.output = output_create(nowhere, mode, false);
	for (char *line; (line = strsep(&rest, "\n")) && !session.quit;)
		command_run_line(&session, line);
	output_destroy(session.output);
	series_close(&session);
	session_close(&session);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static FILE *nowhere;

	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	if (size > 4096 || memchr(bytes, '|', size) || memchr(bytes, '>', size))
		return 0;
	for (int mode = OUTPUT_TEXT; mode <= OUTPUT_JSON; mode++) {
		char *text = strndup((const char *)bytes, size);

		run_lines(text, mode, nowhere);
		free(text);
	}
	return 0;
}
