// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_STANDARD_STREAMS_H
#define HEAP_STANDARD_STREAMS_H

/**
 * Standard input, output and error of a program, which its caller may have closed, or sent to a full disk.
 *
 * A file that is opened while one of them is closed gets its descriptor, and what is meant for people goes into
 * that file. So main() of every program of heapsh first fills the gaps; and what standard output did not
 * take is an error in the end, wherever it was written.
 *
 *	int main(int argc, char **argv)
 *	{
 *		heap_standard_streams_init("heapsh-diff", EXIT_TROUBLE);
 *		...
 *		if (!output_finish(output))
 *			error = heap_standard_output_error();
 */

#include "lib/base/error.h"

#include <stdio.h>

/**
 * Opens /dev/null for those of the three that are closed, so that reading and writing fail there as before. Programs
 * that this one executes find them closed.
 */
void heap_standard_streams_open(void);

/**
 * The same; and at exit, if standard output has not taken all, says so unless that was said, and ends with
 * @p failure.
 *
 * @param program  its name
 */
void heap_standard_streams_init(const char *program, int failure);

/** Writes what a stream still has. @return 0; or the error number of why it cannot, now or before */
int heap_stream_error(FILE *stream);

/** Why standard output cannot be written to, once that has failed; the exit will not say it again. */
HEAP_MAKES_ERROR
struct heap_error *heap_standard_output_error(void);

#endif
