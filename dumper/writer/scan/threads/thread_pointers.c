// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/threads/thread_pointers.h"

#include "dumper/writer/base/machine.h"
#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"
#include "lib/dwarf/dwarf_registers.h"

#include <stdlib.h>

enum {
	THREAD_STORAGE = 64 << 10, // of a stack's top, where the thread descriptor is
	ABOVE = 1 << 20, // bytes above a stack pointer, in which the thread descriptor may be
	THREAD_DESCRIPTOR = 4096, // bytes below a thread pointer, where it is on some machines
	MAX_SEARCHED = 256 << 20, // bytes of all mappings
	MAX_TELLING = 16,         // threads; one that holds a robust mutex tells no distance
	// Descriptors that are looked at: glibc keeps stacks of threads that have ended, and memory may
	// be full of what looks like descriptors.
	DESCRIPTORS_PER_THREAD = 4,
	OTHER_DESCRIPTORS = 4096,
};

// The threads of a process.
struct threads {
	const struct image *image;
	const struct heapsnap_process *process;
	struct heapsnap_thread *list; // [process->thread_count]
	uint64_t searched;            // bytes above stack pointers
};

// Reads the end of a thread's stack. @return the address of the first of the words, *count of them
static uint64_t read_storage(const struct threads *threads, uint64_t sp, uint64_t *words,
			     size_t *count)
{
	const struct image_mapping *mapping = image_find(threads->image, sp);
	uint64_t size = 0;

	*count = 0;
	if (!mapping || mapping->end - sp < 64)
		return 0;
	size = mapping->end - sp < THREAD_STORAGE ? (mapping->end - sp) & ~UINT64_C(63)
						  : THREAD_STORAGE;
	image_read_padded(threads->image, mapping->end - size, words, size);
	*count = size / 8;
	return mapping->end - size;
}

/*
 * Finds the head of a thread's list of robust mutexes by what comes before it: its id and the last
 * of the list. Both the list and the last are the head itself while no such mutex is held (struct
 * pthread of glibc).
 *
 * @return the head's number in the words, or 0
 */
static size_t find_robust_head(const uint64_t *words, size_t count, uint64_t start, uint32_t tid)
{
	for (size_t i = count; i-- > 2;) {
		uint64_t address = start + i * 8;

		if (words[i] == address && words[i - 1] == address && (uint32_t)words[i - 2] == tid)
			return i;
	}
	return 0;
}

// Bytes from that head to the pointer of a thread; 0: not known.
static uint64_t distance_to(const struct threads *threads, uint64_t pointer, uint32_t tid)
{
	uint64_t words[THREAD_DESCRIPTOR / 8], start = pointer - sizeof(words);
	size_t head;

	if (pointer < sizeof(words))
		return 0;
	image_read_padded(threads->image, start, words, sizeof(words));
	head = find_robust_head(words, THREAD_DESCRIPTOR / 8, start, tid);
	return head ? pointer - (start + head * 8) : 0;
}

// Bytes from that head to the thread pointer in this version of glibc, by the first thread that tells it; 0: none does.
static uint64_t robust_distance(const struct threads *threads)
{
	const struct heapsnap_process *process = threads->process;
	uint64_t distance = distance_to(threads, process->main_thread_pointer, process->pid);
	int tries = MAX_TELLING;

	for (uint32_t i = 0; distance == 0 && i < process->thread_count && tries > 0; i++) {
		const struct heapsnap_thread *thread = &threads->list[i];

		if (thread->thread_pointer == 0)
			continue;
		distance = distance_to(threads, thread->thread_pointer, thread->tid);
		tries--;
	}
	return distance;
}

// A thread descriptor begins with its own address, and its third word is that too (struct pthread,
// tcbhead_t; System V ABI, AMD64 supplement, 6.4.6).
static bool is_descriptor(const uint64_t *words, uint64_t address)
{
	return words[0] == address && words[2] == address;
}

