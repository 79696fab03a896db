// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A wide graph, whose typed pointers contradict each other: most rounds of type inference name thousands of
 * blocks, and many blocks are claimed by several pointers of one round, of several types and sizes.
 * t/capture/writer-threads.t captures it with different numbers of threads.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

enum {
	NODES = 20000,
};

struct left {
	struct left *next;
	void *right;
	uint64_t number;
};

struct right {
	struct right *next;
	struct left *left;
	double weight;
};

union either {
	struct left *left;
	struct right *right;
};

struct node {
	struct node *other;
	union either either;
	struct left *left;
	char *text;
};

static struct node **nodes;
static std::vector<struct node *> *chosen;

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

// Blocks of a few sizes, so that a pointer's type fits some and not others.
static void *make(uint64_t *state)
{
	static const size_t sizes[] = { 24, 24, 24, 48, 40, 72 };

	return calloc(1, sizes[next(state) % 6]);
}

static void link(struct node *node, void **others, uint64_t *state)
{
	struct left *left = (struct left *)make(state);

	left->next = (struct left *)others[next(state) % NODES];
	left->right = others[next(state) % NODES];
	node->other = nodes[next(state) % NODES];
	node->either.left = (struct left *)others[next(state) % NODES];
	node->left = next(state) % 2 ? left : (struct left *)others[next(state) % NODES];
	if (next(state) % 4 == 0) {
		node->text = (char *)malloc(16);
		snprintf(node->text, 16, "node %u", (unsigned)(next(state) % 1000));
	}
}

int main()
{
	uint64_t state = 88172645463325252u;
	void **others = (void **)malloc(NODES * sizeof(*others));

	nodes = (struct node **)malloc(NODES * sizeof(*nodes));
	chosen = new std::vector<struct node *>;
	for (size_t i = 0; i < NODES; i++) {
		nodes[i] = (struct node *)malloc(i % 5 ? sizeof(struct node)
						       : 3 * sizeof(struct node));
		others[i] = make(&state);
	}
	for (size_t i = 0; i < NODES; i++) {
		link(nodes[i], others, &state);
		*(void **)others[i] = others[next(&state) % NODES];
		if (i % 7 == 0)
			chosen->push_back(nodes[i]);
	}
	setvbuf(stdin, nullptr, _IONBF,
		0); // or getchar() allocates a buffer after the first snapshot
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
