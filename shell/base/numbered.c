// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/base/numbered.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// With fewer than three, somebody may well have typed them in this order.
enum {
	LEAST = 3
};

static bool is_digit(char character)
{
	return character >= '0' && character <= '9';
}

static const char *skip_digits(const char *at)
{
	while (is_digit(*at))
		at++;
	return at;
}

// Moves past a number in each of two names. @return its sign if one is smaller
static int compare_numbers(const char **left, const char **right)
{
	const char *a = *left, *b = *right;

	*left = skip_digits(a);
	*right = skip_digits(b);
	while (*a == '0')
		a++;
	while (*b == '0')
		b++;

	size_t a_length = (size_t)(skip_digits(a) - a), b_length = (size_t)(skip_digits(b) - b);

	if (a_length != b_length)
		return a_length < b_length ? -1 : 1;
	return memcmp(a, b, a_length);
}

// Compares names that are the same but for their numbers, of which the first that differs counts.
// @return false if they are not the same
static bool compare_names(const char *left, const char *right, int *result)
{
	*result = 0;
	while (*left || *right) {
		if (is_digit(*left) && is_digit(*right)) {
			int order = compare_numbers(&left, &right);

			*result = *result == 0 ? order : *result;
		} else if (*left++ != *right++) {
			return false;
		}
	}
	return true;
}

static int compare_paths(const void *left, const void *right)
{
	const char *const *a = left, *const *b = right;
	int order;

	compare_names(*a, *b, &order);
	return order != 0 ? order : strcmp(*a, *b);
}

// True if a pattern of the shell may have put these names next to each other. Programs of this project set
// no locale, and of names that differ in digits alone all locales think the same.
static bool follow_each_other(const char *left, const char *right)
{
	int order;

	return strcmp(left, right) < 0 && compare_names(left, right, &order);
}

void numbered_sort(char **paths, size_t count)
{
	for (size_t start = 0, end; start < count; start = end) {
		for (end = start + 1; end < count; end++) {
			if (!follow_each_other(paths[end - 1], paths[end]))
				break;
		}
		if (end - start >= LEAST)
			qsort(paths + start, end - start, sizeof(*paths), compare_paths);
	}
}
