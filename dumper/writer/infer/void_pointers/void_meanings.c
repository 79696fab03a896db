// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/void_pointers/void_meanings.h"

#include "dumper/writer/infer/majority.h"
#include "dumper/writer/scan/sites.h"

#include <string.h>

enum {
	MAX_DEPTH = 8,
	MIN_TAGGED = 4,   // targets, for their tags to count
	TAGGED = 80,      // per cent of them
	MIN_MEASURED = 8, // targets, for their lengths to count
	MIN_EQUAL = 16,   // targets of one size, for their lengths to count
	MIN_VOTERS = 5,   // targets with a name, for the others to have it
	MIN_FEW = 3,      // where contents speak for all others
	AGREEING = 95,    // per cent of them
	MIN_HANDLED = 8,  // targets, for a callback to tell their type by its size alone
	MAX_COMPARED =
		1 << 18, // types, with the contents of what all single indexes of arrays lead to
};

static bool are_enough(uint32_t part, uint32_t all, uint32_t per_cent)
{
	return part * UINT64_C(100) >= all * (uint64_t)per_cent;
}

// True for the pointers with one index of an array, or of one context.
static bool is_narrow(const struct void_place *place)
{
	return place->callback & (VOID_CONTEXT | VOID_INDEX);
}

static bool are_tagged(const struct void_search *search, const struct void_place *place)
{
	uint32_t tagged = 0;

	for (uint32_t i = 0; i < place->kept; i++)
		tagged += enum_tags_fit(search->inference, place->samples[i].target, search->words)
				  .fit != LAYOUT_NONE;
	return place->kept >= MIN_TAGGED && are_enough(tagged, place->kept, TAGGED);
}

// True if nearly all targets have their own length at a place. If all are of one size, there have to be many.
static bool are_measured(const struct void_search *search, const struct void_place *place,
			 const struct self_length *length)
{
	uint32_t measured = 0;
	bool have_sizes = false;

	for (uint32_t i = 0; i < place->kept; i++) {
		measured += self_lengths_hold(search->inference, length, place->samples[i].target);
		have_sizes |= inference_size(search->inference, place->samples[i].target) !=
			      inference_size(search->inference, place->samples[0].target);
	}
	return (have_sizes || place->kept >= MIN_EQUAL) &&
	       are_enough(measured, place->kept, AGREEING);
}

// Finds the only struct whose length the targets have.
static bool find_length(const struct void_search *search, struct void_place *place)
{
	uint32_t found = 0;

	for (size_t i = 0; place->kept >= MIN_MEASURED && i < search->lengths.count; i++) {
		if (!are_measured(search, place, &search->lengths.items[i]))
			continue;
		place->length = search->lengths.items[i];
		found++;
	}
	return found == 1;
}

// Finds out if the targets are bytes.
static bool find_bytes(const struct void_search *search, struct void_place *place)
{
	const struct inference *inference = search->inference;

	place->length.type = heap_types_find(inference->layouts.types, "char", 0);
	return place->length.type != HEAP_NO_TYPE &&
	       byte_lengths_find(inference, place->type, place->offset, place->samples, place->kept,
				 &place->number);
}

// True if a block is a text, or may be one.
static bool may_be_text(const struct void_search *search, heap_object_id object)
{
	const struct inference *inference = search->inference;
	struct content content;

	if (!claims_lack(&inference->claims, object))
		return layouts_is_character(&inference->layouts, inference_type(inference, object));
	content_read(inference, object, search->words, &content);
	return content_is_text(inference, &content, inference_size(inference, object));
}

// True if a block may as well begin with a small number as with a text of one letter.
static bool may_be_number(const struct void_search *search, heap_object_id object)
{
	struct content content;

	content_read(search->inference, object, search->words, &content);
	return content.count > 0 && memchr(search->words, '\0', sizeof(uint16_t));
}

// True if all targets are texts, and most are longer than numbers that look like one.
static bool find_texts(const struct void_search *search, struct void_place *place)
{
	uint32_t numbers = 0;

	place->length.type = heap_types_find(search->inference->layouts.types, "char", 0);
	if (place->length.type == HEAP_NO_TYPE || place->kept < MIN_TAGGED)
		return false;
	for (uint32_t i = 0; i < place->kept; i++) {
		if (!may_be_text(search, place->samples[i].target))
			return false;
		numbers += may_be_number(search, place->samples[i].target);
	}
	return numbers * 2 < place->kept;
}

