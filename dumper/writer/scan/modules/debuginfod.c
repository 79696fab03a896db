// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/modules/debuginfod.h"

#include "dumper/base/units.h"
#include "dumper/writer/base/supervisor.h"
#include "lib/dwarf/dwarf_units.h"
#include "lib/base/clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

enum {
	DEFAULT_TIME = 30, // seconds
	SHARE = 4,         // of the writer's time
};

struct debuginfod_client;

// elfutils/debuginfod.h, which need not be installed where this is built.
static struct {
	struct debuginfod_client *(*begin)(void);
	int (*find_debuginfo)(struct debuginfod_client *client, const unsigned char *build_id,
			      int size, char **path);
	void (*set_progressfn)(struct debuginfod_client *client,
			       int (*progress)(struct debuginfod_client *client, long done,
					       long all));
	void (*end)(struct debuginfod_client *client);
} library;

static struct {
	uint64_t time_ns;     // that is left for fetching
	uint64_t deadline_ns; // of the file that is being fetched
	const char *why;      // nothing can be fetched; NULL: it can
	bool is_wanted;
	bool is_loaded;
} state;

void debuginfod_init(uint64_t writer_time_ns)
{
	const char *urls = getenv("DEBUGINFOD_URLS"), *time = getenv("HEAPSNAP_DEBUGINFOD");

	state.time_ns = DEFAULT_TIME * SECOND;
	if (time && !heapsnap_parse_amount(time, heapsnap_times, &state.time_ns))
		state.time_ns = DEFAULT_TIME * SECOND;
	if (writer_time_ns && state.time_ns > writer_time_ns / SHARE)
		state.time_ns = writer_time_ns / SHARE;
	heap_dwarf_set_fetch(debuginfod_fetch);
	state.is_wanted = urls && urls[strspn(urls, " ")] && state.time_ns > 0;
}

static bool find_functions(void *handle)
{
	*(void **)&library.begin = dlsym(handle, "debuginfod_begin");
	*(void **)&library.find_debuginfo = dlsym(handle, "debuginfod_find_debuginfo");
	*(void **)&library.set_progressfn = dlsym(handle, "debuginfod_set_progressfn");
	*(void **)&library.end = dlsym(handle, "debuginfod_end");
	return library.begin && library.find_debuginfo && library.set_progressfn && library.end;
}

static void load_library(void)
{
	void *handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);

	state.is_loaded = true;
	if (!handle || !find_functions(handle))
		state.why = "DEBUGINFOD_URLS is set, but libdebuginfod.so.1 is not installed";
}

// Called several times a second. @return true to give up
static int go_on(struct debuginfod_client *client, long done, long all)
{
	(void)client, (void)done, (void)all;
	isolation_beat();
	return heap_monotonic_ns() > state.deadline_ns;
}

// @return as debuginfod_find_debuginfo(3)
static int fetch(const struct heap_build_id *id, char **path)
{
	struct debuginfod_client *client = library.begin();
	uint64_t begun = heap_monotonic_ns(), took;
	int descriptor;

	if (!client)
		return -ENOMEM;
	state.deadline_ns = begun + state.time_ns;
	library.set_progressfn(client, go_on);
	descriptor = library.find_debuginfo(client, id->bytes, (int)id->size, path);
	library.end(client);
	took = heap_monotonic_ns() - begun;
	state.time_ns = took < state.time_ns ? state.time_ns - took : 0;
	return descriptor;
}

HEAP_MUST_CHECK
static struct heap_error *fetch_in_turn(const struct heap_build_id *id, char **path,
					const char **why)
{
	int descriptor;

	*path = NULL;
	*why = NULL;
	if (!state.is_wanted || id->size == 0)
		return NULL;
	if (!state.is_loaded)
		load_library();
	if (!state.why && state.time_ns == 0)
		state.why = "the time for debuginfod is over";
	*why = state.why;
	if (*why)
		return NULL;
	descriptor = fetch(id, path);
	if (descriptor >= 0) {
		close(descriptor);
		return *path ? NULL : heap_error_out_of_memory();
	}
	*path = NULL;
	*why = state.time_ns == 0      ? "the time for debuginfod is over"
	       : descriptor == -ENOENT ? "debuginfod has none"
				       : "debuginfod cannot be reached";
	return NULL;
}

struct heap_error *debuginfod_fetch(const struct heap_build_id *id, char **path, const char **why)
{
	static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
	struct heap_error *error;

	// Threads read the files of several modules, and all share the time.
	pthread_mutex_lock(&turn);
	error = fetch_in_turn(id, path, why);
	pthread_mutex_unlock(&turn);
	return error;
}
