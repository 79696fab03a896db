// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/check/forms.h"

#include "lib/base/escape.h"
#include "shell/base/format.h"

#include <inttypes.h>
#include <string.h>

static const char *const names[CHECK_FORMS] = { "text", "json", "junit", "sarif" };

enum check_form check_form_parse(const char *word)
{
	enum check_form form = 0;

	while (form < CHECK_FORMS && strcmp(names[form], word) != 0)
		form++;
	return form;
}

enum output_mode check_form_mode(enum check_form form)
{
	return form == CHECK_JSON || form == CHECK_SARIF ? OUTPUT_JSON : OUTPUT_TEXT;
}

// --- text and JSON -------------------------------------------------------------------

static void print_text(const struct check *check, struct output *output)
{
	for (size_t i = 0; i < check->findings.count; i++) {
		const struct check_finding *finding = &check->findings.items[i];

		output_text(output, "%s %s\n",
			    finding->failed         ? "FAIL"
			    : finding->is_unmatched ? "note"
						    : "ok  ",
			    finding->message);
		for (const char *line = finding->details; *line;) {
			size_t length = strcspn(line, "\n");

			output_text(output, "     %.*s\n", (int)length, line);
			line += length + (line[length] == '\n');
		}
	}
	if (check->loops == 0)
		output_text(output, "One snapshot: growth was not checked.\n");
	output_text(output, "%zu of %zu checks failed.\n", check->failures, check->findings.count);
}

static void print_json(const struct check *check, struct output *output)
{
	output_open_object(output, NULL);
	output_string(output, "program", check->program);
	output_number(output, "snapshots", check->snapshots);
	output_number(output, "loops", check->loops);
	output_number(output, "failures", check->failures);
	output_open_array(output, "checks");
	for (size_t i = 0; i < check->findings.count; i++) {
		const struct check_finding *finding = &check->findings.items[i];

		output_open_object(output, NULL);
		output_boolean(output, "failed", finding->failed);
		output_boolean(output, "matched", !finding->is_unmatched);
		output_string(output, "rule", finding->rule);
		output_string(output, "name", finding->name);
		output_string(output, "message", finding->message);
		output_string(output, "details", finding->details);
		output_string(output, "file", finding->file);
		output_number(output, "line", finding->line);
		output_close(output);
	}
	output_close(output);
}

// --- JUnit ---------------------------------------------------------------------------

static void print_attribute(FILE *stream, const char *name, const char *value)
{
	fprintf(stream, " %s=\"", name);
	heap_escape_put(stream, HEAP_ESCAPE_XML, value);
	fputc('"', stream);
}

static void print_lines(FILE *stream, const char *text)
{
	CLEANUP_FREE char *copy = strdup(text);
	char *rest = copy;

	while (rest && *rest) {
		char *line = strsep(&rest, "\n");

		heap_escape_put(stream, HEAP_ESCAPE_XML, line);
		fputc('\n', stream);
	}
}

static void print_case(FILE *stream, const struct check_finding *finding, const char *suite)
{
	fputs("    <testcase", stream);
	print_attribute(stream, "classname", suite);
	print_attribute(stream, "name",
			strcmp(finding->rule, "growth") == 0 ? finding->name : finding->rule);
	if (finding->file[0]) {
		print_attribute(stream, "file", finding->file);
		fprintf(stream, " line=\"%" PRIu32 "\"", finding->line);
	}
	if (!finding->failed && finding->is_unmatched) {
		fputs(">\n      <skipped", stream);
		print_attribute(stream, "message", finding->message);
		fputs("/>\n    </testcase>\n", stream);
		return;
	}
	if (!finding->failed) {
		fputs("/>\n", stream);
		return;
	}
	fputs(">\n      <failure type=\"heapsh-check\"", stream);
	print_attribute(stream, "message", finding->message);
	fputc('>', stream);
	print_lines(stream, finding->details);
	fputs("</failure>\n    </testcase>\n", stream);
}

static size_t count_skipped(const struct check *check)
{
	size_t count = 0;

	for (size_t i = 0; i < check->findings.count; i++)
		count += check->findings.items[i].is_unmatched && !check->findings.items[i].failed;
	return count;
}

static void print_junit(const struct check *check, FILE *stream, const char *suite)
{
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite", stream);
	print_attribute(stream, "name", suite);
	fprintf(stream, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n",
		check->findings.count, check->failures, count_skipped(check));
	for (size_t i = 0; i < check->findings.count; i++)
		print_case(stream, &check->findings.items[i], suite);
	fputs("  </testsuite>\n</testsuites>\n", stream);
}

