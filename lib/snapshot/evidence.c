// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/snapshot/evidence.h"

#include <stdlib.h>
#include <string.h>

static const char *const evidence_names[HEAP_EVIDENCE_KINDS] = {
	[HEAP_EVIDENCE_NONE] = "none",
	[HEAP_EVIDENCE_DECLARED] = "declared",
	[HEAP_EVIDENCE_VTABLE] = "vtable",
	[HEAP_EVIDENCE_POINTER] = "pointer",
	[HEAP_EVIDENCE_EMBEDDING] = "embedding",
	[HEAP_EVIDENCE_SITE] = "site",
	[HEAP_EVIDENCE_VOTE] = "vote",
	[HEAP_EVIDENCE_POOL] = "pool",
	[HEAP_EVIDENCE_TAG] = "tag",
	[HEAP_EVIDENCE_METHODS] = "methods",
	[HEAP_EVIDENCE_SHAPE] = "shape",
	[HEAP_EVIDENCE_CAST] = "cast",
};

const char *heap_evidence_name(enum heap_evidence evidence)
{
	return evidence < HEAP_EVIDENCE_KINDS ? evidence_names[evidence] : "unknown";
}

char *heap_evidence_list(void)
{
	size_t size = 1;
	char *list, *at;

	for (int i = 0; i < HEAP_EVIDENCE_KINDS; i++)
		size += strlen(evidence_names[i]) + 2;
	list = at = malloc(size);
	for (int i = 0; list && i < HEAP_EVIDENCE_KINDS; i++) {
		if (i > 0)
			at = stpcpy(at, ", ");
		at = stpcpy(at, evidence_names[i]);
	}
	return list;
}