// Scores the content of a target as what it may be of a type. @return false: its size, hints or name contradict that
static bool score_target(const struct void_search *search, heap_object_id target, heap_type_id type,
			 const struct layout_claim *claim, int *score)
{
	const struct inference *inference = search->inference;
	struct content content;

	if (claim->fit == LAYOUT_NONE || hints_ask(inference, target, type) == VERDICT_AGAINST ||
	    (claims_are_good(&inference->claims, target) &&
	     inference_type(inference, target) != type))
		return false;
	content_read(inference, target, search->words, &content);
	*score = content_score(inference, &content, type, claim->elements);
	return true;
}

// Targets that may be of a type.
struct agreement {
	uint32_t agreeing; // no content, hint or name contradicts
	uint32_t proving;  // content speaks for it, too
	uint32_t sized;    // or their sizes are exact
	int64_t score;     // how much content speaks for it, of all that agree
};

static struct agreement count_agreement(const struct void_search *search,
					const struct void_place *place, heap_type_id type)
{
	const struct inference *inference = search->inference;
	struct agreement result = { 0 };

	for (uint32_t i = 0; i < place->kept; i++) {
		heap_object_id target = place->samples[i].target;
		struct layout_claim claim = inference_fit_with_rest(inference, type, target);
		int score;

		if (claim.elements != 1 || !score_target(search, target, type, &claim, &score))
			continue;
		result.agreeing += score >= 0;
		result.proving += score > 0;
		result.sized += score > 0 || inference_slack(inference, target) == 0;
		result.score += score > 0 ? score : 0;
	}
	return result;
}

// True if nearly all targets may be of a type. Where sizes are not exact, contents speak for it, or there are many.
static bool do_agree(const struct void_place *place, const struct agreement *agreement)
{
	return (agreement->sized > 0 || place->kept >= MIN_HANDLED) &&
	       are_enough(agreement->agreeing, place->kept, AGREEING);
}

static bool may_all_be(const struct void_search *search, const struct void_place *place,
		       heap_type_id type)
{
	const struct agreement agreement = count_agreement(search, place, type);

	return do_agree(place, &agreement);
}

// True if few targets have a name, but all of these the same, and the contents of nearly all others speak for it.
static bool are_few_right(const struct void_search *search, struct void_place *place,
			  uint32_t voters, uint32_t votes)
{
	place->is_few = search->by_content && voters >= MIN_FEW && votes == voters &&
			layouts_is_compound(&search->inference->layouts, place->length.type) &&
			are_enough(count_agreement(search, place, place->length.type).proving,
				   place->kept, AGREEING);
	return place->is_few;
}

// True if nearly all targets with a name are of a type, and not only the samples: an even step may pass over others.
static bool have_name(const struct void_place *place, heap_type_id type)
{
	return place->names.value == type &&
	       are_enough((uint32_t)place->names.lead, place->voters, AGREEING - (100 - AGREEING));
}

// Finds the type of nearly all targets that have a name.
static bool find_vote(const struct void_search *search, struct void_place *place)
{
	const struct inference *inference = search->inference;
	struct majority majority = { 0 };
	uint32_t voters = 0, votes = 0;
	heap_type_id elected;

	for (uint32_t i = 0; i < place->kept; i++) {
		heap_type_id type = inference_type(inference, place->samples[i].target);

		if (!claims_are_good(&inference->claims, place->samples[i].target))
			continue;
		voters++;
		majority_add(&majority, type);
	}
	elected = (heap_type_id)majority.value;
	for (uint32_t i = 0; i < place->kept; i++)
		votes += inference_type(inference, place->samples[i].target) == elected &&
			 claims_are_good(&inference->claims, place->samples[i].target);
	place->length.type = elected;
	place->is_partial =
		voters < place->kept || !are_enough(place->voters, place->pointers, AGREEING);
	if (voters * 2 < place->kept)
		return are_few_right(search, place, voters, votes);
	return voters >= MIN_VOTERS && are_enough(votes, voters, AGREEING) &&
	       have_name(place, elected) && layouts_is_compound(&inference->layouts, elected);
}

