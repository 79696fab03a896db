// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/snapshot/declarations.h"

#include "lib/base/array.h"
#include "lib/base/column.h"
#include "lib/snapshot/snapshot_neighbours.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
	NAME_BYTES = 4096, // of a type's name; longer names are cut
	MAX_DECLARATIONS = 100000,
};

static const char heading[] = "heapsh types 1 ";
static const char like[] = "like ";

void heap_declarations_destroy(struct heap_declarations *declarations)
{
	if (declarations)
		free(declarations->list);
	free(declarations);
}

static void destroy(struct heap_declarations **declarations)
{
	heap_declarations_destroy(*declarations);
}

// Makes the path of the file of declarations, and @p suffix.
HEAP_MUST_CHECK
static struct heap_error *make_path(const struct heap_snapshot *snapshot, const char *suffix,
				    char **result)
{
	if (asprintf(result, "%s.types%s", snapshot->path, suffix) >= 0)
		return NULL;
	*result = NULL;
	return heap_error_out_of_memory();
}

// Adds a declaration to the list, or replaces that of the object.
HEAP_MUST_CHECK
static struct heap_error *put(struct heap_declarations *declarations,
			      struct heap_declaration declaration)
{
	for (size_t i = 0; i < declarations->count; i++) {
		if (declarations->list[i].object == declaration.object) {
			declarations->list[i] = declaration;
			return NULL;
		}
	}
	if (declarations->count == MAX_DECLARATIONS)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "more than %d declarations",
					 MAX_DECLARATIONS);
	HEAP_TRY(heap_reserve(declarations->list, declarations->capacity, declarations->count + 1));
	declarations->list[declarations->count++] = declaration;
	return NULL;
}

// --- reading -----------------------------------------------------------------

static heap_type_id find_type(const struct heap_types *types, const char *name)
{
	char text[NAME_BYTES];

	for (heap_type_id id = 1; id < types->count; id++) {
		heap_types_format(types, id, text, sizeof(text));
		if (strcmp(text, name) == 0)
			return heap_types_strip(types, id);
	}
	return HEAP_NO_TYPE;
}

// Parses "0x55d0c0ffee40 struct session" or "like 0x55d0c0ffee40 struct session".
HEAP_MUST_CHECK
static struct heap_error *parse_line(struct heap_snapshot *snapshot,
				     struct heap_declarations *declarations, const char *line,
				     unsigned number)
{
	struct heap_declaration declaration = { .is_for_alike =
							strncmp(line, like, strlen(like)) == 0 };
	uint64_t address;
	char *end;

	line += declaration.is_for_alike ? strlen(like) : 0;
	address = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return heap_error_create(HEAP_ERROR_FORMAT, "line %u: no address and type", number);
	HEAP_TRY(heap_snapshot_locate(snapshot, address, &declaration.object));
	if (declaration.object == HEAP_NO_OBJECT ||
	    snapshot->address[declaration.object] != address)
		return heap_error_create(HEAP_ERROR_FORMAT,
					 "line %u: no object begins at 0x%" PRIx64, number,
					 address);
	declaration.type = find_type(&snapshot->types, end + 1);
	if (declaration.type == HEAP_NO_TYPE)
		return heap_error_create(HEAP_ERROR_FORMAT, "line %u: the snapshot has no type %s",
					 number, end + 1);
	if (!heap_declarations_fit(&snapshot->types, declaration.type,
				   snapshot->size[declaration.object]))
		return heap_error_create(HEAP_ERROR_FORMAT, "line %u: %s does not fit", number,
					 end + 1);
	return put(declarations, declaration);
}

static bool is_of(const struct heap_snapshot *snapshot, const char *line)
{
	return strncmp(line, heading, strlen(heading)) == 0 &&
	       strcmp(line + strlen(heading), snapshot->info.id) == 0;
}

HEAP_MUST_CHECK
static struct heap_error *read_lines(struct heap_snapshot *snapshot, FILE *file,
				     struct heap_declarations *declarations)
{
	CLEANUP_FREE char *line = NULL;
	size_t capacity = 0;

