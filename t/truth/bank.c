// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Containers that macros make for each type: hash tables whose keys, values and flags are arrays of their own, queues,
 * and growing arrays with a header before the elements, which has the size of one.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

#define TABLE(name, K, V) \
	struct name { \
		uint32_t buckets, size, occupied; \
		uint8_t *flags; \
		K *keys; \
		V *vals; \
	}; \
	static void name##_grow(struct name *t, uint32_t n) \
	{ \
		uint8_t *f = NEW_ZEROED_ARRAY(uint8_t, n); \
		K *k = NEW_ARRAY(K, n); \
		V *v = NEW_ARRAY(V, n); \
		memset(k, 0, n * sizeof *k); \
		memset(v, 0, n * sizeof *v); \
		for (uint32_t i = 0; i < t->buckets; i++) \
			if (t->flags[i]) { \
				uint32_t h = (uint32_t)((uint64_t)(uintptr_t)t->keys[i] * \
								2654435761u >> \
							7) & \
					     (n - 1); \
				while (f[h]) \
					h = (h + 1) & (n - 1); \
				f[h] = 1; \
				k[h] = t->keys[i]; \
				v[h] = t->vals[i]; \
			} \
		if (t->flags) { \
			FREE(t->flags); \
			FREE(t->keys); \
			FREE(t->vals); \
		} \
		t->flags = f; \
		t->keys = k; \
		t->vals = v; \
		t->buckets = n; \
	} \
	static V *name##_put(struct name *t, K key) \
	{ \
		if (t->size * 4 >= t->buckets * 3) \
			name##_grow(t, t->buckets ? t->buckets * 2 : 8); \
		uint32_t h = (uint32_t)((uint64_t)(uintptr_t)key * 2654435761u >> 7) & \
			     (t->buckets - 1); \
		while (t->flags[h]) \
			h = (h + 1) & (t->buckets - 1); \
		t->flags[h] = 1; \
		t->keys[h] = key; \
		t->size++; \
		return &t->vals[h]; \
	}
#define VEC_HEAD(v) ((struct vec_head *)(v)-1)
struct vec_head {
	size_t len, cap;
};

#define TAILQ_ENTRY(T) \
	struct { \
		struct T *next; \
		struct T **prev; \
	}
#define TAILQ_HEAD(name, T) \
	struct name { \
		struct T *first; \
		struct T **last; \
	}
#define TAILQ_INIT(h) ((h)->first = NULL, (h)->last = &(h)->first)
#define TAILQ_INSERT(h, e, f) \
	((e)->f.next = NULL, (e)->f.prev = (h)->last, *(h)->last = (e), (h)->last = &(e)->f.next)
struct account {
	uint64_t id;
	char *owner;
	double balance;
	TAILQ_ENTRY(account) link;
	struct entry *entries;
	TAILQ_ENTRY(account) recent;
};

struct entry {
	uint32_t when;
	int32_t cents;
	char *memo;
};

struct point {
	float lat, lon;
};

struct branch {
	char *city;
	struct point where;
	TAILQ_HEAD(accounts, account) accounts;
	int *codes;
	char **aliases;
};

TABLE(by_id, uint64_t, struct account *)
TABLE(by_name, const char *, struct branch)
TABLE(scores, uint32_t, struct point)
struct bank {
	struct by_id *ids;
	struct by_name *branches;
	struct scores *scores;
	TAILQ_HEAD(recent, account) recent;
};

static struct bank *bank;
static void *vec_grow(void *v, size_t size, const char *type)
{
	struct vec_head *h = v ? VEC_HEAD(v) : NULL;
	size_t cap = h ? h->cap * 2 : 4, len = h ? h->len : 0;
	truth_forget(h);
	h = realloc(h, sizeof *h + cap * size);
	truth_log(h, TRUTH_BEHIND, type, sizeof *h);
	h->cap = cap;
	h->len = len;
	return h + 1;
}

#define VEC_PUSH(T, v, x) \
	do { \
		if (!(v) || VEC_HEAD(v)->len == VEC_HEAD(v)->cap) \
			(v) = vec_grow(v, sizeof *(v), #T); \
		(v)[VEC_HEAD(v)->len++] = (x); \
	} while (0)
static void open_account(struct branch *b, uint64_t id)
{
	struct account *a = NEW_ZEROED(struct account);
	char t[60];
	a->id = id;
	snprintf(t, 60, "owner of account %llu", (unsigned long long)id);
	a->owner = TEXT(strdup(t));
	a->balance = id * 1.25;
	TAILQ_INSERT(&b->accounts, a, link);
	if (id % 3 == 0)
		TAILQ_INSERT(&bank->recent, a, recent);
	for (unsigned k = 0; k < id % 5; k++) {
		struct entry e = { k, (int)(id * k), NULL };
		if (k & 1) {
			snprintf(t, 60, "memo %u of %llu", k, (unsigned long long)id);
			e.memo = TEXT(strdup(t));
		}
		VEC_PUSH(struct entry, a->entries, e);
	}
	*by_id_put(bank->ids, id * 7919) = a;
}

static void leak(void)
{
	for (int i = 0; i < 12; i++) {
		struct account *a = NEW_ZEROED(struct account);
		a->owner = TEXT(strdup("an owner who left long ago"));
		a->id = i;
		struct scores *s = NEW_ZEROED(struct scores);
		s->size = 0;
	}
}

int main(void)
{
	bank = NEW_ZEROED(struct bank);
	TAILQ_INIT(&bank->recent);
	bank->ids = NEW_ZEROED(struct by_id);
	bank->branches = NEW_ZEROED(struct by_name);
	bank->scores = NEW_ZEROED(struct scores);
	by_name_grow(bank->branches, 64);
	char t[40];
	for (int i = 0; i < 20; i++) {
		snprintf(t, 40, "city number %d", i);
		char *city = TEXT(strdup(t));
		struct branch *b = by_name_put(bank->branches, city);
		b->city = city;
		b->where.lat = i;
		TAILQ_INIT(&b->accounts);
		for (int k = 0; k < i; k++)
			VEC_PUSH(int, b->codes, k *i);
		for (int k = 0; k < i % 4; k++) {
			snprintf(t, 40, "alias %d of %d", k, i);
			VEC_PUSH(char *, b->aliases, TEXT(strdup(t)));
		}
		for (int k = 0; k < 60; k++)
			open_account(b, i * 60 + k + 1);
	}
	for (uint32_t i = 1; i < 300; i++)
		scores_put(bank->scores, i)->lat = i;
	leak();
	truth_capture();
	printf("%u\n", bank->ids->size);
	return 0;
}
