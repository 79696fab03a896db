// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef GRAPH_MODEL_H
#define GRAPH_MODEL_H

/**
 * Graphs for tests: snapshots in memory, made by hand or at random, and the objects that can be
 * reached in them, found in a way that is obviously right.
 */

#include "lib/graph/graph.h"
#include "t/helper/snapshot_builder.h"

enum {
	MAX_OBJECTS = 500,
	MAX_ROOTS = 12,
};

static inline uint32_t random_below(uint32_t limit)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 32) * limit >> 32);
}

/** How many random graphs a test takes: a tenth where the environment has SHORT, since each takes long. */
static inline int model_graphs(int all)
{
	const char *is_short = getenv("SHORT");

	return is_short && *is_short ? all / 10 : all;
}

#define MODEL_COLUMNS \
	(HEAP_COLUMN_SIZE | HEAP_COLUMN_EDGES | HEAP_COLUMN_SLOTS | HEAP_COLUMN_QUALITY)

/** Makes a graph of zeros, for the caller to fill in; its objects have 1 to 7 bytes. */
static inline void model_init(struct heap_snapshot *model, uint32_t objects, uint32_t edges,
			      uint32_t roots, uint32_t root_edges)
{
	memset(model, 0, sizeof(*model));
	model->object_count = objects;
	model->edge_count = edges;
	model->root_count = roots;
	model->root_edge_count = root_edges;
	build_columns(model, MODEL_COLUMNS, objects, edges);
	model->roots = build_zeros(roots + 1, sizeof(*model->roots));
	model->root_edges = build_zeros(root_edges + 1, sizeof(*model->root_edges));
	for (uint32_t i = 0; i < objects; i++)
		model->size[i] = 1 + i % 7;
}

static inline void model_deinit(struct heap_snapshot *model)
{
	build_free_columns(model, MODEL_COLUMNS);
	free(model->roots);
	free(model->root_edges);
}

/** Fills in the edges of a model, given by ascending source. */
static inline void model_set_edges(struct heap_snapshot *model, const struct built_edge *edges)
{
	uint32_t count = model->edge_count;

	model->edge_count = 0;
	for (uint32_t i = 0; i < count; i++)
		build_edge(model, edges[i], 0);
	build_end_edges(model);
}

static inline int compare_sources(const void *left, const void *right)
{
	const struct built_edge *a = left, *b = right;

	return (a->source > b->source) - (a->source < b->source);
}

static inline uint32_t random_interior(void)
{
	static const uint32_t interiors[] = { 0, 0, 0, 3, 7, 8, 64, UINT32_MAX };

	return interiors[random_below(sizeof(interiors) / sizeof(*interiors))];
}

/**
 * A graph of 1 to MAX_OBJECTS objects. Objects that point to themselves, several edges
 * between two objects, and parts that nothing reaches, all happen; so do roots without edges.
 */
static inline void model_init_random(struct heap_snapshot *model)
{
	static struct heap_thread threads[2];
	static struct heap_frame frames[6];

	// Small graphs have the interesting shapes, so half of them are.
	uint32_t objects = 1 + random_below(random_below(2) ? MAX_OBJECTS : 12);
	uint32_t edges = random_below(objects * 3), roots = 1 + random_below(MAX_ROOTS);
	uint32_t root_edges = random_below(roots * 2 + 1);
	struct built_edge *random = build_zeros(edges + 1, sizeof(*random));

	model_init(model, objects, edges, roots, root_edges);
	for (uint32_t i = 0; i < edges; i++)
		random[i] = (struct built_edge){
			.source = random_below(objects),
			.target = random_below(objects),
			.interior = random_interior(),
			.flags = (uint8_t)random_below(2),
		};
	qsort(random, edges, sizeof(*random), compare_sources);
	model_set_edges(model, random);
	free(random);
	model->thread_count = 2;
	model->frame_count = 6;
	model->threads = threads;
	model->frames = frames;
	for (uint32_t i = 0; i < roots; i++) {
		model->roots[i].kind = (uint8_t)random_below(HEAP_ROOT_KINDS);
		model->roots[i].thread = random_below(model->thread_count);
		model->roots[i].frame = model->roots[i].thread * 3 + random_below(3);
	}
	for (uint32_t i = 0, root = 0; i < root_edges; i++) {
		root += random_below(2);
		model->root_edges[i] = (struct heap_root_edge){
			.root = root < roots ? root : roots - 1,
			.target = random_below(objects),
			.interior = random_interior(),
			.flags = (uint8_t)random_below(2),
		};
	}
}

/** True if a pointer counts as one to a start: low bits of a typed one may be a tag. */
static inline bool model_is_start(uint32_t interior, uint8_t flags)
{
	return interior == 0 || (interior < 8 && flags == HEAP_EDGE_TYPED);
}

struct model_limits {
	bool starts_only;      /**< by pointers to starts alone */
	const uint8_t *levels; /**< [objects] by pointers of an object's own level; NULL: by all */
	uint32_t without;      /**< not through this node: object, or objects + root; UINT32_MAX */
	uint32_t root;         /**< from this root alone; UINT32_MAX: from all */
};

#define MODEL_NO_LIMITS ((struct model_limits){ .without = UINT32_MAX, .root = UINT32_MAX })

