// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/field.h"

#include "lib/snapshot/constants.h"
#include "shell/base/format.h"
#include "shell/print/describe.h"
#include "shell/print/part.h"

#include <inttypes.h>
#include <string.h>

enum {
	MAX_CONSTANT = 256,
	MAX_PATH = 512,
	MAX_DEPTH = 32,
	MAX_VISITS = 1 << 12, // members of unions in unions
};

struct path {
	const struct heap_types *types;
	heap_type_id wanted; // where to end; HEAP_NO_TYPE: at what is no structure
	bool found;          // the way ended there
	heap_type_id
		target; // of the pointer at the end, by which a member of a union is chosen; HEAP_NO_TYPE: unknown
	char text[MAX_PATH];
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void append(struct path *path, const char *format, ...)
{
	va_list arguments;
	size_t room = sizeof(path->text) - path->length;

	va_start(arguments, format);
	int length = vsnprintf(path->text + path->length, room, format, arguments);
	va_end(arguments);
	if (length > 0)
		path->length += (size_t)length < room ? (size_t)length : room - 1;
}

static bool holds_pointer(const struct heap_types *types, heap_type_id type)
{
	uint8_t kind = types->types[heap_types_strip(types, type)].kind;

	return kind == HEAP_TYPE_POINTER || kind == HEAP_TYPE_REFERENCE;
}

// True if a member reaches to an offset. The last one may be a flexible array.
static bool covers(const struct heap_types *types, const struct heap_type *type, uint32_t number,
		   uint64_t offset)
{
	const struct heap_member *member = &types->members[type->first_member + number];
	uint64_t size = heap_types_size(types, member->type);

	return !(member->flags & HEAP_MEMBER_VIRTUAL_BASE) && offset >= member->offset &&
	       (offset - member->offset < size || (size == 0 && number + 1 == type->members));
}

// True if some member at an offset of a type is a pointer to a target. @param left  members that may still be visited
static bool may_lead_to(const struct heap_types *types, heap_type_id id, uint64_t offset,
			heap_type_id target, int depth, uint32_t *left)
{
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];

	if (type->kind == HEAP_TYPE_POINTER)
		return offset == 0 && heap_types_strip(types, type->target) == target;
	if (depth == MAX_DEPTH ||
	    (type->kind == HEAP_TYPE_ARRAY && heap_types_size(types, type->target) == 0))
		return false;
	if (type->kind == HEAP_TYPE_ARRAY)
		return may_lead_to(types, type->target,
				   offset % heap_types_size(types, type->target), target, depth + 1,
				   left);
	for (uint32_t i = 0; heap_types_has_members(type) && i<type->members && * left> 0; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		--*left;
		if (covers(types, type, i, offset) &&
		    may_lead_to(types, member->type, offset - member->offset, target, depth + 1,
				left))
			return true;
	}
	return false;
}

// The member of a union that leads to a target, if one does.
static const struct heap_member *find_leading(const struct heap_types *types,
					      const struct heap_type *type, uint64_t offset,
					      heap_type_id target)
{
	uint32_t left = MAX_VISITS;

	for (uint32_t i = 0; target != HEAP_NO_TYPE && i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (covers(types, type, i, offset) &&
		    may_lead_to(types, member->type, offset - member->offset, target, 0, &left))
			return member;
	}
	return NULL;
}

// The member at that offset; of a union, the one that is a pointer if there is one. A base with virtual bases has
// the size that it has alone, so that the next member begins before it ends.
static const struct heap_member *find_member(const struct heap_types *types,
					     const struct heap_type *type, uint64_t offset)
{
	const struct heap_member *found = NULL;

	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (!covers(types, type, i, offset))
			continue;
		if (!found || (found->flags & HEAP_MEMBER_BASE && member->offset > found->offset) ||
		    (!holds_pointer(types, found->type) &&
		     (holds_pointer(types, member->type) || type->kind != HEAP_TYPE_UNION)))
			found = member;
	}
	return found;
}

