// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/symbols/library_rules.h"

#include "dumper/writer/infer/symbols/library_types.h"
#include "lib/types/templates.h"

#include <string.h>

enum {
	MAX_NAME = 4096,
};

#define HASH_NODE "std::__detail::_Hash_node<$1, $C>"
#define BUCKET "std::__detail::_Hash_node_base*"

// The first one that agrees counts. libstdc++, libc++, Rust's alloc.
static const struct library_rule rules[] = {
	{ "std::__new_allocator<", "allocate", "$0", LIBRARY_ARRAY },
	{ "__gnu_cxx::new_allocator<", "allocate", "$0", LIBRARY_ARRAY },
	{ "std::allocator<", "allocate", "$0", LIBRARY_ARRAY },
	{ "std::__cxx11::basic_string<", "", "$0", LIBRARY_ARRAY },
	{ "std::vector<bool", "", "unsigned long", LIBRARY_ARRAY },
	{ "std::vector<", "", "$0", LIBRARY_ARRAY },
	{ "std::_Vector_base<", "", "$0", LIBRARY_ARRAY },
	{ "std::_Rb_tree<", "", "std::_Rb_tree_node<$1>", LIBRARY_ONE },
	{ "std::_Hashtable<", "_M_rehash", BUCKET, LIBRARY_ARRAY },
	{ "std::_Hashtable<", "_M_allocate_buckets", BUCKET, LIBRARY_ARRAY },
	{ "std::_Hashtable<", "_M_insert_unique_node", BUCKET, LIBRARY_ARRAY },
	{ "std::_Hashtable<", "_M_insert_multi_node", BUCKET, LIBRARY_ARRAY },
	{ "std::_Hashtable<", "_Hashtable", BUCKET, LIBRARY_ARRAY },
	{ "std::_Hashtable<", "", HASH_NODE, LIBRARY_ONE },
	{ "std::__detail::_Map_base<", "", HASH_NODE, LIBRARY_ONE },
	{ "std::__detail::_Insert_base<", "", HASH_NODE, LIBRARY_ONE },
	{ "std::__detail::_Insert<", "", HASH_NODE, LIBRARY_ONE },
	{ "std::__detail::_Hashtable_alloc<", "_M_allocate_buckets", BUCKET, LIBRARY_ARRAY },
	{ "std::__detail::_Hashtable_alloc<", "", "$A", LIBRARY_ONE },
	{ "std::__cxx11::list<", "", "std::_List_node<$0>", LIBRARY_ONE },
	{ "std::__cxx11::_List_base<", "", "std::_List_node<$0>", LIBRARY_ONE },
	{ "std::forward_list<", "", "std::_Fwd_list_node<$0>", LIBRARY_ONE },
	{ "std::_Fwd_list_base<", "", "std::_Fwd_list_node<$0>", LIBRARY_ONE },
	{ "std::deque<", "_M_reallocate_map", "$0*", LIBRARY_ARRAY },
	{ "std::_Deque_base<", "_M_allocate_map", "$0*", LIBRARY_ARRAY },
	{ "std::deque<", "", "$0", LIBRARY_DEQUE },
	{ "std::_Deque_base<", "", "$0", LIBRARY_DEQUE },
	{ "std::make_unique<", "", "$0", LIBRARY_ONE },
	{ "std::_Function_base::_Base_manager<", "", "$0", LIBRARY_ONE },
	{ "std::__1::allocator<", "allocate", "$0", LIBRARY_ARRAY },
	{ "std::__1::basic_string<", "", "$0", LIBRARY_ARRAY },
	{ "std::__1::vector<", "", "$0", LIBRARY_ARRAY },
	{ "std::__1::__split_buffer<", "", "$0", LIBRARY_ARRAY },
	{ "std::__1::__tree<", "", "std::__1::__tree_node<$0, void*>", LIBRARY_ONE },
	{ "std::__1::list<", "", "std::__1::__list_node<$0, void*>", LIBRARY_ONE },
	{ "std::__1::__hash_table<", "__rehash", "void*", LIBRARY_ARRAY },
	{ "std::__1::__hash_table<", "__do_rehash", "void*", LIBRARY_ARRAY },
	{ "std::__1::__hash_table<", "", "std::__1::__hash_node<$0, void*>", LIBRARY_ONE },
	{ "alloc::raw_vec::RawVec<", "", "$0", LIBRARY_ARRAY },
	{ "alloc::vec::Vec<", "", "$0", LIBRARY_ARRAY },
	{ "alloc::boxed::Box<", "new", "$0", LIBRARY_ONE },
};

// The name of a method of a template's instance; "" if the function is an instance itself.
static const char *method_of(const char *name, size_t length)
{
	return strncmp(name + length, "::", 2) == 0 ? name + length + 2 : "";
}

// Finds a rule for a function; for any of its template's methods if @p for_node, where that makes nodes.
static bool find(const char *name, bool for_node, struct library_match *match)
{
	name += *name == '<'; // Rust: <alloc::vec::Vec<T>>::push
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		const struct library_rule *rule = &rules[i];
		size_t length;

		if (strncmp(name, rule->template, strlen(rule->template)) != 0 ||
		    (for_node && (*rule->method || rule->form != LIBRARY_ONE)))
			continue;
		length = heap_template_length(name);
		if (length == 0 ||
		    strncmp(method_of(name, length), rule->method, strlen(rule->method)) != 0)
			continue;
		*match = (struct library_match){ rule, name, length };
		return true;
	}
	return false;
}

bool library_rules_find(const char *function, struct library_match *match)
{
	return find(function, false, match);
}

bool library_rules_find_node(const char *function, struct library_match *match)
{
	return find(function, true, match);
}

size_t library_rules_made(const struct library_match *match, char *name, size_t size)
{
	char instance[MAX_NAME];

	if (match->length >= sizeof(instance))
		return 0;
	memcpy(instance, match->instance, match->length);
	instance[match->length] = '\0';
	return library_types_substitute(match->rule->made, instance, match->length, name, size);
}
