// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/image/image.h"

#include "dumper/base/page_scan.h"
#include "dumper/writer/scan/image/core_file.h"
#include "dumper/writer/scan/image/image_parts.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/own_proc.h"
#include "lib/base/path.h"
#include "lib/base/search.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>

enum {
	PAGE = 4096,       // larger pages are multiples
	PIECE = 128 << 10, // that is read at once; on a stack, so that it is not zeroed each time
	MAX_UNREAD = 1 << 20,
	MAX_MODULE_MAPPINGS = 64,
};

struct unread_span {
	uint64_t start, end;
};

struct unread_spans HEAP_ARRAY(struct unread_span);

// Pages that could not be read; threads visit memory side by side.
struct image_unread {
	pthread_mutex_t lock;
	struct HEAP_ARRAY(uint64_t) pages; // in any order, some twice
	struct unread_spans spans;         // beside them
};

HEAP_MUST_CHECK
static struct heap_error *read_whole_file(const char *path, char **result)
{
	CLEANUP_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP_FREE char *text = NULL;
	size_t size = 0, capacity = 0;

	if (descriptor < 0)
		return heap_error_create_system("%s", path);
	for (;;) {
		HEAP_TRY(heap_reserve(text, capacity, size + 65536));

		ssize_t got = read(descriptor, text + size, capacity - size - 1);

		if (got < 0)
			return heap_error_create_system("%s", path);
		if (got == 0)
			break;
		size += got;
	}
	text[size] = '\0';
	*result = keep(text);
	return NULL;
}

// True for huge pages of no file (MAP_HUGETLB), which have the name of one, and for those of the file system that is
// mounted for them, which libraries take for the heap.
static bool is_of_huge_pages(const char *name)
{
	return strcmp(name, "/anon_hugepage") == 0 || strncmp(name, "/anon_hugepage ", 15) == 0 ||
	       strncmp(name, "/dev/hugepages/", 15) == 0;
}

bool image_has_huge_pages(const struct image_mapping *mapping)
{
	return !mapping->shared && is_of_huge_pages(mapping->name);
}

static enum image_kind kind_of(const char *name, bool shared)
{
	if (name[0] == '\0' || strncmp(name, "[anon:", 6) == 0 ||
	    (!shared && is_of_huge_pages(name)))
		return IMAGE_ANONYMOUS;
	if (strcmp(name, "[heap]") == 0)
		return IMAGE_HEAP;
	if (strcmp(name, "[stack]") == 0)
		return IMAGE_STACK;
	if (name[0] == '[')
		return IMAGE_SPECIAL;
	// Devices may act when they are read; shared memory that lives there does not.
	if (strncmp(name, "/dev/", 5) == 0 && strncmp(name, "/dev/shm/", 9) != 0 &&
	    strncmp(name, "/dev/zero", 9) != 0)
		return IMAGE_SPECIAL;
	return IMAGE_FILE;
}

static bool parse_line(char *line, struct image_mapping *result)
{
	char permissions[5];
	unsigned major, minor;
	int name_at = -1;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &result->start, &result->end, permissions, &result->offset, &major, &minor,
		   &result->inode, &name_at) < 7)
		return false;
	result->name = "";
	if (name_at >= 0) {
		heap_path_of_maps(line + name_at);
		result->name = line + name_at;
	}
	result->protection = (permissions[0] == 'r' ? PROT_READ : 0) |
			     (permissions[1] == 'w' ? PROT_WRITE : 0) |
			     (permissions[2] == 'x' ? PROT_EXEC : 0);
	result->shared = permissions[3] == 's';
	result->kind = kind_of(result->name, result->shared);
	return true;
}

HEAP_MUST_CHECK
static struct heap_error *parse_maps(struct image *image)
{
	size_t lines = 0;

	for (const char *at = image->maps; (at = strchr(at, '\n')); at++)
		lines++;
	image->mappings = calloc(lines + 1, sizeof(*image->mappings));
	if (!image->mappings)
		return heap_error_out_of_memory();

	char *rest = image->maps;