// True if a type is what has the pointer, or a part of that: functions get such, too. What std::function calls gets the
// union in it that has the pointer to the functor.
static bool has_pointer(const struct layouts *layouts, const struct void_place *place,
			heap_type_id type)
{
	uint64_t size = layouts_size(layouts, type);

	if (type == place->type)
		return true;
	for (uint64_t before = 0; before < size && before <= place->offset; before += 8) {
		if (layouts_has(layouts, place->type, type, place->offset - before))
			return true;
	}
	return false;
}

// True if most functions of a table that handle any of two types handle the first: what they get is its receiver, and the
// other one some parameter.
static bool is_rather(const struct method_receiver *one, const struct method_receiver *other)
{
	return one->functions >= 2 * other->functions;
}

struct handled {
	const struct method_receiver *receiver; // NULL: there is none yet
	bool is_cast;                           // code takes the pointer for it
	int64_t score;                          // of all targets
};

// True if targets are rather the first: more functions handle it, code takes the pointer for it alone, or contents agree
// better with it by a pointer each, as with the arguments of a job and not its result, which the same function handles.
static bool is_rather_handled(const struct void_place *place, const struct handled *one,
			      const struct handled *other)
{
	if (!other->receiver || is_rather(one->receiver, other->receiver))
		return true;
	// Functions of what leads to the container may have to do with other values.
	if (is_rather(other->receiver, one->receiver) || (place->callback & VOID_CONTEXT))
		return false;
	if (one->is_cast != other->is_cast)
		return one->is_cast;
	return one->score >= other->score + place->kept;
}

static bool is_among(const struct void_casts *casts, heap_type_id type)
{
	for (uint32_t i = 0; i < casts->count; i++) {
		if (casts->types[i] == type)
			return true;
	}
	return false;
}

// Holds a struct that functions handle against the targets. @return false: they are none of it
static bool read_handled(const struct void_search *search, const struct void_place *place,
			 const struct void_casts *casts, const struct method_receiver *receiver,
			 struct handled *result)
{
	const struct layouts *layouts = &search->inference->layouts;
	struct agreement agreement;

	if (!layouts_is_compound(layouts, receiver->type) ||
	    has_pointer(layouts, place, receiver->type))
		return false;
	agreement = count_agreement(search, place, receiver->type);
	*result = (struct handled){ receiver, is_among(casts, receiver->type), agreement.score };
	return do_agree(place, &agreement);
}

// Finds the structs that a function, or those of a table, handle and that the targets may be. @return false: several
static bool add_handled(const struct void_search *search, const struct void_place *place,
			const struct method_table *functions, heap_type_id *found)
{
	const struct inference *inference = search->inference;
	const struct method_tables *tables = &inference->pointer_tags.tables;
	const struct void_casts casts = void_casts_gather(inference, place->type, place->offset);
	struct handled best = { NULL, false, 0 };
	bool is_clear = true;

	for (uint32_t i = 0; functions && i < functions->receivers; i++) {
		struct handled one;

		if (!read_handled(search, place, &casts,
				  &tables->receivers.items[functions->first_receiver + i], &one))
			continue;
		if (is_rather_handled(place, &one, &best)) {
			is_clear = true;
			best = one;
		} else if (!is_rather_handled(place, &best, &one)) {
			is_clear = false;
			if (one.receiver->functions > best.receiver->functions)
				best = one;
		}
	}
	if (!best.receiver || best.receiver->type == *found)
		return is_clear;
	if (!is_clear || *found != HEAP_NO_TYPE)
		return false;
	*found = best.receiver->type;
	return true;
}

// Likewise those of the functions of the containers on the path of a context.
static bool add_handled_by_context(const struct void_search *search, const struct void_place *place,
				   heap_type_id *found)
{
	const struct method_tables *tables = &search->inference->pointer_tags.tables;
	const struct void_context *context =
		void_contexts_get(&search->contexts, (uint32_t)place->callback);

	for (int depth = 0; context && depth < MAX_DEPTH; depth++) {
		for (uint32_t i = 0; i < context->count; i++) {
			if (!add_handled(search, place,
					 method_tables_find_callback(tables, context->functions[i]),
					 found))
				return false;
		}
		context = void_contexts_get(&search->contexts, context->parent);
	}
	return true;
}