// Follows members and elements down to what lies at `offset`. @return what is left of it
static uint64_t descend(struct path *path, heap_type_id id, uint64_t offset)
{
	const struct heap_types *types = path->types;
	uint64_t before = 0;
	heap_type_id shared = heap_types_shared(types, heap_types_strip(types, id), &before);

	if (shared != HEAP_NO_TYPE && offset >= before) {
		id = shared;
		offset -= before;
	}
	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		const struct heap_type *type = &types->types[heap_types_strip(types, id)];

		if (path->wanted && offset == 0 && heap_types_strip(types, id) == path->wanted) {
			path->found = true;
			return offset;
		}
		if (type->kind == HEAP_TYPE_ARRAY) {
			uint64_t stride = heap_types_size(types, type->target);

			if (stride == 0)
				return offset;
			append(path, "[%" PRIu64 "]", offset / stride);
			offset %= stride;
			id = type->target;
			continue;
		}
		if (!heap_types_has_members(type))
			return offset;

		const struct heap_member *member =
			type->kind == HEAP_TYPE_UNION
				? find_leading(types, type, offset, path->target)
				: NULL;

		if (!member)
			member = find_member(types, type, offset);
		if (!member)
			return offset;
		if (member->name && !(member->flags & HEAP_MEMBER_BASE))
			append(path, ".%s", heap_types_string(types, member->name));
		offset -= member->offset;
		id = member->type;
	}
	return offset;
}

static const char *finish(struct session *session, struct path *path, uint64_t rest)
{
	if (rest > 0)
		append(path, "+%#" PRIx64, rest);
	return session_format(session, "%s", path->text);
}

// The type of what an object's pointer at an offset leads to; HEAP_NO_TYPE: unknown, also where a command needs no
// edges.
static heap_type_id target_of(const struct heap_snapshot *snapshot, heap_object_id object,
			      uint64_t offset)
{
	uint32_t edge = snapshot->edge_slot && snapshot->edge_target
				? heap_edge_at(snapshot, object, offset)
				: UINT32_MAX;

	return edge == UINT32_MAX ? HEAP_NO_TYPE : snapshot->type[snapshot->edge_target[edge]];
}

// @param target  the type of what the pointer there leads to, or HEAP_NO_TYPE
static const char *field_of_value(struct session *session, heap_type_id type, bool is_array,
				  uint64_t offset, heap_type_id target)
{
	const struct heap_types *types = &session->snapshot->types;
	uint64_t stride = heap_types_size(types, type);
	struct path path = { .types = types, .target = target };

	if (type == HEAP_NO_TYPE)
		return session_format(session, "+0x%" PRIx64, offset);
	// A lone pointer is the first element of an array that may have others.
	is_array |= holds_pointer(types, type);
	if (is_array && stride > 0 && !heap_types_flexible(types, type, NULL, NULL)) {
		append(&path, "[%" PRIu64 "]", offset / stride);
		offset %= stride;
	}
	return finish(session, &path, descend(&path, type, offset));
}

const char *field_of_object(struct session *session, heap_object_id object, uint64_t offset)
{
	const struct heap_snapshot *snapshot = session->snapshot;

	return field_of_value(session, snapshot->type[object], snapshot->elements[object] > 1,
			      offset, target_of(snapshot, object, offset));
}

const char *field_of_part(struct session *session, const struct heap_part *part, uint64_t offset)
{
	return field_of_value(session, part->type, part->elements > 1, offset - part->offset,
			      target_of(session->snapshot, part->object, offset));
}

// --- targets -----------------------------------------------------------------

// Something typed that a pointer may point into: an object, or a part of a pool.
struct target {
	heap_type_id type;
	uint64_t elements;
	uint64_t offset; // of the pointer in it
};

// The first place on the way down that begins there.
static heap_type_id outermost_at(const struct heap_types *types, heap_type_id id, uint64_t offset)
{
	for (int depth = 0; offset > 0 && depth < MAX_DEPTH; depth++) {
		const struct heap_type *type = &types->types[heap_types_strip(types, id)];
		const struct heap_member *member =
			heap_types_has_members(type) ? find_member(types, type, offset) : NULL;

		if (type->kind == HEAP_TYPE_ARRAY && heap_types_size(types, type->target) > 0) {
			id = type->target;
			offset %= heap_types_size(types, id);
			continue;
		}
		if (!member)
			return HEAP_NO_TYPE;
		id = member->type;
		offset -= member->offset;
	}
	return offset == 0 ? heap_types_strip(types, id) : HEAP_NO_TYPE;
}