	for (unsigned number = 1; getline(&line, &capacity, file) >= 0; number++) {
		line[strcspn(line, "\n")] = '\0';
		if (number == 1 && !is_of(snapshot, line))
			break;
		if (number > 1 && *line)
			HEAP_TRY(parse_line(snapshot, declarations, line, number));
	}
	if (ferror(file))
		return heap_error_create_system("cannot be read");
	return NULL;
}

// True if the author of the file could also have written the snapshot: its owner, or one who may
// write it. Root and the current user are trusted, too.
static bool may_declare(const struct heap_snapshot *snapshot, const struct stat *text)
{
	struct stat file;

	if (stat(snapshot->path, &file) != 0)
		return false;
	return (text->st_uid == file.st_uid || text->st_uid == geteuid() || text->st_uid == 0) &&
	       !(text->st_mode & ~file.st_mode & (S_IWGRP | S_IWOTH));
}

// Opens the file of declarations. A pipe of that name is not waited for, and a link is not followed:
// in /tmp anybody can make them. @param file  gets NULL if there is no such file
HEAP_MUST_CHECK
static struct heap_error *open_text(struct heap_snapshot *snapshot, const char *path, FILE **file)
{
	int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;
	struct heap_error *error = NULL;

	*file = NULL;
	if (descriptor < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG))
		return NULL;
	if (descriptor < 0 && errno == ELOOP)
		snapshot->declarations_ignored = true;
	else if (descriptor < 0 || fstat(descriptor, &status) != 0)
		error = heap_error_create_system("%s", path);
	else if (S_ISREG(status.st_mode) && !may_declare(snapshot, &status))
		snapshot->declarations_ignored = true;
	else if (S_ISREG(status.st_mode))
		*file = fdopen(descriptor, "r");
	if (!*file && descriptor >= 0)
		close(descriptor);
	return error;
}

struct heap_error *heap_declarations_read(struct heap_snapshot *snapshot)
{
	CLEANUP(destroy) struct heap_declarations *declarations = NULL;
	CLEANUP_FILE FILE *file = NULL;
	CLEANUP_FREE char *path = NULL;

	HEAP_TRY(make_path(snapshot, "", &path));
	HEAP_TRY(open_text(snapshot, path, &file));
	if (!file)
		return NULL;
	declarations = calloc(1, sizeof(*declarations));
	if (!declarations)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_error_within(read_lines(snapshot, file, declarations), "%s", path));
	if (declarations->count > 0)
		snapshot->declarations = keep(declarations);
	return NULL;
}

// --- storing -----------------------------------------------------------------

static bool write_text(const struct heap_snapshot *snapshot, FILE *file)
{
	const struct heap_declarations *declarations = snapshot->declarations;
	char name[NAME_BYTES];

	fprintf(file, "%s%s\n", heading, snapshot->info.id);
	for (size_t i = 0; i < declarations->count; i++) {
		const struct heap_declaration *declaration = &declarations->list[i];

		heap_types_format(&snapshot->types, declaration->type, name, sizeof(name));
		fprintf(file, "%s0x%" PRIx64 " %s\n", declaration->is_for_alike ? like : "",
			snapshot->address[declaration->object], name);
	}
	return fflush(file) == 0 && !ferror(file);
}

// Writes a temporary file first, and renames it, so that there is never half a file.
HEAP_MUST_CHECK
static struct heap_error *store(const struct heap_snapshot *snapshot)
{
	CLEANUP_FREE char *path = NULL;
	CLEANUP_FREE char *temporary = NULL;
	struct heap_error *error;
	int descriptor;
	FILE *file;

	HEAP_TRY(make_path(snapshot, "", &path));
	HEAP_TRY(make_path(snapshot, "-XXXXXX", &temporary));
	if (snapshot->declarations->count == 0)
		return unlink(path) == 0 || errno == ENOENT
			       ? NULL
			       : heap_error_create_system("%s: cannot be removed", path);
	descriptor = mkostemp(temporary, O_CLOEXEC);
	file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
	if (!file) {
		error = heap_error_create_system("%s: cannot be written", path);
		if (descriptor >= 0) {
			unlink(temporary);
			close(descriptor);
		}
		return error;
	}

	bool is_written = write_text(snapshot, file);