// Likewise those that a function was instantiated for.
static bool add_instantiated(const struct void_search *search, const struct void_place *place,
			     heap_type_id *found)
{
	size_t count;
	const heap_type_id *types = template_arguments_find(&search->inference->template_arguments,
							    place->callback, &count);

	for (size_t i = 0; i < count; i++) {
		if (types[i] == *found ||
		    has_pointer(&search->inference->layouts, place, types[i]) ||
		    !may_all_be(search, place, types[i]))
			continue;
		if (*found != HEAP_NO_TYPE)
			return false;
		*found = types[i];
	}
	return true;
}

// The fit of what a template's argument names: one value, or several. What the argument leads to may be a header.
static struct layout_claim fit_content(const struct inference *inference,
				       const struct thin_content *content, heap_object_id target)
{
	struct layout_claim claim = inference_fit(inference, content->type, target);

	if (content->is_node && claim.elements != 1)
		claim.fit = LAYOUT_NONE;
	if (claim.fit != LAYOUT_NONE || content->is_node)
		return claim;
	claim = layouts_fit_weakly(&inference->layouts, content->type, 0,
				   inference_size(inference, target),
				   inference_slack(inference, target));
	if (claim.fit == LAYOUT_ARRAY ||
	    (claim.fit == LAYOUT_SLACK && (claim.elements > 1 || content->is_behind)))
		return claim;
	return (struct layout_claim){ LAYOUT_NONE, HEAP_NO_TYPE, 0 };
}

// How well targets agree with what the template around the pointers names, if nearly all may be that; or -1.
//
// @param is_alone  each is one value, no array
static int64_t score_content(const struct void_search *search, const struct void_place *place,
			     const struct thin_content *named, bool is_alone)
{
	const struct inference *inference = search->inference;
	uint32_t agreeing = 0;
	int64_t sum = 0;

	for (uint32_t i = 0; i < place->kept; i++) {
		heap_object_id target = place->samples[i].target;
		struct layout_claim claim = fit_content(inference, named, target);
		struct content content;
		int score;

		if (claim.fit == LAYOUT_NONE || (is_alone && claim.elements != 1) ||
		    hints_ask(inference, target, named->type) == VERDICT_AGAINST ||
		    (claims_are_good(&inference->claims, target) &&
		     inference_type(inference, target) != claim.type))
			continue;
		content_read(inference, target, search->words, &content);
		score = content_score(inference, &content, claim.type, claim.elements);
		agreeing += score >= 0;
		sum += score >= 0 ? score : 0;
	}
	return are_enough(agreeing, place->kept, AGREEING) ? sum : -1;
}

// Finds the only one of the types that the template around the pointers names that the targets may be. Values lie in nodes,
// whose links tell them: what agrees better with a node than with one value is one.
static const struct thin_content *choose_named(const struct void_search *search,
					       const struct void_place *place,
					       const struct thin_template *template)
{
	const struct inference *inference = search->inference;
	const struct thin_content *found = NULL;
	int64_t best = -1;
	bool is_clear = true;

	for (uint32_t i = 0; i < template->contents; i++) {
		const struct thin_content *content =
			&inference->thin_templates.contents.items[template->first_content + i];
		int64_t score =
			has_pointer(&inference->layouts, place, content->type)
				? -1
				: score_content(search, place, content, found && found->is_node);

		if (score < 0)
			continue;
		if (!found || !found->is_node || content->is_node) {
			is_clear = !found;
			found = content;
			best = score;
		} else if (score >= best) {
			is_clear = false;
		}
	}
	return is_clear ? found : NULL;
}

// Finds the only one of what the template around the pointers names that the targets may be.
static bool find_named(const struct void_search *search, struct void_place *place)
{
	const struct inference *inference = search->inference;
	const struct thin_templates *templates = &inference->thin_templates;
	const struct thin_template *template =
		thin_templates_find(templates, &inference->layouts, place->type, place->offset);
	const struct thin_content *found = template ? choose_named(search, place, template) : NULL;

	if (!found)
		return false;
	place->length.type = found->type;
	place->named = found;
	place->is_handled = true;
	return true;
}