	for (char *line; (line = strsep(&rest, "\n"));) {
		if (parse_line(line, &image->mappings[image->mapping_count]))
			image->mapping_count++;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *init_unread(struct image *image)
{
	image->unread = calloc(1, sizeof(*image->unread));
	if (!image->unread)
		return heap_error_out_of_memory();
	pthread_mutex_init(&image->unread->lock, NULL);
	return NULL;
}

// A core file names no stack: the kernel has put random bytes on that of the main thread.
static enum image_kind kind_in_core(const struct core *core, const struct core_segment *segment)
{
	return segment->name[0] == '\0' && core->random >= segment->start &&
			       core->random < segment->end
		       ? IMAGE_STACK
		       : kind_of(segment->name, false);
}

struct heap_error *image_init_core(struct image *image, const struct core *core)
{
	*image = (struct image){
		.memory = -1,
		.pagemap = -1,
		.root = "",
		.core = core,
		.random = core->random,
		.entry = core->entry,
		.mappings = calloc(core->segments.count + 1, sizeof(*image->mappings)),
		.mapping_count = core->segments.count,
	};
	if (!image->mappings)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < core->segments.count; i++) {
		const struct core_segment *segment = &core->segments.items[i];

		image->mappings[i] = (struct image_mapping){
			.start = segment->start,
			.end = segment->end,
			.protection = segment->protection,
			.kind = (uint8_t)kind_in_core(core, segment),
			.offset = segment->file_offset,
			.name = segment->name,
		};
	}
	return init_unread(image);
}

// Reads the words that the kernel told the process at its start.
static void read_auxiliary_vector(struct image *image)
{
	char path[64];
	uint64_t pair[2];

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)image->pid);

	CLEANUP_CLOSE int file = open(path, O_RDONLY | O_CLOEXEC);

	while (file >= 0 && read(file, pair, sizeof(pair)) == (ssize_t)sizeof(pair)) {
		if (pair[0] == AT_RANDOM)
			image->random = pair[1];
		else if (pair[0] == AT_ENTRY)
			image->entry = pair[1];
	}
}

struct heap_error *image_init(struct image *image, pid_t pid)
{
	char path[64];

	*image = (struct image){ .pid = pid, .memory = -1, .pagemap = -1, .root = "" };
	HEAP_TRY(heap_own_proc_check());
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	HEAP_TRY(read_whole_file(path, &image->maps));
	HEAP_TRY(parse_maps(image));
	HEAP_TRY(init_unread(image));
	read_auxiliary_vector(image);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	image->memory = open(path, O_RDONLY | O_CLOEXEC);
	image->page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	image->pagemap = open(path, O_RDONLY | O_CLOEXEC);
	return image_parts_join(pid, image->pagemap, image->mappings, &image->mapping_count,
				&image->parts);
}

void image_deinit(struct image *image)
{
	cleanup_close(&image->memory);
	cleanup_close(&image->pagemap);
	if (image->unread) {
		heap_array_deinit(&image->unread->pages);
		heap_array_deinit(&image->unread->spans);
	}
	free(image->unread);
	image_parts_destroy(image->parts);
	free(image->mappings);
	free(image->maps);
}

// How much of it could be read, from the start on. process_vm_readv(2) pins the pages that it
// reads, for which the kernel (since 5.19) first makes a copy of each that the frozen copy has
// in common with the program: all the memory once more, and huge pages in pieces.
static size_t read_some(const struct image *image, uint64_t address, void *buffer, size_t size)
{
	struct iovec local = { buffer, size };
	struct iovec remote = { (void *)(uintptr_t)address, size };
	ssize_t got = -1;

	if (image->core)
		return core_read(image->core, address, buffer, size);
	if (image->memory >= 0)
		got = pread(image->memory, buffer, size, (off_t)address);
	else
		got = process_vm_readv(image->pid, &local, 1, &remote, 1, 0);
	return got < 0 ? 0 : (size_t)got;
}

bool image_read(const struct image *image, uint64_t address, void *buffer, size_t size)
{
	return read_some(image, address, buffer, size) == size;
}

// Notes a page. Without room for it, it is still read as zeros.
static void note_unread(struct image_unread *unread, uint64_t page)
{
	pthread_mutex_lock(&unread->lock);
	if (unread->pages.count < MAX_UNREAD)
		heap_error_destroy(heap_array_append(&unread->pages, page));
	pthread_mutex_unlock(&unread->lock);
}

// @param unread  gets the pages that cannot be read; NULL: they are not noted
static void read_padded(const struct image *image, uint64_t address, void *buffer, size_t size,
			struct image_unread *unread)
{
	uint8_t *at = buffer;

	while (size > 0) {
		size_t got = read_some(image, address, at, size);

		if (got == 0) {
			if (unread)
				note_unread(unread, address - address % PAGE);
			got = PAGE - address % PAGE;
			if (got > size)
				got = size;
			memset(at, 0, got);
		}
		at += got;
		address += got;
		size -= got;
	}
}

void image_read_padded(const struct image *image, uint64_t address, void *buffer, size_t size)
{
	read_padded(image, address, buffer, size, NULL);
}

void image_read_string(const struct image *image, uint64_t address, char *buffer, size_t size)
{
	size_t got = read_some(image, address, buffer, size - 1);

	buffer[got] = '\0';
}

// The first mapping that ends behind an address; mapping_count if there is none.
static size_t first_behind(const struct image *image, uint64_t address)
{
	return heap_partition_point(i, 0, image->mapping_count, image->mappings[i].end <= address);
}

