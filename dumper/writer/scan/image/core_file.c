// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/image/core_file.h"

#include "dumper/base/user_registers.h"
#include "dumper/writer/scan/image/core_links.h"
#include "lib/base/regular_file.h"
#include "lib/base/search.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	MAX_SEGMENTS = 1 << 20,
	MAX_NOTES = 256 << 20, // bytes, of all segments
	MAX_FILES = 512,       // that are open at a time
	MAX_THREADS = 1 << 17,
#if defined(__x86_64__)
	MACHINE = EM_X86_64,
#else
	MACHINE = EM_AARCH64,
#endif
};

#if defined(__x86_64__)
#define MACHINE_NAME "x86-64"
#else
#define MACHINE_NAME "aarch64"
#endif

#define USER_END (UINT64_C(1) << 56) // of a process's addresses, with page tables of five levels

// gcore leaves the signal that its debugger has stopped the process by.
static bool ends_with_core(int signal)
{
	switch (signal) {
	case SIGQUIT:
	case SIGILL:
	case SIGTRAP:
	case SIGABRT:
	case SIGBUS:
	case SIGFPE:
	case SIGSEGV:
	case SIGSYS:
	case SIGXCPU:
	case SIGXFSZ:
		return true;
	default:
		return false;
	}
}

static bool read_at(int descriptor, void *buffer, size_t size, uint64_t offset)
{
	return offset <= INT64_MAX - size &&
	       pread(descriptor, buffer, size, (off_t)offset) == (ssize_t)size;
}

// --- notes ------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *add_thread(struct core *core, const uint8_t *bytes, size_t size)
{
	struct elf_prstatus status;
	struct user_regs_struct registers;
	struct heapsnap_thread thread = { .state = HEAPSNAP_THREAD_STOPPED };

	if (size < sizeof(status) || core->threads.count >= MAX_THREADS)
		return NULL;
	memcpy(&status, bytes, sizeof(status));
	memcpy(&registers, status.pr_reg, sizeof(registers));
	heapsnap_fill_registers(&thread, &registers);
	thread.tid = (uint32_t)status.pr_pid;
	if (core->threads.count == 0)
		core->signal = ends_with_core(status.pr_cursig) ? status.pr_cursig : 0;
	return heap_array_append(&core->threads, thread);
}

// The last thread's, on machines where that is none of the registers.
static void note_thread_pointer(struct core *core, const uint8_t *bytes, size_t size)
{
	size_t count = core->threads.count;

	if (count > 0 && size >= sizeof(uint64_t))
		memcpy(&core->threads.items[count - 1].thread_pointer, bytes, sizeof(uint64_t));
}

static void note_process(struct core *core, const uint8_t *bytes, size_t size)
{
	struct elf_prpsinfo process;

	if (size < sizeof(process))
		return;
	memcpy(&process, bytes, sizeof(process));
	core->pid = (uint32_t)process.pr_pid;
	snprintf(core->program, sizeof(core->program), "%.16s", process.pr_fname);
	snprintf(core->command, sizeof(core->command), "%.80s", process.pr_psargs);
}

static void note_auxiliary(struct core *core, const uint8_t *bytes, size_t size)
{
	for (size_t at = 0; at + 16 <= size; at += 16) {
		uint64_t pair[2];

		memcpy(pair, bytes + at, sizeof(pair));
		if (pair[0] == AT_RANDOM)
			core->random = pair[1];
		else if (pair[0] == AT_ENTRY)
			core->entry = pair[1];
		else if (pair[0] == AT_PHDR)
			core->headers = pair[1];
		else if (pair[0] == AT_PHNUM)
			core->header_count = pair[1];
		else if (pair[0] == AT_EXECFN)
			core->program_name = pair[1];
	}
}

// A mapped file of the note NT_FILE.
struct mapped_file {
	uint64_t start, end, offset;
	const char *name;
};

struct mapped_files HEAP_ARRAY(struct mapped_file);

// Count and page size, then start, end and offset in pages of each, then their names.
HEAP_MUST_CHECK
static struct heap_error *note_files(struct core *core, const uint8_t *bytes, size_t size,
				     struct mapped_files *files)
{
	uint64_t head[2];
	const char *name, *end;

	if (size < sizeof(head) || core->names)
		return NULL;
	memcpy(head, bytes, sizeof(head));
	if (head[0] > (size - sizeof(head)) / 24)
		return NULL;

	size_t names = sizeof(head) + head[0] * 24;

