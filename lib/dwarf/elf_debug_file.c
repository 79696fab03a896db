// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/elf_file.h"

#include "lib/base/cleanup.h"
#include "lib/base/regular_file.h"
#include "lib/dwarf/elf_section.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

// The name and CRC in .gnu_debuglink.
static bool read_debuglink(const struct heap_elf_file *file, const char **name, uint32_t *crc)
{
	GElf_Shdr header;
	Elf_Scn *section = heap_elf_find_section(file->elf, ".gnu_debuglink", &header);
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;

	if (!data || data->d_size < 8)
		return false;

	const char *bytes = data->d_buf;
	size_t length = strnlen(bytes, data->d_size);
	size_t at = (length + 4) & ~(size_t)3;

	if (length == 0 || at > data->d_size - 4)
		return false;
	*name = bytes;
	memcpy(crc, bytes + at, 4);
	return strchr(bytes, '/') == NULL;
}

static bool has_crc(const char *path, uint32_t wanted)
{
	CLEANUP_CLOSE int descriptor = heap_regular_file_try(path);
	CLEANUP_FREE uint8_t *buffer = malloc(1 << 20);
	uLong crc = crc32(0, NULL, 0);
	ssize_t got;

	if (descriptor < 0 || !buffer)
		return false;
	while ((got = read(descriptor, buffer, 1 << 20)) > 0)
		crc = crc32(crc, buffer, (uInt)got);
	return got == 0 && (uint32_t)crc == wanted;
}

HEAP_MUST_CHECK
static struct heap_error *find_by_build_id(const struct heap_elf_file *file, const char *directory,
					   char **result)
{
	char id[2 * HEAP_BUILD_ID_MAX + 1];
	CLEANUP_FREE char *path = NULL;

	if (file->build_id.size < 2)
		return NULL;
	heap_build_id_format(&file->build_id, id, sizeof(id));
	if (asprintf(&path, "%s/.build-id/%.2s/%s.debug", directory, id, id + 2) < 0) {
		path = NULL;
		return heap_error_out_of_memory();
	}
	if (access(path, R_OK) == 0)
		*result = keep(path);
	return NULL;
}

// Where debuginfod-find(1) and gdb put what they have fetched.
struct heap_error *heap_elf_find_fetched(const struct heap_build_id *build_id, char **result)
{
	static const struct {
		const char *variable, *pattern;
	} places[] = {
		{ "DEBUGINFOD_CACHE_PATH", "%s/%s/debuginfo" },
		{ "XDG_CACHE_HOME", "%s/debuginfod_client/%s/debuginfo" },
		{ "HOME", "%s/.cache/debuginfod_client/%s/debuginfo" },
	};
	char id[2 * HEAP_BUILD_ID_MAX + 1];

	*result = NULL;
	heap_build_id_format(build_id, id, sizeof(id));
	for (size_t i = 0; *id && i < sizeof(places) / sizeof(*places); i++) {
		const char *directory = getenv(places[i].variable);
		CLEANUP_FREE char *path = NULL;

		if (!directory || *directory != '/')
			continue;
		if (asprintf(&path, places[i].pattern, directory, id) < 0) {
			path = NULL;
			return heap_error_out_of_memory();
		}
		if (access(path, R_OK) == 0) {
			*result = keep(path);
			return NULL;
		}
	}
	return NULL;
}

// The path without symbolic links, unless that leads elsewhere: those of the kernel to a process's root and files are
// no text that could be followed. @return malloc'd; NULL: no memory
static char *real_path(const char *path)
{
	CLEANUP_FREE char *real = realpath(path, NULL);
	struct stat status, other;

	if (real && stat(path, &status) == 0 && stat(real, &other) == 0 &&
	    status.st_dev == other.st_dev && status.st_ino == other.st_ino)
		return keep(real);
	return strdup(path);
}

HEAP_MUST_CHECK
static struct heap_error *find_by_link(const struct heap_elf_file *file, const char *directory,
				       char **result)
{
	// Beside the file, in .debug/ beside it, and at its path below the directory.
	static const char *const patterns[] = { "%s%s/%s", "%s%s/.debug/%s" };
	CLEANUP_FREE char *real = real_path(file->path);
	char *slash = real ? strrchr(real, '/') : NULL;
	const char *name;
	uint32_t crc;

	if (!slash || !read_debuglink(file, &name, &crc))
		return NULL;
	*slash = '\0';
	for (int i = 0; i < 3; i++) {
		CLEANUP_FREE char *path = NULL;
		int length = asprintf(&path, patterns[i == 1], i == 2 ? directory : "", real, name);

		if (length < 0) {
			path = NULL;
			return heap_error_out_of_memory();
		}
		if (access(path, R_OK) == 0 && has_crc(path, crc)) {
			*result = keep(path);
			return NULL;
		}
	}
	return NULL;
}

struct heap_error *heap_elf_find_debug_file(const struct heap_elf_file *file, const char *directory,
					    char **result)
{
	char *found = NULL;

	HEAP_TRY(find_by_build_id(file, directory, &found));
	if (!found)
		HEAP_TRY(find_by_link(file, directory, &found));
	if (!found)
		HEAP_TRY(heap_elf_find_fetched(&file->build_id, &found));
	*result = found;
	return NULL;
}
