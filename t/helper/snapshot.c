// SPDX-License-Identifier: GPL-3.0-or-later
// Makes and breaks snapshots, for t/damage.t.
//
//	snapshot sample FILE              writes one with something in every table
//	snapshot crowd FILE               writes one with thousands of objects
//	snapshot damage FILE TIMES SEED   damages a copy at random, so many times, and uses it
#include "t/fuzz/damage.h"
#include "t/helper/sample.h"

#include <fcntl.h>
#include <stdio.h>

static uint64_t state;

static uint64_t below(uint64_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return limit ? state % limit : 0;
}

static int open_or_exit(const char *path, int flags)
{
	int descriptor = open(path, flags | O_CLOEXEC, 0600);

	if (descriptor < 0) {
		perror(path);
		exit(1);
	}
	return descriptor;
}

static int write_snapshot(struct heap_snapshot snapshot, const char *path)
{
	int descriptor = open_or_exit(path, O_WRONLY | O_CREAT | O_TRUNC);

	sample_check(
		heap_snapshot_write(&snapshot, descriptor,
				    &(struct heap_snapshot_source){ .content = sample_content }));
	close(descriptor);
	return 0;
}

// Truncates, flips bits, or writes bytes over others. @return the size that is left
static size_t damage(uint8_t *bytes, size_t size)
{
	if (below(4) == 0)
		size = below(size);
	for (uint64_t i = below(4); i > 0 && size > 0; i--) {
		uint64_t bit = below(size * 8);

		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	if (below(8) == 0 && size > 0) {
		uint64_t at = below(size);
		uint64_t length = 1 + below(size - at < 16 ? size - at : 16);

		memset(bytes + at, below(2) ? 0xff : 0, length < size - at ? length : size - at);
	}
	return size;
}

// Counts by what became of it: refused at once, or opened.
static int damage_often(const char *path, uint64_t times)
{
	int descriptor = open_or_exit(path, O_RDONLY);
	size_t size;
	uint8_t *bytes = sample_slurp(descriptor, &size);
	uint64_t refused = 0, opened = 0, sum = 0;

	for (uint64_t i = 0; i < times; i++) {
		// A block of exactly that size, for ASan to see a read beyond it.
		uint8_t *work = malloc(size + 1);
		size_t left;
		struct heap_snapshot *snapshot;
		struct heap_error *error;

		memcpy(work, bytes, size);
		left = damage(work, size);
		work = realloc(work, left + 1);
		if (i % 2)
			mend(work, left);
		error = heap_snapshot_open_memory(work, left, &snapshot);
		if (error) {
			refused++;
		} else {
			opened++;
			sum += use_snapshot(snapshot);
			heap_snapshot_close(snapshot);
		}
		heap_error_destroy(error);
		free(work);
	}
	free(bytes);
	close(descriptor);
	printf("refused %llu opened %llu sum %llx\n", (unsigned long long)refused,
	       (unsigned long long)opened, (unsigned long long)sum);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "sample") == 0)
		return write_snapshot(sample_snapshot(), argv[2]);
	if (argc == 3 && strcmp(argv[1], "crowd") == 0)
		return write_snapshot(sample_crowd(), argv[2]);
	if (argc == 5 && strcmp(argv[1], "damage") == 0) {
		state = strtoull(argv[4], NULL, 10) * 2 + 1;
		return damage_often(argv[2], strtoull(argv[3], NULL, 10));
	}
	fprintf(stderr, "usage: snapshot sample|crowd FILE | snapshot damage FILE TIMES SEED\n");
	return 2;
}