	core->names = malloc(size - names + 1);
	if (!core->names)
		return heap_error_out_of_memory();
	memcpy(core->names, bytes + names, size - names);
	core->names[size - names] = '\0';
	name = core->names;
	end = core->names + (size - names);
	for (uint64_t i = 0; i < head[0] && name < end; i++) {
		uint64_t entry[3];
		struct mapped_file file;

		memcpy(entry, bytes + sizeof(head) + i * 24, sizeof(entry));
		file = (struct mapped_file){ entry[0], entry[1], entry[2] * head[1], name };
		if (file.start < file.end && file.start % PAGE == 0 && file.end % PAGE == 0)
			HEAP_TRY(heap_array_append(files, file));
		name += strlen(name) + 1;
	}
	return NULL;
}

// The first thread's is the one that ended the process.
static void note_cause(struct core *core, const uint8_t *bytes, size_t size)
{
	siginfo_t cause = { 0 };

	if (size < sizeof(cause.si_signo) || core->threads.count > 1)
		return;
	memcpy(&cause, bytes, size < sizeof(cause) ? size : sizeof(cause));
	core->signal = ends_with_core(cause.si_signo) ? cause.si_signo : 0;
	if (size >= sizeof(cause) && core->signal != 0)
		core->cause = cause;
}

HEAP_MUST_CHECK
static struct heap_error *read_note(struct core *core, uint32_t type, const uint8_t *bytes,
				    size_t size, struct mapped_files *files)
{
	switch (type) {
	case NT_PRSTATUS:
		return add_thread(core, bytes, size);
	case NT_ARM_TLS:
		note_thread_pointer(core, bytes, size);
		return NULL;
	case NT_PRPSINFO:
		note_process(core, bytes, size);
		return NULL;
	case NT_AUXV:
		note_auxiliary(core, bytes, size);
		return NULL;
	case NT_FILE:
		return note_files(core, bytes, size, files);
	case NT_SIGINFO:
		note_cause(core, bytes, size);
		return NULL;
	default:
		return NULL;
	}
}

// Bytes of a segment that the file has. No byte of it belongs to two segments: otherwise a small
// file might claim to be a huge process. @param left  what others have left; gets less
static uint64_t take_stored(const struct core *core, const Elf64_Phdr *segment, uint64_t *left)
{
	uint64_t size =
		segment->p_offset < core->file_size ? core->file_size - segment->p_offset : 0;

	if (size > segment->p_filesz)
		size = segment->p_filesz;
	if (size > *left)
		size = *left;
	*left -= size;
	return size;
}

static size_t align(size_t value)
{
	return (value + 3) & ~(size_t)3;
}

HEAP_MUST_CHECK
static struct heap_error *read_notes(struct core *core, const Elf64_Phdr *segment,
				     struct mapped_files *files)
{
	size_t size = take_stored(core, segment, &core->notes_left), at = 0;
	CLEANUP_FREE uint8_t *bytes = malloc(size + 1);

	if (!bytes)
		return heap_error_out_of_memory();
	if (!read_at(core->descriptor, bytes, size, segment->p_offset))
		return NULL;
	while (at + sizeof(Elf64_Nhdr) <= size) {
		Elf64_Nhdr header;
		size_t description;

		memcpy(&header, bytes + at, sizeof(header));
		description = at + sizeof(header) + align(header.n_namesz);
		if (header.n_namesz > size || header.n_descsz > size ||
		    description + header.n_descsz > size)
			break;
		HEAP_TRY(read_note(core, header.n_type, bytes + description, header.n_descsz,
				   files));
		at = description + align(header.n_descsz);
	}
	return NULL;
}

// --- segments -----------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *add_segment(struct core *core, const Elf64_Phdr *from)
{
	struct core_segment segment = {
		.start = from->p_vaddr,
		.end = from->p_vaddr + from->p_memsz,
		.offset = from->p_offset,
		.protection = (uint8_t)((from->p_flags & PF_R ? PROT_READ : 0) |
					(from->p_flags & PF_W ? PROT_WRITE : 0) |
					(from->p_flags & PF_X ? PROT_EXEC : 0)),
		.name = "",
		.file = -1,
	};
	uint64_t wanted = from->p_filesz < from->p_memsz ? from->p_filesz : from->p_memsz;

	// Addresses behind it are the kernel's, and too near the end of all addresses to add to them.
	if (from->p_memsz == 0 || segment.end < segment.start || segment.end > USER_END ||
	    segment.start % PAGE != 0 || segment.end % PAGE != 0)
		return NULL;
	segment.size = take_stored(core, from, &core->memory_left);
	if (segment.size > wanted)
		segment.size = wanted;
	segment.wanted = wanted;
	core->expected += wanted;
	core->missing += wanted - segment.size;
	if (segment.protection & PROT_WRITE) {
		core->written += wanted;
		core->left_out += from->p_memsz - wanted;
	}
	return heap_array_append(&core->segments, segment);
}

