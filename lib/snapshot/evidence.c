// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/snapshot/evidence.h"

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
