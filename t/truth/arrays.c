// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Things in arrays: a road network whose edges point into arrays that stopped growing, rows
 * of a matrix, polygons with x[1] at their end, sparse rows, tables that double.
 */
#include "t/truth/truth.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct place {
	double x, y;
	unsigned first_road, road_count;
	const char *name;
};

struct road {
	struct place *from, *to;
	float length;
	uint16_t speed, lanes;
};

struct network {
	struct place *places;
	size_t place_count;
	struct road *roads;
	size_t road_count, roads_allocated;
	struct road **fastest; // pointers into roads
};

struct route {
	struct route *next;
	struct place *goal;
	struct road *steps[12];
	unsigned length;
};

struct point {
	int x, y;
};

struct polygon {
	struct polygon *next;
	int count;
	struct point points[1];
};

struct matrix {
	size_t rows, columns;
	double **row;
};

struct cell {
	uint32_t column;
	float value;
};

struct sparse {
	size_t rows;
	struct cell **row;
	unsigned *count;
};

struct event {
	uint64_t at;
	int32_t code;
	uint32_t flags;
	struct polygon *area;
};

struct recorder {
	struct event *events;
	size_t count, allocated;
	unsigned char *bitmap;
};

struct tensor {
	float *data;
	size_t shape[4];
	struct tensor *gradient;
};

static uint32_t random_state = 2463534242u;

static uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state % limit;
}

static void add_road(struct network *network, size_t from, size_t to)
{
	struct road *road;

	if (network->road_count == network->roads_allocated) {
		network->roads_allocated = network->roads_allocated * 2 + 16;
		network->roads = RENEW_ARRAY(struct road, network->roads, network->roads_allocated);
	}
	road = &network->roads[network->road_count++];
	road->from = &network->places[from];
	road->to = &network->places[to];
	road->length = (float)hypot(road->from->x - road->to->x, road->from->y - road->to->y);
	road->speed = (uint16_t)(30 + random_below(4) * 20);
	road->lanes = 2;
	road->from->road_count++;
}

static int by_speed(const void *left, const void *right)
{
	const struct road *const *a = left, *const *b = right;

	return (*b)->speed - (*a)->speed;
}

static struct network *make_network(size_t places)
{
	struct network *network = NEW_ZEROED(struct network);

	network->places = NEW_ZEROED_ARRAY(struct place, places);
	network->place_count = places;
	for (size_t i = 0; i < places; i++) {
		network->places[i].x = random_below(1000);
		network->places[i].y = random_below(1000);
		network->places[i].name = i % 5 ? "crossing" : "town";
		network->places[i].first_road = (unsigned)network->road_count;
		for (uint32_t j = 0; j < 1 + random_below(4); j++)
			add_road(network, i, random_below((uint32_t)places));
	}
	network->fastest = NEW_ARRAY(struct road *, network->road_count);
	for (size_t i = 0; i < network->road_count; i++)
		network->fastest[i] = &network->roads[i];
	qsort(network->fastest, network->road_count, sizeof(struct road *), by_speed);
	return network;
}

static struct route *find_route(struct network *network, struct route *next)
{
	struct route *route = NEW_ZEROED(struct route);
	struct place *at = &network->places[random_below((uint32_t)network->place_count)];

	for (; route->length < 12 && at->road_count; route->length++) {
		struct road *step = &network->roads[at->first_road + random_below(at->road_count)];
		route->steps[route->length] = step;
		at = step->to;
	}
	route->goal = at;
	route->next = next;
	return route;
}

static struct polygon *make_polygon(struct polygon *next, int count)
{
	struct polygon *polygon = NEW_FLEXIBLE(
		struct polygon, sizeof(*polygon) + (size_t)(count - 1) * sizeof(struct point));

	polygon->next = next;
	polygon->count = count;
	for (int i = 0; i < count; i++)
		polygon->points[i] = (struct point){ (int)random_below(1000), -i };
	return polygon;
}

static struct matrix *make_matrix(size_t rows, size_t columns)
{
	struct matrix *matrix = NEW(struct matrix);

	matrix->rows = rows;
	matrix->columns = columns;
	matrix->row = NEW_ARRAY(double *, rows);
	for (size_t i = 0; i < rows; i++) {
		matrix->row[i] = NEW_ARRAY(double, columns);
		for (size_t j = 0; j < columns; j++)
			matrix->row[i][j] = (double)(i * j) / 3;
	}
	return matrix;
}

static struct sparse *make_sparse(size_t rows)
{
	struct sparse *sparse = NEW(struct sparse);

	sparse->rows = rows;
	sparse->row = NEW_ARRAY(struct cell *, rows);
	sparse->count = NEW_ARRAY(unsigned, rows);
	for (size_t i = 0; i < rows; i++) {
		sparse->count[i] = 1 + random_below(20);
		sparse->row[i] = NEW_ARRAY(struct cell, sparse->count[i]);
		for (unsigned j = 0; j < sparse->count[i]; j++)
			sparse->row[i][j] = (struct cell){ j * 3, (float)i };
	}
	return sparse;
}

static void record(struct recorder *recorder, struct polygon *area, int code)
{
	struct event *event;

	if (recorder->count == recorder->allocated) {
		recorder->allocated = recorder->allocated ? recorder->allocated * 2 : 4;
		recorder->events = RENEW_ARRAY(struct event, recorder->events, recorder->allocated);
	}
	event = &recorder->events[recorder->count++];
	event->at = random_below(1000000);
	event->code = code;
	event->flags = 3;
	event->area = area;
}

static struct tensor *make_tensor(size_t width, size_t height, bool with_gradient)
{
	struct tensor *tensor = NEW_ZEROED(struct tensor);

	tensor->shape[0] = width;
	tensor->shape[1] = height;
	tensor->data = NEW_ARRAY(float, width *height);
	for (size_t i = 0; i < width * height; i++)
		tensor->data[i] = (float)sin((double)i);
	if (with_gradient)
		tensor->gradient = make_tensor(width, height, false);
	return tensor;
}

static struct recorder recorders[100];
static struct tensor *tensors[50];

int main(void)
{
	struct network *network = make_network(1500);
	struct route *routes = NULL;
	struct polygon *polygons = NULL;
	struct matrix *matrix = make_matrix(120, 80);
	struct sparse *sparse = make_sparse(400);
	double sum = 0;

	for (int i = 0; i < 300; i++)
		routes = find_route(network, routes);
	for (int i = 0; i < 500; i++)
		polygons = make_polygon(polygons, 3 + i % 9);
	for (int i = 0; i < 100; i++) {
		recorders[i].bitmap = (unsigned char *)NEW_TEXT(64);
		memset(recorders[i].bitmap, 0, 64);
		for (int j = 0; j < i; j++)
			record(&recorders[i], polygons, j);
	}
	for (size_t i = 0; i < 50; i++)
		tensors[i] = make_tensor(4 + i % 5, 16, i % 2);
	truth_capture();
	for (size_t i = 0; i < 50; i++)
		sum += tensors[i]->data[i % 4];
	printf("%g %g %g %u %u\n", sum, network->places[routes->goal - network->places].x,
	       matrix->row[3][4], sparse->count[7], recorders[99].events[98].flags);
	return polygons->count < 3;
}
