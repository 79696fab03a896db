// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_line_cache.h"

#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

enum {
	LINE_NUMBERS = 3, // of each line; the third is its number and whether it is in a wrapper
};

static struct heap_dwarf_question ask(uint64_t pc)
{
	return (struct heap_dwarf_question){ HEAP_DWARF_QUESTION_LINES, pc, 0 };
}

// @return false if there is no memory, or the answer is damaged
static bool read_lines(struct heap_dwarf_answer *answer, struct heap_dwarf_lines *lines)
{
	size_t count = answer->count / LINE_NUMBERS;

	if (count) {
		lines->lines = calloc(count, sizeof(*lines->lines));
		if (!lines->lines)
			return false;
	}
	while (lines->count < count) {
		struct heap_dwarf_line *line = &lines->lines[lines->count++];
		uint64_t number;

		line->function = strdup(heap_dwarf_answer_next_string(answer));
		line->file = strdup(heap_dwarf_answer_next_string(answer));
		number = heap_dwarf_answer_next(answer);
		line->line = (uint32_t)(number >> 1);
		line->is_wrapper = number & 1;
		if (!line->function || !line->file)
			return false;
	}
	return heap_dwarf_answer_is_good(answer);
}

bool heap_dwarf_line_cache_find(struct heap_dwarf_answers *cache, uint64_t pc,
				struct heap_dwarf_lines *result)
{
	CLEANUP(heap_dwarf_lines_deinit) struct heap_dwarf_lines lines = { .is_complete = true };
	const struct heap_dwarf_question question = ask(pc);
	struct heap_dwarf_answer answer;

	*result = (struct heap_dwarf_lines){ 0 };
	if (!heap_dwarf_answers_find(cache, &question, &answer) || !read_lines(&answer, &lines))
		return false;
	*result = keep(lines);
	return true;
}

void heap_dwarf_line_cache_add(struct heap_dwarf_answers *cache, uint64_t pc,
			       const struct heap_dwarf_lines *lines)
{
	struct heap_dwarf_answer_writer writer = { .answers = cache };
	const struct heap_dwarf_question question = ask(pc);

	if (!lines->is_complete)
		return;
	for (size_t i = 0; i < lines->count; i++) {
		heap_dwarf_answer_put_string(&writer, lines->lines[i].function);
		heap_dwarf_answer_put_string(&writer, lines->lines[i].file);
		heap_dwarf_answer_put(&writer, (uint64_t)lines->lines[i].line << 1 |
						       lines->lines[i].is_wrapper);
	}
	heap_dwarf_answer_add(&writer, &question);
}
