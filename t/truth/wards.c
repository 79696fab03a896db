// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Tables of anything in static memory, as embedded programs and daemons have them: no pointer that has a type leads to what
 * is in them. Code that puts something in, or takes it out, knows the variable.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

#ifdef __clang__
#define OUTLINE __attribute__((noinline))
#else
#define OUTLINE __attribute__((noipa))
#endif

enum {
	SLOTS = 512,
	VALUES = 300,
	BEDS = 200,
	LOCKERS = 64,
};

// --- tables

struct slot {
	uint32_t key, state;
	void *value;
};

struct table {
	unsigned used;
	struct slot slots[SLOTS];
};

static OUTLINE void table_put(struct table *table, uint32_t key, void *value)
{
	unsigned at = key * 2654435761u % SLOTS;

	while (table->slots[at].state)
		at = (at + 1) % SLOTS;
	table->slots[at] = (struct slot){ key, 1, value };
	table->used++;
}

static OUTLINE void *table_get(const struct table *table, uint32_t key)
{
	for (unsigned at = key * 2654435761u % SLOTS; table->slots[at].state;
	     at = (at + 1) % SLOTS) {
		if (table->slots[at].key == key)
			return table->slots[at].value;
	}
	return NULL;
}

// --- what is in them: of one size, and all alike

struct patient {
	uint64_t number, born;
	double temperature;
	uint64_t visits[6];
};

struct nurse {
	uint64_t badge, since;
	double wage;
	uint64_t shifts[6];
};

// The only ones of their tables.
struct bed {
	uint32_t room, floor;
	double width, height;
	char label[40];
};

struct locker {
	uint32_t number, key;
	char owner[56];
	double rent;
};

static struct table patients, nurses;

static struct {
	void *context;
	int room;
} beds[BEDS];

static struct {
	char name[8];
	struct {
		int wing;
		void *first[LOCKERS];
	} hall;
} station;

static OUTLINE struct patient *patient_new(unsigned i)
{
	struct patient *patient = NEW_ZEROED(struct patient);

	patient->number = i;
	patient->temperature = 36 + i / 100.0;
	patient->visits[i % 6] = i;
	return patient;
}

static OUTLINE void patient_admit(unsigned i)
{
	struct patient *patient = patient_new(i);

	table_put(&patients, i * 3, patient);
}

static OUTLINE void nurse_add(unsigned i)
{
	struct nurse *nurse = NEW_ZEROED(struct nurse);

	nurse->badge = i;
	nurse->wage = 20 + i / 16.0;
	nurse->shifts[i % 6] = i;
	table_put(&nurses, i * 5, nurse);
}

static OUTLINE double nurse_wage(unsigned i)
{
	const struct nurse *nurse = table_get(&nurses, i * 5);

	return nurse ? nurse->wage + (double)nurse->since : 0;
}

static OUTLINE void *bed_new(unsigned i)
{
	struct bed *bed = NEW_ZEROED(struct bed);

	bed->room = i / 2;
	bed->floor = i / 20;
	bed->width = 0.9;
	snprintf(bed->label, sizeof(bed->label), "bed %u by the window", i);
	return (char *)bed + 0 * i;
}

static OUTLINE double bed_area(unsigned i)
{
	const struct bed *bed = beds[i].context;

	return bed ? bed->width * bed->height + bed->room : 0;
}

static OUTLINE void *locker_new(unsigned i)
{
	struct locker *locker = NEW_ZEROED(struct locker);

	locker->number = i;
	locker->rent = 1.5 * i;
	snprintf(locker->owner, sizeof(locker->owner), "owner %u", i);
	return (char *)locker + 0 * i;
}

static OUTLINE double locker_rent(unsigned i)
{
	const struct locker *locker = station.hall.first[i];

	return locker ? locker->rent + locker->key : 0;
}

int main(void)
{
	double sum = 0;

	for (unsigned i = 0; i < VALUES; i++) {
		patient_admit(i);
		nurse_add(i);
		sum += nurse_wage(i);
	}
	for (unsigned i = 0; i < BEDS; i++) {
		beds[i].context = bed_new(i);
		beds[i].room = (int)i / 2;
		sum += bed_area(i);
	}
	for (unsigned i = 0; i < LOCKERS; i++) {
		station.hall.first[i] = locker_new(i);
		sum += locker_rent(i);
	}
	truth_capture();
	printf("%g %u\n", sum, patients.used);
	return 0;
}
