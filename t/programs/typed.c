// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Objects of every kind of type: t/end-to-end/typed.t knows the shell's answer for each, line by line.
 */
#include <stdio.h>
#include <stdlib.h>

typedef struct {
	int x;
	double y;
} point_t;

struct link {
	struct link *next;
	struct link *previous;
};

struct window {
	char title[12];
	struct link order;
	struct {
		unsigned shown : 1;
		unsigned layer : 7;
	};
	union {
		point_t *corner;
		void *anything;
	} at;
	int (*draw)(struct window *window);
	int (*print)(const char *text);
	void (*nowhere)(void);
};

// Nothing is of this type.
struct unused {
	char letter;
	struct unused *next;
	char rest[3];
};

point_t *points;
double *height;
struct window *window;
struct window *windows;
struct link *second;
struct unused *none;
const char *text_end;

static struct link main_order;

static int draw_window(struct window *drawn)
{
	return drawn->shown;
}

static struct window *window_new(int layer)
{
	struct window *made = calloc(1, sizeof(*made));

	snprintf(made->title, sizeof(made->title), "layer %d", layer);
	made->shown = 1;
	made->layer = (unsigned)layer;
	made->draw = draw_window;
	made->print = puts;
	return made;
}

// Inlined even where nothing else is.
static inline __attribute__((always_inline)) point_t *points_new(size_t count)
{
	return calloc(count, sizeof(point_t));
}

static void make_points(void)
{
	points = points_new(5);
	for (int i = 0; i < 5; i++)
		points[i] = (point_t){ i, i / 2.0 };
	height = &points[2].y;
}

static void make_windows(void)
{
	window = window_new(3);
	window->at.corner = &points[3];
	// The last is inside what draw points to: no function begins there.
	window->nowhere = (void (*)(void))((char *)draw_window + 1);
	windows = calloc(4, sizeof(*windows));
	windows[1].order.next = &windows[2].order;
	windows[2].order.previous = &windows[1].order;
	window->order.previous = &main_order;
	window->order.next = &window->order;
	second = &windows[1].order;
}

int main(void)
{
	make_points();
	make_windows();
	puts("ready");
	fflush(stdout);
	getchar();
	printf("done %d\n", window->draw(window));
	return 0;
}
