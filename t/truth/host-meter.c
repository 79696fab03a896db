// SPDX-License-Identifier: GPL-3.0-or-later
// A plugin that keeps samples in lists.
#include "t/truth/host.h"
#include "t/truth/truth.h"

#include <stdio.h>

enum {
	SAMPLES = 5,
	LABEL = 24, // bytes
};

struct sample {
	double value, weight;
	struct sample *next;
};

struct meter {
	char *label;
	struct sample *samples;
	double sum;
	struct instance *owner;
	int count;
};

static void *create(const struct host *host, struct instance *owner, int number)
{
	struct meter *meter = OF(struct meter, host->allocate(sizeof(*meter)));

	meter->label = TEXT(host->allocate(LABEL));
	snprintf(meter->label, LABEL, "meter number %d", number);
	meter->owner = owner;
	return meter;
}

static void run(const struct host *host, struct instance *owner, void *state)
{
	struct meter *meter = state;

	for (int i = 0; i < SAMPLES; i++) {
		struct sample *sample = OF(struct sample, host->allocate(sizeof(*sample)));

		*sample = (struct sample){ i / 3.0, 1.5, meter->samples };
		meter->samples = sample;
		meter->count++;
	}
	host->emit(owner, 1, meter->samples);
}

const struct plugin meter_plugin = { "meter", create, run };