static bool has_tid(const struct threads *threads, uint64_t descriptor, uint32_t tid)
{
	uint32_t words[THREAD_DESCRIPTOR / 4];

	image_read_padded(threads->image, descriptor, words, sizeof(words));
	for (size_t i = 0; i < THREAD_DESCRIPTOR / 4; i++) {
		if (words[i] == tid)
			return true;
	}
	return false;
}

// @param words  [count], at @p start
static uint64_t find_pointer_in(const struct threads *threads, const uint64_t *words, size_t count,
				uint64_t start, uint32_t tid, uint64_t distance)
{
	if (!MACHINE_STORAGE_IS_BELOW) {
		size_t head = distance ? find_robust_head(words, count, start, tid) : 0;

		return head ? start + head * 8 + distance : 0;
	}
	for (size_t i = 0; i + 8 <= count; i += 8) {
		if (is_descriptor(words + i, start + i * 8) && has_tid(threads, start + i * 8, tid))
			return start + i * 8;
	}
	return 0;
}

// A thread that was left asleep could not say where its storage is. glibc puts the thread
// descriptor at the top of the stack's mapping. Where the thread pointer is above it, the list of
// robust mutexes tells the place.
static uint64_t find_at_top(const struct threads *threads, const struct heapsnap_thread *thread,
			    uint64_t distance)
{
	uint64_t words[THREAD_STORAGE / 8], start;
	size_t count;

	start = read_storage(threads, thread->registers[HEAP_DWARF_REGISTER_SP], words, &count);
	return find_pointer_in(threads, words, count, start, thread->tid, distance);
}

// A stack that the program has given to the thread may lie in the midst of a mapping, as one does that
// the kernel has merged with what is above it.
static uint64_t find_above(struct threads *threads, const struct heapsnap_thread *thread,
			   uint64_t distance)
{
	uint64_t words[THREAD_STORAGE / 8];
	uint64_t start = thread->registers[HEAP_DWARF_REGISTER_SP] & ~UINT64_C(63), found = 0;
	const struct image_mapping *mapping = start ? image_find(threads->image, start) : NULL;
	uint64_t end = mapping ? mapping->end : start;

	if (end - start > ABOVE)
		end = start + ABOVE;
	for (; start < end && found == 0 && threads->searched < MAX_SEARCHED;
	     start += THREAD_STORAGE) {
		uint64_t size = end - start < THREAD_STORAGE ? end - start : THREAD_STORAGE;

		image_read_padded(threads->image, start, words, size);
		threads->searched += size;
		found = find_pointer_in(threads, words, size / 8, start, thread->tid, distance);
	}
	return found;
}

// --- threads whose stacks are not known ---------------------------------------------

// A search for the descriptors of the threads whose pointers are unknown.
struct search {
	const struct threads *threads;
	struct heap_hash_table by_tid; // these threads
	uint32_t left;                 // of them
	uint64_t distance;             // as robust_distance() has it
	uint64_t candidates;           // descriptors that may still be looked at
	uint64_t words[THREAD_STORAGE / 8];
};

HEAP_MUST_CHECK
static struct heap_error *search_init(struct search *search, const struct threads *threads,
				      uint64_t distance)
{
	const uint32_t count = threads->process->thread_count;

	search->threads = threads;
	search->by_tid = (struct heap_hash_table){ 0 };
	search->left = 0;
	search->distance = distance;
	search->candidates = (uint64_t)count * DESCRIPTORS_PER_THREAD + OTHER_DESCRIPTORS;
	for (uint32_t i = 0; i < count; i++) {
		if (threads->list[i].thread_pointer != 0)
			continue;
		HEAP_TRY(heap_hash_add(&search->by_tid, heap_hash_u64(threads->list[i].tid), i));
		search->left++;
	}
	return NULL;
}

static void search_deinit(struct search *search)
{
	heap_hash_table_deinit(&search->by_tid);
}

// @return the thread, if its pointer is unknown; or NULL
static struct heapsnap_thread *find_unknown(const struct search *search, uint32_t tid)
{
	struct heapsnap_thread *list = search->threads->list;
	uint32_t found = tid == 0 ? HEAP_HASH_NONE
				  : heap_hash_find(&search->by_tid, heap_hash_u64(tid), i,
						   list[i].tid == tid);

