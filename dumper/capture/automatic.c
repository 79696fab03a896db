// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/capture/automatic.h"

struct heapsnap_automatic heapsnap_automatic = { .min_interval_ns = UINT64_C(1000000000) };
