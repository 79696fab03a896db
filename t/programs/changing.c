// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A process that is hardly ever the same: it begins itself anew without end, from one of several
 * threads; or has children that end, begin a program or go into the background, at once.
 *
 *	changing exec [THREADS]    until the file "end" is there
 *	changing fork              a child for each line of the input; writes its pid and mode
 *	changing without-main      its main thread has ended
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	BLOCKS = 200,
	MODES = 3,
	SPIN = 3000000
};

static void *blocks[BLOCKS];

static void *work(void *unused)
{
	for (volatile long i = 0;; i++)
		;
	return unused;
}

static void *begin_again(void *arguments)
{
	char **words = arguments;

	execv("/proc/self/exe", words);
	return NULL;
}

static void exec_forever(char **arguments)
{
	int count = arguments[2] ? atoi(arguments[2]) : 0;
	pthread_t thread;

	if (access("end", F_OK) == 0)
		return;
	for (volatile long i = 0; i < SPIN; i++)
		;
	for (int i = 0; i < count; i++)
		pthread_create(&thread, NULL, work, NULL);
	if (count > 0)
		pthread_create(&thread, NULL, begin_again, arguments);
	else
		begin_again(arguments);
	for (;;)
		pause();
}

static void change(int mode)
{
	switch (mode) {
	case 0:
		_exit(0);
	case 1:
		execlp("true", "true", (char *)NULL);
		_exit(1);
	default:
		if (fork() == 0)
			setsid();
		_exit(0);
	}
}

static void fork_forever(void)
{
	for (int mode = 0; getchar() != EOF; mode = (mode + 1) % MODES) {
		pid_t child = fork();

		if (child == 0)
			change(mode);
		printf("%d\n", (int)child);
		fflush(stdout);
		while (getchar() != '\n')
			;
		waitpid(child, NULL, 0);
	}
}

static void *wait_for_input(void *unused)
{
	while (getchar() != EOF)
		;
	exit(0);
	return unused;
}

int main(int count, char **arguments)
{
	pthread_t thread;

	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(100);
	if (count > 1 && strcmp(arguments[1], "exec") == 0)
		exec_forever(arguments);
	else if (count > 1 && strcmp(arguments[1], "fork") == 0)
		fork_forever();
	else if (pthread_create(&thread, NULL, wait_for_input, NULL) == 0)
		pthread_exit(NULL);
	return 0;
}