// --- SARIF ---------------------------------------------------------------------------

static const char *rule_id(const struct check_finding *finding)
{
	return strcmp(finding->rule, "growth") == 0   ? "growth"
	       : strcmp(finding->name, "leaked") == 0 ? "leak"
						      : "limit";
}

static void print_sarif_rules(struct output *output)
{
	static const char *const rules[][2] = {
		{ "growth", "Live objects of one kind grow with each loop" },
		{ "leak", "More is leaked than the budget allows" },
		{ "limit", "More is live than a rule allows" },
	};

	output_open_array(output, "rules");
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		output_open_object(output, NULL);
		output_string(output, "id", rules[i][0]);
		output_open_object(output, "shortDescription");
		output_string(output, "text", rules[i][1]);
		output_close(output);
		output_close(output);
	}
	output_close(output);
}

// A path as a URI reference (RFC 3986). @return malloc'd; NULL if memory is short
static char *make_uri(const char *path)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
	char *uri = malloc(3 * strlen(path) + sizeof("file://")), *at = uri;

	if (!uri)
		return NULL;
	at = stpcpy(at, *path == '/' ? "file://" : "");
	for (; *path; path++) {
		if (strchr(plain, *path))
			*at++ = *path;
		else
			at += sprintf(at, "%%%02X", (unsigned char)*path);
	}
	*at = '\0';
	return uri;
}

// GitHub refuses a file in which any result lacks a location: a result without a known line is placed at
// the program.
static void print_sarif_place(struct output *output, const struct check *check,
			      const struct check_finding *finding)
{
	CLEANUP_FREE char *uri = make_uri(finding->file[0] ? finding->file : check->program);

	output_open_array(output, "locations");
	output_open_object(output, NULL);
	output_open_object(output, "physicalLocation");
	output_open_object(output, "artifactLocation");
	output_string(output, "uri", uri ? uri : "");
	output_close(output);
	output_open_object(output, "region");
	output_number(output, "startLine", finding->line > 0 ? finding->line : 1);
	output_close(output);
	output_close(output);
	output_close(output);
	output_close(output);
}

static void print_sarif_result(struct output *output, const struct check *check,
			       const struct check_finding *finding)
{
	output_open_object(output, NULL);
	output_string(output, "ruleId", rule_id(finding));
	output_string(output, "level", "error");
	output_open_object(output, "message");
	output_format(output, "text", "%s%s%s", finding->message, finding->details[0] ? "\n" : "",
		      finding->details);
	output_close(output);
	print_sarif_place(output, check, finding);
	// The same kind or rule is the same finding in the next build, wherever its line moves.
	output_open_object(output, "partialFingerprints");
	output_format(output, "heapshCheck/v1", "%s|%s", finding->rule, finding->name);
	output_close(output);
	output_close(output);
}

static void print_sarif(const struct check *check, struct output *output)
{
	output_open_object(output, NULL);
	output_string(output, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	output_string(output, "version", "2.1.0");
	output_open_array(output, "runs");
	output_open_object(output, NULL);
	output_open_object(output, "tool");
	output_open_object(output, "driver");
	output_string(output, "name", "heapsh-check");
	output_string(output, "version", HEAPSH_VERSION);
	print_sarif_rules(output);
	output_close(output);
	output_close(output);
	output_open_array(output, "results");
	for (size_t i = 0; i < check->findings.count; i++) {
		if (check->findings.items[i].failed)
			print_sarif_result(output, check, &check->findings.items[i]);
	}
	output_close(output);
	output_close(output);
	output_close(output);
}

void check_print(const struct check *check, struct session *session, enum check_form form,
		 const char *suite)
{
	struct output *output = session->output;

	if (form == CHECK_TEXT)
		print_text(check, output);
	else if (form == CHECK_JSON)
		print_json(check, output);
	else if (form == CHECK_JUNIT)
		print_junit(check, output_stream(output), suite ? suite : check->program);
	else
		print_sarif(check, output);
	for (size_t i = 0; form != CHECK_TEXT && i < check->findings.count; i++) {
		if (check->findings.items[i].is_unmatched && !check->findings.items[i].failed)
			heap_print(session->errors, "heapsh-check: %s\n",
				   check->findings.items[i].message);
	}
}
