// SPDX-License-Identifier: GPL-3.0-or-later
#include "shared.h"

struct engine {
	int cylinders;
	struct engine *spare;
	double power;
};

struct engine *engine_new(int cylinders)
{
	struct engine *engine = calloc(1, sizeof(*engine)); // site: engine_new

	engine->cylinders = cylinders;
	engine->spare = calloc(1, sizeof(*engine)); // site: engine_new, spare
	return engine;
}