// Finds the only struct that the callback, the functions of a table, or of containers, handle and that the targets may be.
static bool find_handled(const struct void_search *search, struct void_place *place)
{
	const struct method_tables *tables = &search->inference->pointer_tags.tables;
	const struct method_table *functions = NULL;
	heap_type_id found = HEAP_NO_TYPE;
	bool is_clear;

	if (place->callback & VOID_CONTEXT) {
		is_clear = add_handled_by_context(search, place, &found);
	} else {
		if (place->callback != 0)
			functions = method_tables_find_callback(tables, place->callback);
		if (place->callback != 0 && !functions)
			functions = method_tables_find(tables, place->callback);
		is_clear = add_handled(search, place, functions, &found);
		if (is_clear && found == HEAP_NO_TYPE)
			is_clear = add_instantiated(search, place, &found);
	}
	place->is_contested = !is_clear;
	if (!is_clear)
		found = HEAP_NO_TYPE;
	place->length.type = found;
	place->is_handled = found != HEAP_NO_TYPE;
	return place->is_handled;
}

// True if the type of a block may be known: not if its code has no debug information.
static bool may_be_known(const struct capture *capture, heap_object_id object)
{
	return sites_has_types(capture,
			       capture->site_of_kind[objects_kind(&capture->objects, object)]);
}

// True if the values may be compared with all types of their size. Of single indexes of arrays there are many, and each would
// be.
static bool may_compare(struct void_search *search, const struct void_place *place)
{
	if (!(place->callback & VOID_INDEX))
		return true;
	search->compared += deep_content_rivals(&search->deep, &search->values);
	return search->compared <= MAX_COMPARED;
}

// Finds the type by the contents of targets, if none has a name.
HEAP_MUST_CHECK
static struct heap_error *find_content(struct void_search *search, struct void_place *place,
				       bool *is_found)
{
	struct inference *inference = search->inference;

	*is_found = false;
	search->values.count = 0;
	for (uint32_t i = 0; i < place->kept; i++) {
		heap_object_id target = place->samples[i].target;

		if (inference->claims.rank[target] != RANK_NONE ||
		    pools_have(&inference->pools, target) ||
		    !may_be_known(inference->capture, target))
			return NULL;
		HEAP_TRY(heap_array_append(
			&search->values,
			((struct deep_value){ target, 0, inference_size(inference, target),
					      inference_slack(inference, target) })));
	}
	if (!search->deep.inference)
		HEAP_TRY(deep_content_init(&search->deep, inference));
	if (!may_compare(search, place))
		return NULL;
	place->length.type = deep_content_choose(&search->deep, &search->values, false);
	// Those of one context are few, so that they agree with something far by chance.
	*is_found = place->length.type != HEAP_NO_TYPE &&
		    (!is_narrow(place) || deep_content_is_near(&search->deep, place->length.type));
	return NULL;
}

// Finds out if targets are among the structs that the pointer is cast to. Where nearly all are, and of one type, there
// are hardly any others; else size or contents have to speak for each.
static bool find_casts(const struct void_search *search, struct void_place *place)
{
	heap_type_id type = HEAP_NO_TYPE;
	uint32_t known = 0;

	place->is_mixed = false;
	// Those that code has an array of any pointers of are too many for the contents of one block to choose.
	if (layouts_is_pointer(&search->inference->layouts, place->type))
		return false;
	place->casts = void_casts_gather(search->inference, place->type, place->offset);
	for (uint32_t i = 0; place->casts.count > 0 && i < place->kept; i++) {
		struct void_cast_choice choice = void_casts_choose(
			search->inference, &place->casts, place->samples[i].target, search->words);

		if (choice.claim.fit == LAYOUT_NONE && !choice.is_ambiguous)
			continue;
		place->is_mixed |= choice.is_ambiguous || (known > 0 && choice.claim.type != type);
		type = choice.claim.type;
		known++;
	}
	// In another context than a small one there may be what the casts are for.
	place->is_partial = !are_enough(known, place->kept, AGREEING) ||
			    (is_narrow(place) && place->kept < MIN_HANDLED);
	return known > 0;
}

// The claim of a struct that a place may be cast to on a target: one value, or several in a row.
static struct layout_claim fit_one_cast(const struct inference *inference, heap_type_id type,
					heap_object_id target)
{
	struct layout_claim claim = inference_fit(inference, type, target);

	if (claim.fit == LAYOUT_EXACT || claim.fit == LAYOUT_ARRAY)
		return claim;
	claim = layouts_fit_weakly(&inference->layouts, type, 0, inference_size(inference, target),
				   inference_slack(inference, target));
	return claim.fit == LAYOUT_ARRAY ? claim
					 : (struct layout_claim){ LAYOUT_NONE, HEAP_NO_TYPE, 0 };
}

// Targets of a narrow place that may be of a type to which it is cast.
struct cast_agreement {
	uint32_t agreeing;
	int64_t score;
};

