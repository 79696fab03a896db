// SPDX-License-Identifier: GPL-3.0-or-later
// The same, with bytes at the end of each item.
#define DATA char
#include "t/programs/pages.c"