	if (fclose(file) == 0 && is_written && rename(temporary, path) == 0)
		return NULL;
	error = heap_error_create_system("%s: cannot be written", path);
	unlink(temporary);
	return error;
}

// --- adding and removing -----------------------------------------------------

// Frees the columns that declarations change, so that they are loaded again as they were inferred.
static void forget_columns(struct heap_snapshot *snapshot)
{
	void *columns[] = { snapshot->type, snapshot->elements, snapshot->evidence,
			    snapshot->edge_interior, snapshot->edge_flags };

	heap_snapshot_drop_partial(snapshot, HEAP_DECLARED_COLUMNS);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		heap_column_destroy(columns[i]);
	snapshot->type = NULL;
	snapshot->elements = NULL;
	snapshot->evidence = NULL;
	snapshot->edge_interior = NULL;
	snapshot->edge_flags = NULL;
	snapshot->declarations->are_applied = false;
}

// Stores a new list, which takes the place of the snapshot's. On failure that stays.
HEAP_MUST_CHECK
static struct heap_error *change(struct heap_snapshot *snapshot,
				 struct heap_declarations **declarations)
{
	struct heap_declarations *before = snapshot->declarations;

	HEAP_TRY(heap_snapshot_load(snapshot, HEAP_COLUMN_ADDRESS));
	snapshot->declarations = *declarations;

	struct heap_error *error = store(snapshot);

	if (error) {
		snapshot->declarations = before;
		return error;
	}
	*declarations = NULL;
	heap_declarations_destroy(before);
	forget_columns(snapshot);
	if (snapshot->declarations->count == 0) {
		heap_declarations_destroy(snapshot->declarations);
		snapshot->declarations = NULL;
	}
	return heap_snapshot_load(snapshot, HEAP_DECLARED_COLUMNS);
}

HEAP_MUST_CHECK
static struct heap_error *copy(const struct heap_snapshot *snapshot,
			       struct heap_declarations **result)
{
	const struct heap_declarations *now = snapshot->declarations;
	CLEANUP(destroy) struct heap_declarations *made = calloc(1, sizeof(*made));

	if (!made)
		return heap_error_out_of_memory();
	for (size_t i = 0; now && i < now->count; i++)
		HEAP_TRY(put(made, now->list[i]));
	*result = keep(made);
	return NULL;
}

struct heap_error *heap_declarations_add(struct heap_snapshot *snapshot,
					 struct heap_declaration declaration, uint32_t *named)
{
	CLEANUP(destroy) struct heap_declarations *declarations = NULL;
	uint32_t before, after;

	if (!snapshot->path)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "the snapshot is no file");
	declaration.type = heap_types_strip(&snapshot->types, declaration.type);
	HEAP_TRY(heap_snapshot_load(snapshot, HEAP_COLUMN_SIZE | HEAP_DECLARED_COLUMNS));
	if (!heap_declarations_fit(&snapshot->types, declaration.type,
				   snapshot->size[declaration.object]))
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "a value has %" PRIu64 " bytes, the object %" PRIu64,
					 heap_types_size(&snapshot->types, declaration.type),
					 snapshot->size[declaration.object]);
	HEAP_TRY(copy(snapshot, &declarations));
	HEAP_TRY(put(declarations, declaration));
	before = snapshot->declarations ? snapshot->declarations->derived : 0;
	HEAP_TRY(change(snapshot, &declarations));
	after = snapshot->declarations->derived;
	*named = after > before ? after - before : 0;
	return NULL;
}

struct heap_error *heap_declarations_remove(struct heap_snapshot *snapshot, heap_object_id object)
{
	CLEANUP(destroy) struct heap_declarations *declarations = NULL;
	size_t kept = 0;

	HEAP_TRY(copy(snapshot, &declarations));
	for (size_t i = 0; i < declarations->count; i++) {
		if (declarations->list[i].object != object)
			declarations->list[kept++] = declarations->list[i];
	}
	if (kept == declarations->count)
		return heap_error_create(HEAP_ERROR_ABSENT, "nothing is declared of it");
	declarations->count = kept;
	return change(snapshot, &declarations);
}