static struct cast_agreement count_casts(const struct void_search *search,
					 const struct void_place *place, heap_type_id type)
{
	const struct inference *inference = search->inference;
	struct cast_agreement result = { 0 };

	for (uint32_t i = 0; i < place->kept; i++) {
		heap_object_id target = place->samples[i].target;
		struct layout_claim claim = fit_one_cast(inference, type, target);
		int score;

		if (!score_target(search, target, type, &claim, &score))
			continue;
		result.agreeing += score >= 0;
		result.score += score;
	}
	return result;
}

// The casts of the pointers with one index of an array. Where code has a constant for the index, they are those of that
// element; else it counts from the first one.
static struct void_casts gather_by_index(const struct void_search *search,
					 const struct void_place *place)
{
	const struct inference *inference = search->inference;
	struct void_casts result;

	if (layouts_is_pointer(&inference->layouts, place->type))
		return void_casts_gather(inference, place->type, 0);
	result = void_casts_gather(inference, place->type, place->exact);
	if (result.count > 0 || place->exact == place->offset)
		return result;
	result = void_casts_gather(inference, place->type, place->offset);
	// A single one may be for the first element alone.
	return result.count > 1 ? result : (struct void_casts){ .count = 0 };
}

// Those of the pointers in one context: what code says of the innermost container that it knows.
static struct void_casts gather_by_context(const struct void_search *search,
					   const struct void_place *place)
{
	const struct void_context *context =
		void_contexts_get(&search->contexts, (uint32_t)place->callback);
	struct void_casts result = { .count = 0 };

	for (int depth = 0; context && depth < MAX_DEPTH && result.count == 0; depth++) {
		result = void_casts_gather_within(search->inference, place->type, place->offset,
						  &context->origin);
		context = void_contexts_get(&search->contexts, context->parent);
	}
	return result;
}

// True if it is likely that there is nothing else in a context than what code is known to have there: it may have more that is
// not known, but hardly of a large size, or of such contents.
static bool is_likely_alone(const struct void_search *search, const struct void_place *place,
			    const struct cast_agreement *agreement)
{
	return (place->callback & VOID_INDEX) || agreement->score >= place->kept ||
	       layouts_size(&search->inference->layouts, place->length.type) >= VOID_CASTS_RARE;
}

// Finds the only struct that the pointers with one index, or in one context, are cast to and that nearly all of them may
// be. Of several that which the contents agree better with by a pointer each; of a few pointers contents choose badly. What
// may be in any container only speaks against the others.
static bool find_one_cast(const struct void_search *search, struct void_place *place)
{
	bool is_few = place->kept < MIN_HANDLED;
	struct cast_agreement best = { 0 };
	bool is_clear = false;

	if (!is_narrow(place) || ((place->callback & VOID_INDEX) && is_few))
		return false;
	place->casts = place->callback & VOID_INDEX ? gather_by_index(search, place)
						    : gather_by_context(search, place);
	for (uint32_t i = 0; i < place->casts.count; i++) {
		struct cast_agreement found = count_casts(search, place, place->casts.types[i]);

		if (!are_enough(found.agreeing, place->kept, AGREEING))
			continue;
		if (best.agreeing > 0 && found.score <= best.score) {
			is_clear &= !is_few && best.score >= found.score + place->kept;
			continue;
		}
		is_clear =
			best.agreeing == 0 || (!is_few && found.score >= best.score + place->kept);
		is_clear &= place->casts.depths[i] != VOID_CASTS_ANYWHERE;
		best = found;
		place->length.type = place->casts.types[i];
	}
	return is_clear && is_likely_alone(search, place, &best);
}

static void means_cast(struct void_place *place)
{
	place->meaning = MEANS_CAST;
	// It is no vote, which siblings that are something else would take away.
	place->rank = RANK_EMBEDDED;
}

