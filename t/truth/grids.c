// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Arrays of arrays of numbers: the functions that make them are inlined into one that has variables of structs as large as
 * these arrays. They return the struct that an array belongs to, so that no other variable has the array.
 */
#include "t/truth/truth.h"

#include <stdio.h>

struct cube {
	int ***cells;
	int x, y, z;
};

struct sparse {
	size_t size, used;
	double *values;
	int *columns, *rows;
};

struct signal {
	double *in, *out;
	size_t count;
	double *window;
};

static inline __attribute__((always_inline)) struct cube *make_cube(int x, int y, int z)
{
	struct cube *cube = NEW(struct cube);

	cube->x = x;
	cube->y = y;
	cube->z = z;
	cube->cells = NEW_ARRAY(int **, x);
	for (int i = 0; i < x; i++) {
		cube->cells[i] = NEW_ARRAY(int *, y);
		for (int j = 0; j < y; j++) {
			cube->cells[i][j] = NEW_ARRAY(int, z);
			for (int k = 0; k < z; k++)
				cube->cells[i][j][k] = i * j * k;
		}
	}
	return cube;
}

static inline __attribute__((always_inline)) struct sparse *make_sparse(size_t size)
{
	struct sparse *sparse = NEW(struct sparse);

	sparse->size = size;
	sparse->used = size / 2;
	sparse->values = NEW_ARRAY(double, size);
	sparse->columns = NEW_ARRAY(int, size);
	sparse->rows = NEW_ARRAY(int, size + 1);
	for (size_t i = 0; i < size; i++) {
		sparse->values[i] = (double)i / 3;
		sparse->columns[i] = (int)i * 7;
		sparse->rows[i] = (int)i;
	}
	sparse->rows[size] = 0;
	return sparse;
}

static inline __attribute__((always_inline)) struct signal *make_signal(size_t count)
{
	struct signal *signal = NEW(struct signal);

	signal->count = count;
	signal->in = NEW_ARRAY(double, count);
	signal->out = NEW_ZEROED_ARRAY(double, count);
	signal->window = NEW_ARRAY(double, count);
	for (size_t i = 0; i < count; i++)
		signal->in[i] = signal->window[i] = (double)i / (double)count;
	return signal;
}

int main(void)
{
	struct cube *cube = make_cube(4, 5, 6);
	struct sparse *sparse = make_sparse(60);
	struct signal *signal = make_signal(128);

	truth_capture();
	printf("%p %p %p\n", (void *)cube, (void *)sparse, (void *)signal);
	return 0;
}
