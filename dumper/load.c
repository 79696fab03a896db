// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Sets everything up when the library is loaded. malloc works before: the dynamic linker itself
 * and other libraries' constructors use it.
 */
#include "dumper/capture/configure.h"
#include "dumper/stacks/backtraces.h"
#include "dumper/alloc/epochs.h"
#include "dumper/alloc/next_allocator.h"
#include "dumper/host/announce.h"
#include "dumper/host/deepbind.h"
#include "dumper/host/first.h"
#include "dumper/host/go_runtime.h"
#include "dumper/base/process.h"
#include "dumper/base/report.h"
#include "dumper/host/sandbox.h"
#include "dumper/host/system_call.h"
#include "dumper/base/settings.h"
#include "dumper/host/signals.h"
#include "dumper/capture/trigger.h"
#include "dumper/capture/rights.h"
#include "dumper/capture/unshare.h"

#include <errno.h>

__attribute__((constructor)) static void load(void)
{
	int before = errno;
	uint32_t pid;

	heapsnap_next_init();
	if (heapsnap_sandbox_inherit(&pid)) {
		heapsnap_announce_inherited_sandbox(pid);
		errno = before;
		return;
	}
	heapsnap_system_call_init();
	heapsnap_deepbind_init();
	heapsnap_signals_init();
	heapsnap_go_init();
	heapsnap_report_init();
	heapsnap_settings_read();
	heapsnap_process_init();
	heapsnap_epochs_init();
	heapsnap_first_init();
	heapsnap_backtraces_init();
	heapsnap_trigger_init();
	heapsnap_unshare_init();
	heapsnap_rights_init();
	if (heapsnap_first() != HEAPSNAP_ALLOCATOR_SANITIZER)
		heapsnap_configure();
	errno = before;
}