// The way to what a pointer points to, "[3].value"; "" if the types do not say.
static const char *way_to(struct session *session, const struct target *target,
			  heap_type_id pointee)
{
	const struct heap_types *types = &session->snapshot->types;
	heap_type_id wanted[] = { heap_types_strip(types, pointee), HEAP_NO_TYPE };
	uint64_t stride = heap_types_size(types, target->type), offset = target->offset;
	struct path element = { .types = types };

	if (stride == 0 || (types->types[target->type].flags & HEAP_TYPE_CHARACTER))
		return "";
	if (target->elements > 1 && !heap_types_flexible(types, target->type, NULL, NULL)) {
		if (offset / stride >= target->elements)
			return "";
		append(&element, "[%" PRIu64 "]", offset / stride);
		offset %= stride;
	}
	wanted[1] = outermost_at(types, target->type, offset);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct path path = element;

		path.wanted = wanted[i];
		if (path.wanted && descend(&path, target->type, offset) == 0 && path.found)
			return session_format(session, "%s", path.text);
	}
	return "";
}

// The variable that an address lies in, or UINT32_MAX.
static heap_root_id find_variable(const struct heap_snapshot *snapshot, uint64_t address)
{
	for (heap_root_id i = 0; i < snapshot->root_count; i++) {
		const struct heap_root *root = &snapshot->roots[i];

		if (root->kind <= HEAP_ROOT_LOCAL && root->address > 0 &&
		    address >= root->address && address - root->address < root->size)
			return i;
	}
	return UINT32_MAX;
}

const char *field_constant(struct session *session, uint64_t address, heap_type_id pointee,
			   size_t *length, bool *is_whole)
{
	const struct heap_types *types = &session->snapshot->types;
	const struct heap_type *type = &types->types[heap_types_strip(types, pointee)];
	char *buffer;

	if (!(type->flags & HEAP_TYPE_CHARACTER) || type->size != 1)
		return NULL;
	buffer = session_allocate(session, MAX_CONSTANT);
	return buffer && heap_constants_string(session->snapshot, address, buffer, MAX_CONSTANT,
					       length, is_whole)
		       ? buffer
		       : NULL;
}

static const char *describe_constant(struct session *session, uint64_t address,
				     heap_type_id pointee)
{
	size_t length;
	bool is_whole;
	const char *text = field_constant(session, address, pointee, &length, &is_whole);

	if (!text)
		return describe_address(session, address);
	return session_format(session, "\"%s\"%s at %s",
			      session_keep(session, format_escaped(text, length)),
			      is_whole ? "" : "…", describe_address(session, address));
}

const char *field_describe_address(struct session *session, uint64_t address, heap_type_id pointee)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_root_id found = heap_snapshot_function(snapshot, address)
				     ? UINT32_MAX
				     : find_variable(snapshot, address);

	if (found == UINT32_MAX)
		return describe_constant(session, address, pointee);

	const struct heap_root *root = &snapshot->roots[found];
	struct target target = { root->type, 1, address - root->address };
	const char *way = target.offset ? way_to(session, &target, pointee) : "";
	const char *name = describe_name(session, heap_snapshot_string(snapshot, root->name));

	if (target.offset == 0 || *way)
		return session_format(session, "&%s%s", name, way);
	return session_format(session, "&%s + %" PRIu64, name, target.offset);
}

static struct target whole_object(const struct heap_snapshot *snapshot, heap_object_id object,
				  uint64_t interior)
{
	return (struct target){ snapshot->type[object], snapshot->elements[object], interior };
}

static const char *describe_inside(struct session *session, const struct target *target,
				   const char *whole, heap_type_id pointee)
{
	const char *way = way_to(session, target, pointee);

	if (*way)
		return session_format(session, "&%s%s in %s", describe_type(session, target->type),
				      way, whole);
	return session_format(session, "%s + %" PRIu64, whole, target->offset);
}

const char *field_describe_target(struct session *session, heap_object_id object, uint64_t interior,
				  heap_type_id pointee)
{
	const char *where = heap_snapshot_is_slab(session->snapshot, object) ? "element of a slab"
									     : "part of a pool";
	struct heap_part part;

	if (interior == 0)
		return describe_object(session, object);
	if (part_find(session, object, interior, &part)) {
		struct target target = { part.type, part.elements, interior - part.offset };
		const char *whole = part_describe(session, &part);

		return session_format(session, "%s, %s",
				      interior == part.offset
					      ? whole
					      : describe_inside(session, &target, whole, pointee),
				      where);
	}

	struct target target = whole_object(session->snapshot, object, interior);

	return session_format(
		session, "%s%s",
		describe_inside(session, &target, describe_object(session, object), pointee),
		field_base_of_object(session, object, interior));
}

const char *field_interior(struct session *session, heap_object_id object, uint64_t interior)
{
	const char *base = field_base_of_object(session, object, interior);
	struct target target = whole_object(session->snapshot, object, interior);
	const char *way;

	if (interior == 0 || *base)
		return base;
	way = way_to(session, &target, HEAP_NO_TYPE);
	return *way ? session_format(session, " (points to %s)", way)
		    : session_format(session, " (points %" PRIu64 " bytes into it)", interior);
}