	return found != HEAP_HASH_NONE && list[found].thread_pointer == 0 ? &list[found] : NULL;
}

// A descriptor has the thread's id.
static void note_descriptor(struct search *search, uint64_t address, const uint64_t *words,
			    size_t count)
{
	if (count > THREAD_DESCRIPTOR / 8)
		count = THREAD_DESCRIPTOR / 8;
	for (size_t i = 0; i < count; i++) {
		struct heapsnap_thread *thread = find_unknown(search, (uint32_t)words[i]);

		if (!thread)
			thread = find_unknown(search, (uint32_t)(words[i] >> 32));
		if (thread) {
			thread->thread_pointer = address;
			search->left--;
			return;
		}
	}
}

static void search_descriptors(struct search *search, uint64_t start, size_t count)
{
	for (size_t i = 0; i + 8 <= count && search->left > 0 && search->candidates > 0; i += 8) {
		if (!is_descriptor(search->words + i, start + i * 8))
			continue;
		search->candidates--;
		note_descriptor(search, start + i * 8, search->words + i, count - i);
	}
}

static void search_robust_heads(struct search *search, uint64_t start, size_t count)
{
	const uint64_t *words = search->words;

	for (size_t i = 2; i < count && search->left > 0 && search->candidates > 0; i++) {
		uint64_t address = start + i * 8;
		struct heapsnap_thread *thread;

		if (words[i] != address || words[i - 1] != address)
			continue;
		search->candidates--;
		thread = find_unknown(search, (uint32_t)words[i - 2]);
		if (!thread)
			continue;
		thread->thread_pointer = address + search->distance;
		search->left--;
	}
}

static void search_range(struct search *search, uint64_t start, uint64_t end)
{
	image_read_padded(search->threads->image, start, search->words, end - start);
	if (MACHINE_STORAGE_IS_BELOW)
		search_descriptors(search, start, (end - start) / 8);
	else
		search_robust_heads(search, start, (end - start) / 8);
}

// The descriptor of the main thread lies where the loader got memory for it, or at the start of the
// heap; those of others at the ends of their stacks.
static void search_mappings(struct search *search)
{
	const struct image *image = search->threads->image;
	uint64_t searched = 0;

	for (size_t i = 0; i < image->mapping_count && searched < MAX_SEARCHED; i++) {
		const struct image_mapping *mapping = &image->mappings[i];
		uint64_t size = mapping->end - mapping->start;

		if (search->left == 0 || search->candidates == 0)
			return;
		if (!image_is_private_memory(mapping) && mapping->kind != IMAGE_HEAP)
			continue;
		if (size > THREAD_STORAGE)
			size = THREAD_STORAGE;
		searched += 2 * size;
		search_range(search, mapping->end - size, mapping->end);
		search_range(search, mapping->start, mapping->start + size);
	}
}

// If memory is short, they stay unknown.
static void find_by_descriptors(const struct threads *threads, uint64_t distance)
{
	struct search *search = malloc(sizeof(*search));
	struct heap_error *error;

	if (!search)
		return;
	error = search_init(search, threads, distance);
	if (!error && search->left > 0)
		search_mappings(search);
	heap_error_destroy(error);
	search_deinit(search);
	free(search);
}

void thread_pointers_find(const struct image *image, const struct heapsnap_process *process,
			  struct heapsnap_thread *list)
{
	struct threads threads = { image, process, list, 0 };
	uint64_t distance = MACHINE_STORAGE_IS_BELOW ? 0 : robust_distance(&threads);

	for (uint32_t i = 0; i < process->thread_count; i++) {
		struct heapsnap_thread *thread = &list[i];

		if (thread->thread_pointer != 0)
			continue;
		if (thread->tid == process->pid)
			thread->thread_pointer = process->main_thread_pointer;
		else
			thread->thread_pointer = find_at_top(&threads, thread, distance);
		if (thread->thread_pointer == 0)
			thread->thread_pointer = find_above(&threads, thread, distance);
	}
	if (MACHINE_STORAGE_IS_BELOW || distance != 0)
		find_by_descriptors(&threads, distance);
}
