// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/executable.h"

#include "dumper/base/sanitizers.h"
#include "lib/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
	SCRIPT_LINE = 256, // BINPRM_BUF_SIZE of the kernel, which reads no more of the first line
	SCRIPT_DEPTH = 5,  // interpreters of interpreters, beyond which the kernel gives ELOOP
};

// The machine that this program is built for, as the header of an ELF file has it.
#if defined(__x86_64__)
static const int own_machine = EM_X86_64;
#else
static const int own_machine = EM_AARCH64;
#endif

// --- what a process runs -----------------------------------------------------

enum executable_kind executable_kind_of(const struct process *process)
{
	CLEANUP_CLOSE int file = openat(process->folder, "exe", O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr header;

	if (file < 0 || read(file, &header, sizeof(header)) != sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return EXECUTABLE_OWN;
	return header.e_ident[EI_CLASS] != ELFCLASS64 ? EXECUTABLE_NARROW
	       : header.e_machine != own_machine      ? EXECUTABLE_FOREIGN
						      : EXECUTABLE_OWN;
}

// --- finding -----------------------------------------------------------------

static bool is_program(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

// Looks through PATH. @return malloc'd; NULL if there is none
static char *search(const char *name)
{
	const char *at = getenv("PATH");

	for (at = at ? at : "/bin:/usr/bin"; at; at = *at ? at + 1 : NULL) {
		size_t length = strcspn(at, ":");
		char *path = NULL;

		if (asprintf(&path, "%.*s/%s", length > 0 ? (int)length : 1, length > 0 ? at : ".",
			     name) < 0)
			return NULL;
		if (is_program(path))
			return path;
		free(path);
		at += length;
	}
	return NULL;
}

// --- scripts -----------------------------------------------------------------

struct shebang {
	char interpreter[SCRIPT_LINE];
	char argument[SCRIPT_LINE]; // all that follows, "" if nothing does
};

// Reads "#! INTERPRETER ARGUMENT" as the kernel does: blanks around, one argument.
static bool read_shebang(const char *path, struct shebang *result)
{
	char line[SCRIPT_LINE + 1];
	CLEANUP_CLOSE int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t size = file < 0 ? -1 : read(file, line, SCRIPT_LINE);

	if (size < 2 || memcmp(line, "#!", 2) != 0)
		return false;
	line[size] = '\0';
	line[strcspn(line, "\n")] = '\0';

	char *at = line + 2 + strspn(line + 2, " \t");
	size_t length = strcspn(at, " \t");
	char *end = at + strlen(at);

	memcpy(result->interpreter, at, length);
	result->interpreter[length] = '\0';
	at += length + strspn(at + length, " \t");
	while (end > at && strchr(" \t", end[-1]))
		end--;
	*end = '\0';
	strcpy(result->argument, at);
	return length > 0;
}

// The program that "env ARGUMENT" executes. @return malloc'd; NULL if that is not clear
static char *program_of_env(const char *argument)
{
	char word[SCRIPT_LINE];

	if (strncmp(argument, "-S", 2) == 0)
		argument += 2;
	for (;;) {
		argument += strspn(argument, " \t");

		size_t length = strcspn(argument, " \t");

		if (length == 0 || *argument == '-')
			return NULL;
		memcpy(word, argument, length);
		word[length] = '\0';
		if (!strchr(word, '='))
			return !strchr(word, '/') ? search(word)
			       : is_program(word) ? strdup(word)
						  : NULL;
		argument += length;
	}
}

static bool is_named(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return strcmp(slash ? slash + 1 : path, name) == 0;
}

// Replaces a script by its interpreter, until that is no script.
HEAP_MUST_CHECK
static struct heap_error *follow_scripts(struct executable *executable)
{
	struct shebang shebang;

	for (int depth = 0; read_shebang(executable->file, &shebang); depth++) {
		char *next = NULL;

		if (depth == SCRIPT_DEPTH)
			return heap_error_create(HEAP_ERROR_SYSTEM,
						 "%s: interpreters of scripts are scripts, %d deep",
						 executable->path, SCRIPT_DEPTH);
		if (!is_program(shebang.interpreter))
			return heap_error_create(HEAP_ERROR_ABSENT,
						 "%s: its interpreter %s is no program",
						 executable->path, shebang.interpreter);
		if (is_named(shebang.interpreter, "env"))
			next = program_of_env(shebang.argument);
		if (!next)
			next = strdup(shebang.interpreter);
		if (!next)
			return heap_error_out_of_memory();
		free(executable->file);
		executable->file = next;
	}
	return NULL;
}

// Says why a file is no program that this user can run.
HEAP_MUST_CHECK
static struct heap_error *refuse(const char *name, const char *path)
{
	struct stat status;

	if (stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) != 0)
		return heap_error_create(HEAP_ERROR_ABSENT, "%s: cannot be run: %s", name,
					 strerror(errno));
	return heap_error_create(HEAP_ERROR_ABSENT, "%s: not a program", name);
}

struct heap_error *executable_find(const char *name, struct executable *result)
{
	memset(result, 0, sizeof(*result));
	if (!strchr(name, '/'))
		result->path = search(name);
	else if (access(name, F_OK) == 0)
		result->path = strdup(name);
	if (!result->path)
		return heap_error_create(HEAP_ERROR_ABSENT, "%s: no such program", name);
	if (!is_program(result->path))
		return refuse(name, result->path);
	result->file = strdup(result->path);
	return result->file ? follow_scripts(result) : heap_error_out_of_memory();
}

void executable_deinit(struct executable *executable)
{
	free(executable->path);
	free(executable->file);
}

// --- ELF files ---------------------------------------------------------------

// The parts of a program that the dynamic linker reads.
struct image {
	Elf *elf;
	GElf_Ehdr header;
	char interpreter[PATH_MAX]; // of PT_INTERP; "" if there is none
	bool is_go;
	bool is_loader;        // the dynamic linker itself, run as a program
	const char *sanitizer; // by name; NULL: none
};

static bool begins(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static const char *sanitizer_of_library(const char *name)
{
	for (size_t i = 0; i < SANITIZER_COUNT; i++) {
		if (begins(name, sanitizers[i].library) ||
		    begins(name, sanitizers[i].other_library))
			return sanitizers[i].name;
	}
	return NULL;
}

static void note_symbol(struct image *image, const char *name)
{
	for (size_t i = 0; i < SANITIZER_COUNT; i++) {
		if (strcmp(name, sanitizers[i].symbol) == 0)
			image->sanitizer = sanitizers[i].name;
	}
}

static void read_symbols(struct image *image, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *name = elf_strptr(image->elf, header->sh_link, symbol.st_name);

		if (name && *name)
			note_symbol(image, name);
	}
}

static void read_dynamic(struct image *image, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Dyn entry;

	for (int i = 0; data && gelf_getdyn(data, i, &entry); i++) {
		const char *name = NULL;

		if (entry.d_tag == DT_NEEDED || entry.d_tag == DT_SONAME)
			name = elf_strptr(image->elf, header->sh_link, entry.d_un.d_val);
		if (name && entry.d_tag == DT_NEEDED && sanitizer_of_library(name))
			image->sanitizer = sanitizer_of_library(name);
		if (name && entry.d_tag == DT_SONAME)
			image->is_loader = begins(name, "ld-linux") || begins(name, "ld-musl");
	}
}

static void read_sections(struct image *image)
{
	Elf_Scn *section = NULL;
	size_t names = 0;
	GElf_Shdr header;

	elf_getshdrstrndx(image->elf, &names);
	while ((section = elf_nextscn(image->elf, section)) && gelf_getshdr(section, &header)) {
		const char *name = elf_strptr(image->elf, names, header.sh_name);

		if (name && strcmp(name, ".go.buildinfo") == 0)
			image->is_go = true;
		if (header.sh_type == SHT_DYNSYM)
			read_symbols(image, section, &header);
		else if (header.sh_type == SHT_DYNAMIC)
			read_dynamic(image, section, &header);
	}
}

static void read_interpreter(struct image *image)
{
	size_t count = 0;
	GElf_Phdr segment;

	elf_getphdrnum(image->elf, &count);
	for (size_t i = 0; i < count && gelf_getphdr(image->elf, (int)i, &segment); i++) {
		Elf_Data *data;

		if (segment.p_type != PT_INTERP)
			continue;
		data = elf_getdata_rawchunk(image->elf, (int64_t)segment.p_offset, segment.p_filesz,
					    ELF_T_BYTE);
		if (data && data->d_size > 0)
			snprintf(image->interpreter, sizeof(image->interpreter), "%.*s",
				 (int)data->d_size, (const char *)data->d_buf);
	}
}

static void end_elf(Elf **elf)
{
	elf_end(*elf);
}

// --- obstacles ---------------------------------------------------------------

// True if the kernel has the dynamic linker ignore LD_PRELOAD because of the file's
// capabilities (capabilities(7)): not for root, who has them anyway.
static bool gains_capabilities(const char *file)
{
	return getuid() != 0 && getxattr(file, "security.capability", NULL, 0) > 0;
}

static bool gains_identity(const char *file)
{
	struct stat status;

	return stat(file, &status) == 0 &&
	       (status.st_mode & S_ISUID || (status.st_mode & S_ISGID && status.st_mode & S_IXGRP));
}

// Programs that start others where our library cannot follow.
HEAP_MUST_CHECK
static struct heap_error *check_sandbox(const struct executable *executable, const char **remark)
{
	CLEANUP_FREE char *path = realpath(executable->path, NULL);

	if (path && is_named(path, "snap"))
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "%s: a snap is started by a set-user-id program, which "
					 "takes no library from "
					 "its user",
					 executable->path);
	if (path && (strstr(path, "/flatpak/exports/bin/") || is_named(path, "flatpak") ||
		     is_named(path, "bwrap")))
		*remark = "starts its program in a sandbox, where the library has to be, too";
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *check_preloaded(void)
{
	CLEANUP_FREE char *preloaded = strdup(getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "");
	char *rest = preloaded, *path;

	while ((path = strsep(&rest, " :"))) {
		const char *slash = strrchr(path, '/');
		const char *sanitizer = sanitizer_of_library(slash ? slash + 1 : path);

		if (sanitizer)
			return heap_error_create(
				HEAP_ERROR_ARGUMENT,
				"%s in LD_PRELOAD: %s has a malloc of its own, and "
				"ends a program that has another",
				path, sanitizer);
	}
	return NULL;
}

// The name of a dynamic linker tells the libc that it belongs to.
static bool is_other_libc(const char *interpreter)
{
#ifdef __GLIBC__
	return strstr(interpreter, "/ld-musl");
#else
	return !strstr(interpreter, "/ld-musl");
#endif
}

HEAP_MUST_CHECK
static struct heap_error *check_image(const char *file, const struct image *image)
{
	enum heap_error_code code = HEAP_ERROR_ARGUMENT;

	if (image->header.e_ident[EI_CLASS] != ELFCLASS64)
		return heap_error_create(code, "%s: not a 64-bit program", file);
	if (image->header.e_machine != own_machine)
		return heap_error_create(code, "%s: not a program for this machine's processor",
					 file);
	if (image->is_loader)
		return NULL;
	if (!*image->interpreter)
		return heap_error_create(
			code,
			"%s: statically linked, so no library can be loaded into it; heapsnap "
			"attach takes one that runs",
			file);
	if (access(image->interpreter, F_OK) != 0)
		return heap_error_create(code, "%s: its dynamic linker %s is missing", file,
					 image->interpreter);
	if (is_other_libc(image->interpreter))
		return heap_error_create(
			code,
			"%s: its libc is not the library's (its dynamic linker is %s); heapsnap "
			"attach takes one that runs",
			file, image->interpreter);
	if (image->sanitizer)
		return heap_error_create(code,
					 "%s: built with %s, which has a malloc of its own; build "
					 "it without",
					 file, image->sanitizer);
	return NULL;
}

static const char *remark_on(const struct image *image)
{
	const char *signal = getenv("HEAPSNAP_SIGNAL");

	if (image->is_go && (!signal || strcmp(signal, "CONT") != 0))
		return "Go's runtime handles nearly all signals itself, QUIT among them; "
		       "--signal CONT is left alone";
	return NULL;
}

// Segments without which the kernel starts no program, or one that ends with SIGBUS.
static bool is_needed(const GElf_Phdr *segment)
{
	return segment->p_type == PT_INTERP || segment->p_type == PT_LOAD;
}

// True if the file ends before its program headers, or before a segment that it needs. Without the
// name of its dynamic linker it would be taken for statically linked.
static bool is_cut_short(const struct image *image, int file)
{
	const GElf_Ehdr *header = &image->header;
	GElf_Phdr segment;
	struct stat status;

	if (fstat(file, &status) != 0)
		return false;

	uint64_t size = (uint64_t)status.st_size;
	uint64_t headers = (uint64_t)header->e_phnum * header->e_phentsize;

	if (headers > size || header->e_phoff > size - headers)
		return true;
	for (int i = 0; i < header->e_phnum && gelf_getphdr(image->elf, i, &segment); i++) {
		if (is_needed(&segment) &&
		    (segment.p_filesz > size || segment.p_offset > size - segment.p_filesz))
			return true;
	}
	return false;
}

HEAP_MUST_CHECK
static struct heap_error *check_file(const char *file, const char **remark)
{
	CLEANUP_CLOSE int descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	CLEANUP(end_elf) Elf *elf = NULL;
	struct image image = { 0 };

	if (gains_identity(file))
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "%s: a set-user-id program takes no library from its user",
					 file);
	if (gains_capabilities(file))
		return heap_error_create(
			HEAP_ERROR_ARGUMENT,
			"%s: a program with file capabilities (see getcap) takes no "
			"library from its user, unless that is root",
			file);
	// A file that is not readable, or not ELF, is left to the kernel.
	if (descriptor < 0 || elf_version(EV_CURRENT) == EV_NONE)
		return NULL;
	elf = elf_begin(descriptor, ELF_C_READ_MMAP, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &image.header))
		return NULL;
	image.elf = elf;
	if (is_cut_short(&image, descriptor))
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "%s: cut short, so it is no whole program", file);
	read_interpreter(&image);
	read_sections(&image);
	HEAP_TRY(check_image(file, &image));
	*remark = remark_on(&image);
	return NULL;
}

struct heap_error *executable_check(const struct executable *executable, const char **remark)
{
	struct heap_error *error = check_preloaded();

	*remark = NULL;
	if (!error)
		error = check_file(executable->file, remark);
	if (error && strcmp(executable->path, executable->file) != 0)
		error = heap_error_within(error, "%s", executable->path);
	return error ? error : check_sandbox(executable, remark);
}
