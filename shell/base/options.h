// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef OPTIONS_H
#define OPTIONS_H

/** Options of the programs' command lines. */

#include <getopt.h>

/**
 * getopt_long(), whose complaints are escaped: words may be names of files that somebody else
 * chose.
 *
 * @return '?' for all that is wrong, which has been said
 */
int options_next(int argc, char **argv, const char *letters, const struct option *known,
		 int *index);

#endif
