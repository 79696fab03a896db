// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Objects whose types only their method tables tell, for t/end-to-end/tagged.t: 40 disks and 30 boxes
 * of one size behind 16 bytes of a collector, and 20 atoms of which no function knows the struct.
 * Prints "ready" and waits for the end of its input.
 */
#include <stdio.h>
#include <stdlib.h>

struct thing {
	const struct methods *methods;
	long marks;
};

struct methods {
	double (*area)(struct thing *thing);
	void (*scale)(struct thing *thing, double factor);
};

struct links {
	size_t next, previous;
};

struct disk {
	struct thing thing;
	double radius, unused;
};

struct box {
	struct thing thing;
	double width, height;
};

static double disk_area(struct thing *thing)
{
	struct disk *disk = (struct disk *)thing;

	return 3 * disk->radius * disk->radius;
}

static void disk_scale(struct thing *thing, double factor)
{
	struct disk *disk = (struct disk *)thing;

	disk->radius *= factor;
}

static double box_area(struct thing *thing)
{
	struct box *box = (struct box *)thing;

	return box->width * box->height;
}

static void box_scale(struct thing *thing, double factor)
{
	struct box *box = (struct box *)thing;

	box->width *= factor;
	box->height *= factor;
}

static double atom_area(struct thing *thing)
{
	return (double)thing->marks;
}

static void atom_scale(struct thing *thing, double factor)
{
	thing->marks += factor > 1;
}

static const struct methods disk_methods = { disk_area, disk_scale };
// Its symbol is that of shop::boxes in C++.
extern const struct methods box_methods __asm__("_ZN4shop5boxesE");
const struct methods box_methods = { box_area, box_scale };
static const struct methods atom_methods = { atom_area, atom_scale };

static struct links all = { (size_t)&all, (size_t)&all };
static struct thing **things;
static int count;

static struct thing *make(const struct methods *methods, size_t size)
{
	struct links *links = calloc(1, sizeof(*links) + size);
	struct thing *thing = (struct thing *)(links + 1);

	links->next = (size_t)&all;
	links->previous = all.previous;
	((struct links *)all.previous)->next = (size_t)links;
	all.previous = (size_t)links;
	thing->methods = methods;
	things[count++] = thing;
	return thing;
}

int main(void)
{
	double sum = 0;

	things = calloc(90, sizeof(*things));
	for (int i = 0; i < 40; i++)
		((struct disk *)make(&disk_methods, sizeof(struct disk)))->radius = i;
	for (int i = 0; i < 30; i++)
		((struct box *)make(&box_methods, sizeof(struct box)))->width = i;
	for (int i = 0; i < 20; i++)
		make(&atom_methods, sizeof(struct thing) + 24)->marks = i;
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	for (int i = 0; i < count; i++) {
		things[i]->methods->scale(things[i], 2);
		sum += things[i]->methods->area(things[i]);
	}
	return sum < 0;
}
