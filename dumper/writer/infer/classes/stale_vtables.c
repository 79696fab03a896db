// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/classes/stale_vtables.h"

bool stale_vtables_explain(const struct inference *inference, heap_object_id object,
			   heap_type_id type)
{
	return inference->claims.name_rank[object] == RANK_VTABLE &&
	       inference_fit(inference, type, object).fit == LAYOUT_EXACT &&
	       heap_types_begins_with_hole(inference->layouts.types, type);
}
