// SPDX-License-Identifier: GPL-3.0-or-later
// Objects whose texts are string literals, in a file of read-only data that no snapshot has.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct job {
	const char *name;
	const char *text; // in the heap
	const unsigned char *bytes;
	const char *within; // behind the beginning of a literal
	const int *numbers;
	struct job *next;
};

static const int numbers[] = { 1, 2, 3 };
static const char *const names[] = { "compile", "link", NULL };
struct job *jobs;
const char *banner = "a line\nand \"another\"";

static struct job *job_new(const char *name)
{
	struct job *job = calloc(1, sizeof(*job));
	char *text = calloc(1, 8);

	text[0] = 'x';
	job->name = name;
	job->text = text;
	job->bytes = (const unsigned char *)"bytes";
	job->within = "behind" + 2;
	job->numbers = numbers;
	job->next = jobs;
	return job;
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		jobs = job_new(names[i % 2]);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
