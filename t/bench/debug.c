// SPDX-License-Identifier: GPL-3.0-or-later
// Reads a file's debug information as the writer does the first time, and says how long it
// took and what is kept. With an address, also how long the first sites in the file take.
#include "lib/dwarf/dwarf_info.h"
#include "lib/dwarf/dwarf_code.h"
#include "lib/dwarf/dwarf_lines.h"
#include "lib/dwarf/dwarf_site_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void check(struct heap_error *error)
{
	if (!error)
		return;
	fprintf(stderr, "%s\n", heap_error_message(error));
	exit(1);
}

static double megabytes_of(const char *field)
{
	char line[256];
	double result = 0;
	FILE *status = fopen("/proc/self/status", "r");

	while (status && fgets(line, sizeof(line), status))
		if (strncmp(line, field, strlen(field)) == 0)
			result = strtod(line + strlen(field), NULL) / 1024;
	if (status)
		fclose(status);
	return result;
}

static double bytes_per_type(const struct heap_types *types)
{
	return (types->count * (double)sizeof(*types->types) +
		types->member_count * (double)sizeof(*types->members) +
		types->enumerator_count * (double)sizeof(*types->enumerators) +
		types->string_size) /
	       types->count;
}

static void look_up(struct heap_dwarf_file *file, uint64_t pc)
{
	struct heap_dwarf_line_finder *finder;
	struct heap_dwarf_code *code;
	struct heap_dwarf_site_types types = { 0 };
	struct heap_dwarf_lines lines;
	double start = now();

	check(heap_dwarf_line_finder_create(file, &finder));
	printf("address_map_s %.3f\n", now() - start);
	start = now();
	check(heap_dwarf_line_finder_find(finder, pc, &lines));
	printf("first_line_s %.6f %s:%u\n", now() - start, lines.count ? lines.lines[0].file : "?",
	       lines.count ? lines.lines[0].line : 0);
	check(heap_dwarf_file_code(file, &code));
	start = now();
	for (int i = 0; i < 1000; i++) {
		heap_dwarf_site_types_deinit(&types);
		check(heap_dwarf_site_types_find(code, pc, &types));
	}
	printf("site_types_us %.2f %zu types\n", (now() - start) * 1e3, types.count);
	heap_dwarf_site_types_deinit(&types);
	heap_dwarf_lines_deinit(&lines);
	heap_dwarf_line_finder_destroy(finder);
}

int main(int argc, char **argv)
{
	struct heap_dwarf_file *file;
	struct heap_dwarf_info debug;
	struct rusage usage;
	double start = now(), seconds;

	if (argc < 2)
		return 2;
	check(heap_dwarf_open(argv[1], &file));
	check(heap_dwarf_info_read(file, &debug));
	seconds = now() - start;
	getrusage(RUSAGE_SELF, &usage);
	printf("units %llu\ndies %llu\nseconds %.3f\ndies_per_second %.0f\n",
	       (unsigned long long)debug.units, (unsigned long long)debug.dies, seconds,
	       debug.dies / seconds);
	printf("types %u\nvariables %u\nbytes_per_type %.0f\n", debug.types.count,
	       debug.variable_count, bytes_per_type(&debug.types));
	printf("peak_rss_mb %.0f\nanonymous_mb %.0f\n", usage.ru_maxrss / 1024.0,
	       megabytes_of("RssAnon:"));
	if (argc > 2)
		look_up(file, strtoull(argv[2], NULL, 0));
	heap_dwarf_info_deinit(&debug);
	heap_dwarf_close(file);
	return 0;
}
