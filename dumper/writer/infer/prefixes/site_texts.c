// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/prefixes/site_texts.h"

enum {
	MIN_SUPPORT = 8, // blocks
	MIN_LEAD = 10,   // times as many must speak for a place as against it
};

void site_texts_note(struct site_text *text, uint32_t offset, bool is_text)
{
	if (text->lead == 0 && is_text)
		text->lead = offset;
	if (is_text && text->lead == offset)
		text->supporting++;
	else
		text->others++;
}

uint32_t site_texts_lead(const struct site_text *text)
{
	return text->supporting >= MIN_SUPPORT &&
			       text->supporting >= MIN_LEAD * (uint64_t)text->others
		       ? text->lead
		       : 0;
}
