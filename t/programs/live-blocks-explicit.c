// SPDX-License-Identifier: GPL-3.0-or-later
/* live-blocks.c for mallocs that are not glibc's: blocks that libc makes for itself are not noted. */
#define LIVE_BLOCKS_EXPLICIT
#include "t/programs/live-blocks.c"