const char *field_interior_of_part(struct session *session, const struct heap_part *part,
				   uint64_t interior)
{
	struct target target = { part->type, part->elements, interior };
	const char *way = interior > 0 ? way_to(session, &target, HEAP_NO_TYPE) : "";

	if (interior == 0)
		return "";
	return *way ? session_format(session, " (points to %s)", way)
		    : session_format(session, " (points %" PRIu64 " bytes into it)", interior);
}

const char *field_of_root(struct session *session, heap_root_id number, uint64_t offset)
{
	const struct heap_root *root = &session->snapshot->roots[number];
	struct path path = { .types = &session->snapshot->types };

	if (root->kind == HEAP_ROOT_REGISTER)
		return "";
	if (root->kind > HEAP_ROOT_LOCAL)
		return session_format(session, "+0x%" PRIx64, offset);
	return finish(session, &path, descend(&path, root->type, offset));
}

// Goes through the virtual bases of a class and of its bases. @return false if there are two
static bool find_virtual_base(const struct heap_types *types, heap_type_id id, int depth,
			      heap_type_id *found)
{
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];

	for (uint32_t i = 0; heap_types_has_members(type) && depth < MAX_DEPTH && i < type->members;
	     i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		heap_type_id base = heap_types_strip(types, member->type);

		if (!(member->flags & HEAP_MEMBER_BASE))
			continue;
		if (member->flags & HEAP_MEMBER_VIRTUAL_BASE) {
			if (*found != HEAP_NO_TYPE && *found != base)
				return false;
			*found = base;
		}
		if (!find_virtual_base(types, base, depth + 1, found))
			return false;
	}
	return true;
}

// A virtual base is where only the vtable knows: behind all else, if there is just one.
static heap_type_id find_last_base(const struct heap_types *types, heap_type_id id, uint64_t offset)
{
	heap_type_id found = HEAP_NO_TYPE;
	uint64_t size = heap_types_size(types, id);

	if (!find_virtual_base(types, id, 0, &found) || found == HEAP_NO_TYPE)
		return HEAP_NO_TYPE;
	return offset + heap_types_size(types, found) == size ? found : HEAP_NO_TYPE;
}

// The outermost base class that begins there, in this class or in a member.
static heap_type_id find_base(const struct heap_types *types, heap_type_id id, uint64_t offset)
{
	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		const struct heap_type *type = &types->types[heap_types_strip(types, id)];
		const struct heap_member *member =
			heap_types_has_members(type) ? find_member(types, type, offset) : NULL;

		if (!member)
			return HEAP_NO_TYPE;
		offset -= member->offset;
		id = member->type;
		if ((member->flags & HEAP_MEMBER_BASE) && offset == 0)
			return id;
	}
	return HEAP_NO_TYPE;
}

const char *field_base_of_object(struct session *session, heap_object_id object, uint64_t offset)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_type_id type = snapshot->type[object];
	uint64_t stride = heap_types_size(&snapshot->types, type);

	if (offset == 0 || stride == 0 || snapshot->elements[object] != 1 || offset >= stride)
		return "";

	heap_type_id base = find_last_base(&snapshot->types, type, offset);

	if (base == HEAP_NO_TYPE)
		base = find_base(&snapshot->types, type, offset);
	return base == HEAP_NO_TYPE
		       ? ""
		       : session_format(session, " (base %s)", describe_type(session, base));
}

// True for a name that the C++ library reserves for members: _M_start, or __begin_ of libc++.
static bool is_of_library(const char *name, size_t length)
{
	return (length > 3 && strncmp(name, "_M_", 3) == 0) ||
	       (length > 3 && strncmp(name, "__", 2) == 0 && name[length - 1] == '_');
}

const char *field_brief(struct session *session, const char *field)
{
	struct path brief = { .types = &session->snapshot->types };

	if (output_is_json(session->output))
		return field;
	for (const char *at = field; *at;) {
		bool is_name = *at == '.';
		size_t length = is_name + strcspn(at + is_name, ".[+");

		if (length == 0) // an index, or an offset
			length = 1 + strcspn(at + 1, ".[+");
		if (!is_name || !is_of_library(at + 1, length - 1))
			append(&brief, "%.*s", (int)length, at);
		at += length;
	}
	return brief.length > 0 ? session_format(session, "%s", brief.text) : field;
}