static int compare_segments(const void *left, const void *right)
{
	const struct core_segment *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

// Sorts them, and drops what overlaps.
static void sort_segments(struct core *core)
{
	struct core_segment *list = core->segments.items;
	size_t count = 0;
	uint64_t end = 0;

	if (core->segments.count > 0)
		qsort(list, core->segments.count, sizeof(*list), compare_segments);
	for (size_t i = 0; i < core->segments.count; i++) {
		if (list[i].start < end)
			continue;
		end = list[i].end;
		list[count++] = list[i];
	}
	core->segments.count = count;
}

static size_t first_behind(const struct core *core, uint64_t address)
{
	const struct core_segment *list = core->segments.items;

	return heap_partition_point(i, (size_t)0, core->segments.count, list[i].end <= address);
}

static int compare_files(const void *left, const void *right)
{
	const struct mapped_file *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

// Sorts them, and drops what overlaps.
static void sort_files(struct mapped_files *files)
{
	struct mapped_file *list = files->items;
	size_t count = 0;
	uint64_t end = 0;

	if (files->count > 0)
		qsort(list, files->count, sizeof(*list), compare_files);
	for (size_t i = 0; i < files->count; i++) {
		if (list[i].start < end)
			continue;
		end = list[i].end;
		list[count++] = list[i];
	}
	files->count = count;
}

// Regular files alone: others may wait for a writer, or act when they are opened.
static int open_mapped(const char *sysroot, const char *name)
{
	CLEANUP_FREE char *path = NULL;

	if (asprintf(&path, "%s%s", sysroot, name) < 0) {
		path = NULL;
		return -1;
	}
	return heap_regular_file_try(path);
}

// Opens the file of a segment. Those that are mapped several times mostly come one after the other.
// @param last  the segment for which a file was opened before; NULL: none was
HEAP_MUST_CHECK
static struct heap_error *open_segment(struct core *core, struct core_segment *segment,
				       const struct core_segment **last, const char *sysroot)
{
	if (*last && strcmp((*last)->name, segment->name) == 0) {
		segment->file = (*last)->file;
		return NULL;
	}
	if (core->files.count >= MAX_FILES)
		return NULL;
	*last = segment;
	segment->file = open_mapped(sysroot, segment->name);
	return segment->file >= 0 ? heap_array_append(&core->files, segment->file) : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *name_segments(struct core *core, const struct mapped_files *files,
					const char *sysroot)
{
	const struct core_segment *last = NULL;

	for (size_t i = 0; i < files->count; i++) {
		const struct mapped_file *file = &files->items[i];

		for (size_t at = first_behind(core, file->start);
		     at < core->segments.count && core->segments.items[at].start < file->end;
		     at++) {
			struct core_segment *segment = &core->segments.items[at];

			if (segment->start < file->start || segment->name[0] != '\0')
				continue;
			segment->name = file->name;
			segment->file_offset = file->offset + (segment->start - file->start);
			if (segment->size < segment->end - segment->start)
				HEAP_TRY(open_segment(core, segment, &last, sysroot));
		}
	}
	return NULL;
}

// Data that the process could write to are no longer what the file has.
static void note_lost(struct core *core)
{
	for (size_t i = 0; i < core->segments.count; i++) {
		struct core_segment *segment = &core->segments.items[i];

		if (segment->size >= segment->wanted ||
		    (segment->name[0] != '\0' && !(segment->protection & PROT_WRITE)))
			continue;
		segment->is_lost = true;
		segment->file = -1;
		core->lost += segment->wanted - segment->size;
	}
}

// gcore leaves out what it can read from files.
HEAP_MUST_CHECK
static struct heap_error *add_left_out(struct core *core, const struct mapped_files *files)
{
	const size_t count = core->segments.count;
	size_t at = 0;

	for (size_t i = 0; i < files->count && core->segments.count < MAX_SEGMENTS; i++) {
		const struct mapped_file *file = &files->items[i];
		struct core_segment segment = {
			.start = file->start,
			.end = file->end,
			.protection = PROT_READ | PROT_EXEC,
			.name = "",
			.file = -1,
		};

		while (at < count && core->segments.items[at].end <= file->start)
			at++;
		if (at == count || core->segments.items[at].start >= file->end)
			HEAP_TRY(heap_array_append(&core->segments, segment));
	}
	sort_segments(core);
	return NULL;
}

// --- all of it ----------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *read_headers(struct core *core, const Elf64_Ehdr *header,
				       struct mapped_files *files)
{
	struct stat status;
	uint64_t count = header->e_phnum;

	if (fstat(core->descriptor, &status) != 0)
		return heap_error_create_system("the core file");
	core->file_size = core->memory_left = (uint64_t)status.st_size;
	core->notes_left = MAX_NOTES;
	if (count == PN_XNUM) {
		Elf64_Shdr first;

		if (!read_at(core->descriptor, &first, sizeof(first), header->e_shoff))
			return heap_error_create(HEAP_ERROR_FORMAT, "the core file is cut short");
		count = first.sh_info;
	}
	for (uint64_t i = 0; i < count && i < MAX_SEGMENTS; i++) {
		Elf64_Phdr segment;

		if (!read_at(core->descriptor, &segment, sizeof(segment),
			     header->e_phoff + i * sizeof(segment)))
			return heap_error_create(HEAP_ERROR_FORMAT, "the core file is cut short");
		if (segment.p_type == PT_LOAD)
			HEAP_TRY(add_segment(core, &segment));
		else if (segment.p_type == PT_NOTE)
			HEAP_TRY(read_notes(core, &segment, files));
	}
	return NULL;
}

struct links {
	struct core *core;
	struct mapped_files *files;
};

static size_t read_linked(const void *context, uint64_t address, void *buffer, size_t size)
{
	return core_read(context, address, buffer, size);
}

HEAP_MUST_CHECK
static struct heap_error *add_link(void *context, const char *name, uint64_t start, uint64_t end,
				   uint64_t offset)
{
	const struct links *links = context;
	struct core *core = links->core;
	size_t count = core->found_names.count;

	if (start >= end || end > USER_END)
		return NULL;
	if (count == 0 || strcmp(core->found_names.items[count - 1], name) != 0) {
		CLEANUP_FREE char *copy = strdup(name);

		if (!copy)
			return heap_error_out_of_memory();
		HEAP_TRY(heap_array_append(&core->found_names, copy));
		copy = NULL;
	}
	return heap_array_append(
		links->files,
		(struct mapped_file){ start, end, offset,
				      core->found_names.items[core->found_names.count - 1] });
}

// Where the core file does not name its mapped files.
HEAP_MUST_CHECK
static struct heap_error *find_links(struct core *core, const char *sysroot,
				     struct mapped_files *files)
{
	struct links links = { core, files };
	const struct core_links_process process = {
		.read = read_linked,
		.context = core,
		.headers = core->headers,
		.header_count = core->header_count,
		.program_name = core->program_name,
	};

	return core->names ? NULL : core_links_find(&process, sysroot, add_link, &links);
}

static const char *machine_name(unsigned machine)
{
	switch (machine) {
	case EM_386:
		return "i386";
	case EM_ARM:
		return "arm";
	case EM_X86_64:
		return "x86-64";
	case EM_AARCH64:
		return "aarch64";
	default:
		return "another machine";
	}
}

HEAP_MUST_CHECK
static struct heap_error *check_header(int file, Elf64_Ehdr *header, const char *path)
{
	memset(header, 0, sizeof(*header));
	// The fields that all kinds have in common come first.
	if (!read_at(file, header, offsetof(Elf64_Ehdr, e_version), 0))
		return heap_error_create(HEAP_ERROR_FORMAT, "%s: no core file: it has %s bytes",
					 path, lseek(file, 0, SEEK_END) == 0 ? "no" : "too few");
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_type != ET_CORE)
		return heap_error_create(HEAP_ERROR_FORMAT, "%s: no core file", path);
	if (header->e_machine != MACHINE || header->e_ident[EI_CLASS] != ELFCLASS64)
		return heap_error_create(HEAP_ERROR_FORMAT,
					 "%s: a core file of %s, of %d bits; this heapsnap reads "
					 "those of " MACHINE_NAME ", of 64 bits",
					 path, machine_name(header->e_machine),
					 header->e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32);
	if (!read_at(file, header, sizeof(*header), 0))
		return heap_error_create(HEAP_ERROR_FORMAT, "%s: the core file is cut short", path);
	return header->e_phentsize == sizeof(Elf64_Phdr)
		       ? NULL
		       : heap_error_create(HEAP_ERROR_FORMAT, "%s: no core file", path);
}

struct heap_error *core_open(struct core *core, const char *path, const char *sysroot)
{
	CLEANUP_ARRAY struct mapped_files files = { 0 };
	Elf64_Ehdr header;

	// A file that heapsnap has unpacked, or read from a pipe, has no name that says anything.
	const char *name = strncmp(path, "/dev/fd/", 8) == 0 ? "the input" : path;

	*core = (struct core){ .descriptor = open(path, O_RDONLY | O_CLOEXEC) };
	if (core->descriptor < 0)
		return heap_error_create_system("%s", name);
	HEAP_TRY(check_header(core->descriptor, &header, name));
	HEAP_TRY(heap_error_within(read_headers(core, &header, &files), "%s", name));
	sort_segments(core);
	HEAP_TRY(find_links(core, sysroot, &files));
	sort_files(&files);
	HEAP_TRY(add_left_out(core, &files));
	HEAP_TRY(name_segments(core, &files, sysroot));
	note_lost(core);
	return NULL;
}

void core_close(struct core *core)
{
	for (size_t i = 0; i < core->files.count; i++)
		cleanup_close(&core->files.items[i]);
	heap_array_deinit(&core->files);
	heap_array_deinit(&core->segments);
	heap_array_deinit(&core->threads);
	free(core->names);
	for (size_t i = 0; i < core->found_names.count; i++)
		free(core->found_names.items[i]);
	heap_array_deinit(&core->found_names);
	cleanup_close(&core->descriptor);
	*core = (struct core){ .descriptor = -1 };
}

size_t core_read(const struct core *core, uint64_t address, void *buffer, size_t size)
{
	size_t at = first_behind(core, address);
	const struct core_segment *segment;
	uint64_t offset, left;
	ssize_t got;

	if (at == core->segments.count || core->segments.items[at].start > address)
		return 0;
	segment = &core->segments.items[at];
	offset = address - segment->start;
	left = segment->end - address;
	if (offset < segment->size) {
		left = segment->size - offset;
		got = pread(core->descriptor, buffer, size < left ? size : left,
			    (off_t)(segment->offset + offset));
	} else {
		got = segment->file < 0 ? -1
					: pread(segment->file, buffer, size < left ? size : left,
						(off_t)(segment->file_offset + offset));
	}
	return got < 0 ? 0 : (size_t)got;
}

bool core_is_lost(const struct core *core, uint64_t address)
{
	size_t at = first_behind(core, address);
	const struct core_segment *segment = &core->segments.items[at];

	return at < core->segments.count && segment->start <= address && segment->is_lost &&
	       address - segment->start >= segment->size;
}

// The next run of a file's bytes that are there, from an offset on: neither beyond its end, nor zeros
// that it does not keep. @param until  gets where the run ends. @return UINT64_MAX: there is none
static uint64_t next_data(int file, uint64_t offset, uint64_t *until)
{
	off_t data = offset <= INT64_MAX ? lseek(file, (off_t)offset, SEEK_DATA) : -1;
	off_t hole = data < 0 ? -1 : lseek(file, data, SEEK_HOLE);

	*until = hole > data ? (uint64_t)hole : UINT64_MAX;
	return data < 0 ? UINT64_MAX : (uint64_t)data;
}

static uint64_t later(uint64_t address, uint64_t distance, uint64_t end)
{
	return distance < end - address ? address + distance : end;
}

uint64_t core_find_run(const struct core *core, uint64_t address, uint64_t end, bool *is_there)
{
	size_t at = first_behind(core, address);
	const struct core_segment *segment = &core->segments.items[at];
	uint64_t from = 0, until, data;
	int file = core->descriptor;

	*is_there = false;
	if (at == core->segments.count || segment->start > address)
		return end;
	if (end > segment->end)
		end = segment->end;
	if (address - segment->start < segment->size) {
		end = later(segment->start, (segment->size + PAGE - 1) & ~(uint64_t)(PAGE - 1),
			    end);
		from = segment->offset + (address - segment->start);
	} else {
		file = segment->file;
		from = segment->file_offset + (address - segment->start);
	}
	data = file < 0 ? UINT64_MAX : next_data(file, from, &until);
	if (data == UINT64_MAX)
		return end;
	*is_there = data - from < PAGE;
	return *is_there ? later(address, (until - from + PAGE - 1) & ~(uint64_t)(PAGE - 1), end)
			 : later(address, (data - from) & ~(uint64_t)(PAGE - 1), end);
}