// Finds a meaning where nothing but the contents of the targets tells it.
HEAP_MUST_CHECK
static struct heap_error *find_meaning_by_content(struct void_search *search,
						  struct void_place *place, bool *is_found)
{
	*is_found = true;
	if (find_bytes(search, place)) {
		place->meaning = MEANS_BYTES;
		place->rank = RANK_TEXT;
		return NULL;
	}
	// Structs of pointers alone look like these, and those with one index are few.
	if (search->void_pointer != HEAP_NO_TYPE && !(place->callback & VOID_INDEX) &&
	    void_arrays_find(&place->arrays, search->inference, search->void_pointer,
			     search->words)) {
		place->meaning = MEANS_POINTERS;
		place->length.type = search->void_pointer;
		place->rank = RANK_ARRAY;
		return NULL;
	}
	if (find_texts(search, place)) {
		place->meaning = MEANS_TEXT;
		place->rank = RANK_TEXT;
		return NULL;
	}
	HEAP_TRY(find_content(search, place, is_found));
	if (*is_found)
		place->meaning = MEANS_TYPE;
	return NULL;
}

// True if code may be asked what it casts pointers to: where sites are known, most blocks get their types from these. What is
// left then was allocated by a size that a table has, and only those who use it know its type.
static bool may_ask_casts(const struct void_search *search)
{
	return search->by_content || !inference_has_sites(search->inference);
}

struct heap_error *void_meanings_find(struct void_search *search, struct void_place *place)
{
	bool is_found = false, has_casts;

	if (place->kept == 0)
		return NULL;
	place->rank = RANK_VOTE;
	if (are_tagged(search, place)) {
		place->meaning = MEANS_TAGGED;
		place->rank = RANK_TAG;
		return NULL;
	}
	if (find_length(search, place)) {
		place->meaning = MEANS_LENGTH;
		return NULL;
	}
	if (find_vote(search, place) || find_named(search, place) || find_handled(search, place)) {
		place->meaning = MEANS_TYPE;
		return NULL;
	}
	// They lead to parts of blocks. A struct with an array of any length would fit those whose first part one leads to.
	if (place->inner > place->pointers)
		return NULL;
	if (!may_ask_casts(search))
		return NULL;
	if (find_one_cast(search, place)) {
		means_cast(place);
		place->meaning = MEANS_ONE_CAST;
		return NULL;
	}
	has_casts = !place->is_contested && find_casts(search, place);
	if (has_casts && !place->is_partial) {
		means_cast(place);
		return NULL;
	}
	if (!search->by_content)
		return NULL;
	HEAP_TRY(find_meaning_by_content(search, place, &is_found));
	if (!is_found && has_casts)
		means_cast(place);
	return NULL;
}

struct layout_claim void_meanings_fit(const struct void_search *search,
				      const struct void_place *place,
				      const struct void_pointer *pointer)
{
	const struct inference *inference = search->inference;
	heap_object_id target = pointer->target;
	const struct layout_claim none = { LAYOUT_NONE, HEAP_NO_TYPE, 0 };
	struct layout_claim claim;
	struct content content;

	if (place->meaning == MEANS_TAGGED)
		return enum_tags_fit(inference, target, search->words);
	if (place->meaning == MEANS_LENGTH && !self_lengths_hold(inference, &place->length, target))
		return none;
	if (pools_have(&inference->pools, target))
		return none;
	if (place->meaning == MEANS_BYTES)
		return byte_lengths_hold(inference, &place->number,
					 &(struct byte_pointer){ pointer->value, target })
			       ? (struct layout_claim){ LAYOUT_TEXT, place->length.type,
							inference_size(inference, target) }
			       : none;
	if (place->meaning == MEANS_POINTERS)
		return void_arrays_hold(inference, target, search->words)
			       ? (struct layout_claim){ LAYOUT_ARRAY, place->length.type,
							inference_size(inference, target) / 8 }
			       : none;
	if (place->meaning == MEANS_TEXT)
		return may_be_text(search, target)
			       ? (struct layout_claim){ LAYOUT_TEXT, place->length.type,
							inference_size(inference, target) }
			       : none;
	if (place->meaning == MEANS_CAST) {
		struct void_cast_choice choice =
			void_casts_choose(inference, &place->casts, target, search->words);

		return choice.is_likely || !(place->is_partial || place->is_mixed) ? choice.claim
										   : none;
	}
	if (place->meaning == MEANS_ONE_CAST)
		claim = fit_one_cast(inference, place->length.type, target);
	else
		claim = place->named
				? fit_content(inference, place->named, target)
				: inference_fit_with_rest(inference, place->length.type, target);
	if (claim.fit == LAYOUT_NONE)
		return none;
	content_read(inference, target, search->words, &content);
	return content_score(inference, &content, claim.type, claim.elements) >= place->is_few
		       ? claim
		       : none;
}