const struct image_mapping *image_find(const struct image *image, uint64_t address)
{
	size_t at = first_behind(image, address);

	if (at == image->mapping_count || image->mappings[at].start > address)
		return NULL;
	return &image->mappings[at];
}

bool image_is_code(const struct image *image, uint64_t address)
{
	const struct image_mapping *mapping = image_find(image, address);

	return mapping && (mapping->protection & PROT_EXEC);
}

// True if a mapped file is the program or a library, and not, say, a runtime's heap that was dumped before.
// Its beginning is mapped, too, before this.
static bool is_of_module(const struct image *image, size_t number)
{
	const struct image_mapping *mapping = &image->mappings[number];
	const struct image_mapping *program = image_find(image, image->entry);
	char magic[SELFMAG];

	for (size_t i = number + 1; i-- > 0 && number - i < MAX_MODULE_MAPPINGS;) {
		const struct image_mapping *other = &image->mappings[i];

		if (other->kind == IMAGE_FILE && other->offset == 0 &&
		    strcmp(other->name, mapping->name) == 0)
			return !image_read(image, other->start, magic, sizeof(magic)) ||
			       memcmp(magic, ELFMAG, SELFMAG) == 0;
	}
	return !program || strcmp(program->name, mapping->name) == 0;
}

uint64_t image_data_end(const struct image *image, size_t mapping)
{
	const struct image_mapping *data = &image->mappings[mapping];
	uint64_t end = data->end;

	if (data->kind != IMAGE_FILE || data->shared || !(data->protection & PROT_WRITE) ||
	    !is_of_module(image, mapping))
		return 0;
	for (size_t i = mapping + 1; i < image->mapping_count; i++) {
		const struct image_mapping *zeros = &image->mappings[i];

		if (zeros->start != end || !image_is_private_memory(zeros))
			break;
		end = zeros->end;
	}
	return end;
}

uint64_t image_written_bytes(const struct image *image, const struct image_mapping *mapping)
{
	const uint64_t size = image->page_size;
	uint64_t entries[512], bytes = 0;

	if (image->pagemap < 0)
		return 0;
	for (uint64_t page = mapping->start / size; page < mapping->end / size;) {
		uint64_t left = mapping->end / size - page;
		size_t wanted = left < sizeof(entries) / 8 ? left : sizeof(entries) / 8;
		ssize_t got = pread(image->pagemap, entries, wanted * 8, (off_t)(page * 8));

		if (got < 8)
			break;
		for (ssize_t i = 0; i < got / 8; i++, page++) {
			if ((entries[i] & IMAGE_PAGE_TOUCHED) && !(entries[i] & IMAGE_PAGE_OF_FILE))
				bytes += size;
		}
	}
	return bytes;
}

bool image_is_near(const struct image *image, uint64_t address, uint64_t distance)
{
	size_t at = first_behind(image, address);

	if (at > 0 && address - image->mappings[at - 1].end < distance)
		return true;
	return at < image->mapping_count && (image->mappings[at].start <= address ||
					     image->mappings[at].start - address < distance);
}

// The first page from an address on that may have been touched, by the kernel's page tables: mappings of
// terabytes, such as the shadow of AddressSanitizer, have an entry for each page but few tables. Before
// Linux 6.7 by the parts that such a mapping was divided into; or else the address itself.
static uint64_t find_touched(const struct image *image, uint64_t start, uint64_t end)
{
	struct heapsnap_page_region found = { 0 };
	struct heapsnap_page_scan scan = heapsnap_page_scan(start, end, &found);
	int count;

	if (image->parts) {
		const struct image_mapping *mapping = image_find(image, start);

		return mapping && mapping->divided ? image_parts_skip(image->parts, start, end)
						   : start;
	}
	count = ioctl(image->pagemap, HEAPSNAP_PAGE_SCAN, &scan);
	if (count < 0)
		return start;
	return count == 0 ? end : found.start;
}

// The end of the run of pages from `start` on that are alike, and whether they were touched.
static uint64_t find_run(const struct image *image, uint64_t start, uint64_t end, bool *touched)
{
	uint64_t entries[512];
	uint64_t size = image->page_size;
	uint64_t page = start / size;
	uint64_t last = (end + size - 1) / size;
	size_t at_once = PIECE / size; // mostly these will do; runs never touched are long
	bool first = true;

	*touched = true;
	while (page < last) {
		size_t wanted = last - page < at_once ? last - page : at_once;
		ssize_t got = pread(image->pagemap, entries, wanted * 8, (off_t)(page * 8));

		if (got < 8)
			return end;
		at_once = sizeof(entries) / 8;
		for (ssize_t i = 0; i < got / 8; i++, page++) {
			bool is_touched = (entries[i] & IMAGE_PAGE_TOUCHED) != 0;

			if (first)
				*touched = is_touched;
			else if (is_touched != *touched)
				return page * size;
			first = false;
			if (*touched && (page + 1) * size - start >= PIECE)
				return (page + 1) * size < end ? (page + 1) * size : end;
		}
		if (!*touched)
			page = find_touched(image, page * size, last * size) / size;
	}
	return end;
}

