// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/base/process.h"

#include "dumper/base/settings.h"
#include "dumper/base/system.h"
#include "dumper/base/thread_pointer.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

struct heapsnap_process heapsnap_process;
__thread struct heapsnap_move heapsnap_move;
char heapsnap_writer_path[HEAPSNAP_PATH_MAX];
// Large pages for the writer's columns: a fifth of its time would go into faults otherwise.
static char writer_tunables[] = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1";

char *heapsnap_writer_environment[2 + HEAPSNAP_WRITER_VARIABLES] = { writer_tunables };

static int note_tls_module(struct dl_phdr_info *info, size_t size, void *context)
{
	struct heapsnap_process *process = context;

	if (size < offsetof(struct dl_phdr_info, dlpi_tls_data) + sizeof(void *) ||
	    !info->dlpi_tls_data || process->tls_module_count == HEAPSNAP_TLS_MODULES)
		return 0;
	process->tls_modules[process->tls_module_count++] = (struct heapsnap_tls_module){
		.bias = info->dlpi_addr,
		.offset = (int64_t)((uint64_t)info->dlpi_tls_data - heapsnap_thread_pointer()),
	};
	return 0;
}

// True if a name beside the executable is another one of the same file, as redis-server is of redis-check-rdb.
// @param executable  its path; is changed
static bool is_alias(const char *name, char *executable, size_t size)
{
	char *file = strrchr(executable, '/');
	struct stat own, other;

	if (!file || stat(executable, &own) != 0)
		return false;
	heapsnap_format_text(file + 1, executable + size, name);
	return stat(executable, &other) == 0 && other.st_dev == own.st_dev &&
	       other.st_ino == own.st_ino;
}

static void note_program(struct heapsnap_process *process)
{
	char path[HEAPSNAP_PATH_MAX], executable[HEAPSNAP_PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	const char *name = program_invocation_short_name;

	if (length > 0) {
		path[length] = '\0';
		strcpy(executable, path);
		if (strchr(name, '/') || !is_alias(name, executable, sizeof(executable)))
			name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	}
	heapsnap_format_text(process->program, process->program + sizeof(process->program), name);
	if (!getcwd(process->directory, sizeof(process->directory)))
		strcpy(process->directory, ".");
}

const void *heapsnap_library_base(void)
{
	Dl_info info;

	return dladdr(&heapsnap_process, &info) ? info.dli_fbase : NULL;
}

// The writer lies beside the library, or in its folder heapsnap.
static void note_writer(void)
{
	static const char *const places[] = { "heapsnap-writer", "heapsnap/heapsnap-writer" };
	char library[HEAPSNAP_PATH_MAX];
	Dl_info info;
	char *slash;

	if (!dladdr((void *)note_writer, &info) || !realpath(info.dli_fname, library))
		return;
	slash = strrchr(library, '/');
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
		char *at = heapsnap_writer_path;
		const char *end = at + sizeof(heapsnap_writer_path);

		slash[1] = '\0';
		at = heapsnap_format_text(at, end, library);
		heapsnap_format_text(at, end, places[i]);
		if (access(heapsnap_writer_path, X_OK) == 0)
			return;
	}
}

// Appends "NAME=value" of the program's environment, if it is there.
static void note_variable(const char *name)
{
	static char room[HEAPSNAP_WRITER_VARIABLES][HEAPSNAP_PATH_MAX];
	static int count;
	const char *value = getenv(name);

	if (!value || strlen(value) + strlen(name) + 2 > sizeof(room[0]) ||
	    count == HEAPSNAP_WRITER_VARIABLES)
		return;
	strcpy(room[count], name);
	strcat(room[count], "=");
	strcat(room[count], value);
	heapsnap_writer_environment[1 + count] = room[count];
	count++;
}

static void note_environment(void)
{
	static const char *const names[] = { "HOME", "XDG_CACHE_HOME", "HEAPSNAP_THREADS" };
	// Variables that the client of debuginfod, and libcurl below it, read.
	static const char *const fetching[] = {
		"DEBUGINFOD_URLS",    "DEBUGINFOD_CACHE_PATH",
		"DEBUGINFOD_MAXSIZE", "HEAPSNAP_DEBUGINFOD",
		"http_proxy",         "https_proxy",
		"no_proxy",
	};
	const char *urls = getenv("DEBUGINFOD_URLS");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		note_variable(names[i]);
	if (!urls || !*urls || getauxval(AT_SECURE))
		return;
	for (size_t i = 0; i < sizeof(fetching) / sizeof(fetching[0]); i++)
		note_variable(fetching[i]);
}

void heapsnap_process_init(void)
{
	struct heapsnap_process *process = &heapsnap_process;

	process->magic = HEAPSNAP_PROCESS_MAGIC;
	process->version = HEAPSNAP_PROTOCOL_VERSION;
	process->bytes = sizeof(*process);
	process->start_time_ns = process->time_ns = heapsnap_realtime_ns();
	process->clock_ns = heapsnap_monotonic_ns();
	process->origin =
		HEAPSNAP_TAKES_SNAPSHOTS ? HEAPSNAP_ORIGIN_LIBRARY : HEAPSNAP_ORIGIN_TRACED;
	process->oldest = heapsnap_settings.oldest;
	process->content_limit = process->oldest > 0 ? 0 : heapsnap_settings.content_limit;
	process->has_types = heapsnap_settings.has_types;
	process->writer_memory = heapsnap_settings.writer_memory;
	process->writer_time_ns = heapsnap_settings.writer_time_ns;
	process->writer_nice = heapsnap_settings.writer_nice;
	note_program(process);
	note_writer();
	note_environment();
	process->main_thread_pointer = heapsnap_thread_pointer();
	process->move_offset = (int64_t)((uint64_t)&heapsnap_move - process->main_thread_pointer);
	dl_iterate_phdr(note_tls_module, process);
}