/** The calls between a variable's and the outermost one of its thread that holds objects. */
static inline uint8_t model_call_level(const struct heap_snapshot *model,
				       const struct heap_root *root)
{
	uint32_t outermost = 0;

	for (uint64_t i = 0; i < model->root_edge_count; i++) {
		const struct heap_root *other = &model->roots[model->root_edges[i].root];

		if (other->kind == HEAP_ROOT_LOCAL && other->thread == root->thread &&
		    other->frame > outermost)
			outermost = other->frame;
	}
	return model->frame_count > 0 ? (uint8_t)(outermost - root->frame) : 0;
}

/** A root's rank: variables first, by the calls between them and the outermost one, then registers... */
static inline uint32_t model_rank(const struct heap_snapshot *model, const struct heap_root *root)
{
	switch (root->kind) {
	case HEAP_ROOT_LOCAL:
		return model_call_level(model, root);
	case HEAP_ROOT_REGISTER:
		return 1 * HEAP_LEVELS + HEAP_LEVEL_WORD;
	case HEAP_ROOT_SEGMENT:
		return 2 * HEAP_LEVELS + HEAP_LEVEL_DATA;
	case HEAP_ROOT_STACK:
		return 2 * HEAP_LEVELS + HEAP_LEVEL_WORD;
	case HEAP_ROOT_MAPPING:
		return 3 * HEAP_LEVELS + HEAP_LEVEL_WORD;
	default:
		return 0;
	}
}

/** A root edge's level as lib/graph/graph.h tells it. */
static inline uint8_t model_edge_level(const struct heap_snapshot *model,
				       const struct heap_root_edge *edge)
{
	uint8_t kind = model->roots[edge->root].kind;

	if (kind == HEAP_ROOT_REGISTER || kind == HEAP_ROOT_STACK || kind == HEAP_ROOT_MAPPING)
		return HEAP_LEVEL_WORD;
	if (kind == HEAP_ROOT_SEGMENT || (edge->interior && !(edge->flags & HEAP_EDGE_TYPED)))
		return HEAP_LEVEL_DATA;
	return kind == HEAP_ROOT_LOCAL ? model_call_level(model, &model->roots[edge->root]) : 0;
}

/** Marks the objects that can be reached within limits. @param reached  [objects] */
static inline void model_reach(const struct heap_snapshot *model, struct model_limits limits,
			       uint8_t *reached)
{
	uint32_t pending[MAX_OBJECTS], count = 0;

	memset(reached, 0, model->object_count);
	for (uint64_t i = 0; i < model->root_edge_count; i++) {
		const struct heap_root_edge *edge = &model->root_edges[i];

		if ((limits.starts_only && !model_is_start(edge->interior, edge->flags)) ||
		    model->object_count + edge->root == limits.without ||
		    edge->target == limits.without || reached[edge->target] ||
		    (limits.levels &&
		     limits.levels[edge->target] != model_edge_level(model, edge)) ||
		    (limits.root != UINT32_MAX && limits.root != edge->root))
			continue;
		reached[edge->target] = 1;
		pending[count++] = edge->target;
	}
	while (count > 0) {
		uint32_t object = pending[--count];

		for (uint32_t i = model->edge_first[object]; i < model->edge_first[object + 1];
		     i++) {
			uint32_t target = model->edge_target[i];

			if ((limits.starts_only &&
			     !model_is_start(model->edge_interior[i], model->edge_flags[i])) ||
			    (limits.levels && limits.levels[object] != limits.levels[target]) ||
			    target == limits.without || reached[target])
				continue;
			reached[target] = 1;
			pending[count++] = target;
		}
	}
}

/** The surest level of root edges that reach each object; UINT8_MAX: none does. */
static inline void model_find_levels(const struct heap_snapshot *model, uint8_t *levels)
{
	memset(levels, UINT8_MAX, model->object_count);
	for (uint8_t level = 0; level < HEAP_LEVELS; level++) {
		bool changed = true;

		for (uint64_t i = 0; i < model->root_edge_count; i++) {
			const struct heap_root_edge *edge = &model->root_edges[i];

			if (levels[edge->target] > level && model_edge_level(model, edge) == level)
				levels[edge->target] = level;
		}
		while (changed) {
			changed = false;
			for (uint32_t i = 0; i < model->object_count; i++) {
				for (uint32_t j = model->edge_first[i];
				     levels[i] == level && j < model->edge_first[i + 1]; j++) {
					if (levels[model->edge_target[j]] > level) {
						levels[model->edge_target[j]] = level;
						changed = true;
					}
				}
			}
		}
	}
}

/** Gives objects types and one size, all from one site, and each root the object of its number. */
static inline void model_set_types(struct heap_snapshot *model, const heap_type_id *types,
				   uint32_t type_count, uint64_t size)
{
	model->types.count = type_count;
	model->site_count = 1;
	model->type = calloc(model->object_count, sizeof(*model->type));
	model->site = calloc(model->object_count, sizeof(*model->site));
	for (uint32_t i = 0; i < model->object_count; i++) {
		model->type[i] = types[i];
		model->size[i] = size;
	}
	for (uint32_t i = 0; i < model->root_count; i++)
		model->root_edges[i] = (struct heap_root_edge){ .root = i, .target = i };
}

/** The model's graph, with its reverse edges; a macro, so that a failure names the test. */
#define model_graph(model) \
	({ \
		struct heap_graph *graph_; \
		assert_null(heap_graph_create(model, &graph_)); \
		assert_null(heap_graph_need_reverse(graph_)); \
		graph_; \
	})

#endif
