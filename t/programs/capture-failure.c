// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Has one snapshot taken, and tells what became of it. t/capture/failures.t runs it.
 */
#include "dumper/heapsnap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	if (getenv("CLOSE_ERRORS")) {
		close(2);
		open("mine", O_WRONLY | O_CREAT, 0600);
	}
	raise(SIGQUIT);
	if (getenv("END")) // before the outcome is known
		return 0;
	if (getenv("EXEC"))
		execl("/bin/sh", "sh", "-c",
		      "for i in $(seq 600); do [ -s .stderr ] && exit; sleep 0.05; done", NULL);

	int result = heapsnap_wait();

	if (waitpid(-1, NULL, 0) != -1 || errno != ECHILD)
		puts("a child");
	printf("went on: %d\n", result);
	return 0;
}