// True if only touched pages can hold anything: for private memory of no file.
static bool is_anonymous(const struct image_mapping *mapping)
{
	return !mapping->shared && (mapping->kind == IMAGE_ANONYMOUS ||
				    mapping->kind == IMAGE_HEAP || mapping->kind == IMAGE_STACK);
}

// Where the first mapping behind an address begins; UINT64_MAX if there is none.
static uint64_t next_mapping(const struct image *image, uint64_t address)
{
	size_t at = first_behind(image, address);

	// The one that holds it does not begin behind it.
	at += at < image->mapping_count && image->mappings[at].start <= address;
	return at < image->mapping_count ? image->mappings[at].start : UINT64_MAX;
}

// The end of the part of [start, end) that can be visited at once: it lies in one mapping, and is
// touched all along or not at all.
static uint64_t find_piece(const struct image *image, uint64_t start, uint64_t end, bool *touched)
{
	const struct image_mapping *mapping = image_find(image, start);

	*touched = mapping != NULL;
	if (!mapping) {
		uint64_t next = next_mapping(image, start);

		return next < end ? next : end;
	}
	if (end > mapping->end)
		end = mapping->end;
	if (image->core)
		return core_find_run(image->core, start, end, touched);
	return is_anonymous(mapping) && image->pagemap >= 0 ? find_run(image, start, end, touched)
							    : end;
}

uint64_t image_skip_untouched(const struct image *image, uint64_t start, uint64_t end,
			      uint64_t *until)
{
	for (;;) {
		bool touched;

		*until = start < end ? find_piece(image, start, end, &touched) : end;
		if (start >= end || touched)
			return start;
		start = *until;
	}
}

struct heap_error *image_visit(const struct image *image, uint64_t start, uint64_t end,
			       image_visitor *visit, void *context)
{
	uint64_t words[PIECE / 8];

	while (start < end) {
		bool touched;
		uint64_t piece = find_piece(image, start, end, &touched);

		if (touched) {
			if (piece - start > PIECE)
				piece = start + PIECE;
			read_padded(image, start, words, piece - start, image->unread);

			struct heap_error *error =
				visit(context, start, words, (piece - start) / 8);

			if (error)
				return error;
		}
		start = piece;
	}
	return NULL;
}

bool image_is_lost(const struct image *image, uint64_t address)
{
	return image->core && core_is_lost(image->core, address);
}

HEAP_MUST_CHECK
static struct heap_error *add_lost(const struct core *core, struct unread_spans *spans)
{
	for (size_t i = 0; i < core->segments.count; i++) {
		const struct core_segment *segment = &core->segments.items[i];
		uint64_t start = segment->start + segment->size / PAGE * PAGE;

		if (segment->is_lost && start < segment->end)
			HEAP_TRY(heap_array_append(spans,
						   (struct unread_span){ start, segment->end }));
	}
	return NULL;
}

static int compare_spans(const void *left, const void *right)
{
	const struct unread_span *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

struct heap_error *image_add_unread(struct image *image, uint64_t start, uint64_t end)
{
	return heap_array_append(&image->unread->spans, ((struct unread_span){ start, end }));
}

struct heap_error *image_visit_unread(const struct image *image, image_unread_visitor *visit,
				      void *context)
{
	CLEANUP_ARRAY struct unread_spans spans = { 0 };
	const uint64_t *pages = image->unread->pages.items;

	for (size_t i = 0; i < image->unread->pages.count; i++)
		HEAP_TRY(heap_array_append(&spans,
					   (struct unread_span){ pages[i], pages[i] + PAGE }));
	for (size_t i = 0; i < image->unread->spans.count; i++)
		HEAP_TRY(heap_array_append(&spans, image->unread->spans.items[i]));
	if (image->core)
		HEAP_TRY(add_lost(image->core, &spans));
	if (spans.count > 0)
		qsort(spans.items, spans.count, sizeof(*spans.items), compare_spans);
	for (size_t i = 0, next; i < spans.count; i = next) {
		uint64_t end = spans.items[i].end;

		for (next = i + 1; next < spans.count && spans.items[next].start <= end; next++) {
			if (spans.items[next].end > end)
				end = spans.items[next].end;
		}
		visit(context, spans.items[i].start, end);
	}
	return NULL;
}
