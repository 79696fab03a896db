// SPDX-License-Identifier: GPL-3.0-or-later
// Runs a program, and says what it has taken, a line each: seconds on the clock, seconds of
// processors, page faults, MiB of memory at its peak, pages of mapped files included.
//
//	measure [-d BYTES] [-e NAME=VALUE]... PROGRAM ARG...
//
// -d: how much memory it may take that is no file's (RLIMIT_DATA). -e: of its environment.
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static char *variables[16];
static int variable_count;

static void run(char **argv, rlim_t data)
{
	struct rlimit limit = { data, data };

	if (data != RLIM_INFINITY && setrlimit(RLIMIT_DATA, &limit) != 0)
		_exit(127);
	if (!freopen("/dev/null", "w", stdout))
		_exit(127);
	for (int i = 0; i < variable_count; i++)
		putenv(variables[i]);
	execvp(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

int main(int argc, char **argv)
{
	rlim_t data = RLIM_INFINITY;
	struct rusage usage;
	double start;
	int option, status;
	pid_t child;

	while ((option = getopt(argc, argv, "+d:e:")) != -1) {
		if (option == 'd')
			data = strtoull(optarg, NULL, 10);
		else if (option == 'e' && variable_count < 16)
			variables[variable_count++] = optarg;
		else
			break;
	}
	if (option != -1 || optind == argc) {
		fputs("usage: measure [-d BYTES] [-e NAME=VALUE]... PROGRAM ARG...\n", stderr);
		return 2;
	}
	start = now();
	child = fork();
	if (child == 0)
		run(argv + optind, data);
	if (child < 0 || wait4(child, &status, 0, &usage) < 0)
		return 127;
	printf("wall %.3f\n", now() - start);
	printf("processor %.6f\n", seconds(usage.ru_utime) + seconds(usage.ru_stime));
	printf("faults %ld\n", usage.ru_minflt);
	printf("peak %.1f\n", (double)usage.ru_maxrss / 1024);
	// 1 is an answer of heapsh's: there is nothing.
	return WIFEXITED(status) ? WEXITSTATUS(status) > 1 : 126;
}
