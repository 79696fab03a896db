// SPDX-License-Identifier: GPL-3.0-or-later
// Answers are found again for the very question alone, and never made up.
#include "t/unit/unit.h"

#include "dumper/writer/infer/part_answers.h"

static bool is_known(const struct part_answers *answers, heap_type_id whole, heap_type_id part,
		     uint64_t offset, bool *has)
{
	return part_answers_find(answers, &(struct part_question){ whole, part, offset }, has);
}

static void test_found(void **state)
{
	struct part_answers answers;
	bool has;

	(void)state;
	assert_true(part_answers_init(&answers));
	assert_false(is_known(&answers, 7, 8, 16, &has));
	part_answers_keep(&answers, &(struct part_question){ 7, 8, 16 }, true);
	assert_true(is_known(&answers, 7, 8, 16, &has));
	assert_true(has);
	assert_false(is_known(&answers, 8, 7, 16, &has));
	assert_false(is_known(&answers, 7, 8, 24, &has));
	part_answers_keep(&answers, &(struct part_question){ 7, 8, 16 }, false);
	assert_true(is_known(&answers, 7, 8, 16, &has));
	assert_false(has);
	part_answers_deinit(&answers);
}

// Questions that have no room in a word are not kept.
static void test_large(void **state)
{
	const heap_type_id large = UINT32_C(1) << 21;
	struct part_answers answers;
	bool has;

	(void)state;
	assert_true(part_answers_init(&answers));
	part_answers_keep(&answers, &(struct part_question){ large, 8, 0 }, true);
	part_answers_keep(&answers, &(struct part_question){ 7, large, 0 }, true);
	part_answers_keep(&answers, &(struct part_question){ 7, 8, UINT64_C(1) << 20 }, true);
	assert_false(is_known(&answers, large, 8, 0, &has));
	assert_false(is_known(&answers, 7, large, 0, &has));
	assert_false(is_known(&answers, 7, 8, UINT64_C(1) << 20, &has));
	assert_false(is_known(&answers, 0, 8, 0, &has));
	assert_false(is_known(&answers, 7, 8, 0, &has));
	part_answers_deinit(&answers);
}

// Later answers take the places of earlier ones, which are not mistaken for each other.
static void test_many(void **state)
{
	struct part_answers answers;
	bool has;

	(void)state;
	assert_true(part_answers_init(&answers));
	for (uint32_t i = 1; i < 4 * PART_ANSWERS; i++)
		part_answers_keep(&answers, &(struct part_question){ i, i + 1, 8 }, i % 3 == 0);
	for (uint32_t i = 1; i < 4 * PART_ANSWERS; i++) {
		if (is_known(&answers, i, i + 1, 8, &has))
			assert_int_equal(has, i % 3 == 0);
	}
	part_answers_deinit(&answers);
}

UNIT_TESTS("part_answers", cmocka_unit_test(test_found), cmocka_unit_test(test_large),
	   cmocka_unit_test(test_many))
