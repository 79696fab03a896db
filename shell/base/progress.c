// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/base/progress.h"

#include "lib/base/clock.h"
#include "shell/base/session.h"

enum {
	BAR = 26, // characters
};

static double now(void)
{
	return (double)heap_monotonic_ns() / 1e9;
}

static void show(const struct progress *progress, double share, double elapsed)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	int cells = (int)(share * BAR * 8);
	double left = share > 0.01 ? elapsed / share - elapsed : 0;

	fprintf(progress->stream, "\r\033[K%s %.0f %% ", progress->what, share * 100);
	for (int i = 0; i < cells / 8; i++)
		fputs("█", progress->stream);
	fprintf(progress->stream, "%s%*s", eighths[cells % 8],
		BAR - cells / 8 - (cells % 8 != 0) + 1, "");
	if (left >= 0.5)
		fprintf(progress->stream, "%.0f s left", left);
	fflush(progress->stream);
}

static bool report(void *context, const char *what, double share)
{
	struct progress *progress = context;
	double time;

	if (session_interrupted)
		return false;
	if (!progress->stream)
		return true;
	time = now();
	if (progress->what != what) {
		progress->what = what;
		progress->begun = time;
	}
	if (time - progress->begun >= 1 && time - progress->shown >= 0.1) {
		show(progress, share < 1 ? share : 1, time - progress->begun);
		progress->shown = time;
	}
	return true;
}

void progress_init(struct progress *progress, FILE *stream)
{
	*progress = (struct progress){ .progress = { report, progress }, .stream = stream };
}

void progress_end(struct progress *progress)
{
	if (progress->shown > 0)
		fputs("\r\033[K", progress->stream);
	progress->what = NULL;
	progress->shown = 0;
}
