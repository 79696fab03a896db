// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Types, functions and variables whose names no screen holds: templates of some hundred
 * characters, names as Rust has them, Chinese and combining characters. Each line of input makes
 * some more, of which some are lost.
 */
// CFLAGS: -Wno-normalized
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace alloc_collections_btree_map_entry
{
template <typename Key, typename Value, typename Allocator> struct OccupiedEntryWithRootAndHandle {
	OccupiedEntryWithRootAndHandle *next;
	Key key;
	Value *value;
	Allocator *allocator;
};
} // namespace alloc_collections_btree_map_entry

namespace core_option_Option_alloc_sync_Arc
{
struct dyn_Fn_tokio_runtime_task_harness_Harness {
	long words[4];
};

template <typename Inner> struct MutexGuardedConnectionPoolOfReplicatedShards {
	Inner *inner;
	long weak, strong;
};
} // namespace core_option_Option_alloc_sync_Arc

struct 会话记录与客户端连接的共享状态缓存条目用于测试非常长的名字 {
	long id;
	char *x̱ȳz̲_combined;
};

namespace al = alloc_collections_btree_map_entry;
namespace co = core_option_Option_alloc_sync_Arc;

using pool = co::MutexGuardedConnectionPoolOfReplicatedShards<
	co::dyn_Fn_tokio_runtime_task_harness_Harness>;
using nested = co::MutexGuardedConnectionPoolOfReplicatedShards<
	co::MutexGuardedConnectionPoolOfReplicatedShards<pool>>;
using entry = al::OccupiedEntryWithRootAndHandle<
	long, nested, 会话记录与客户端连接的共享状态缓存条目用于测试非常长的名字>;

static entry
	*the_entries_of_all_sessions_that_were_ever_opened_by_the_replicated_shards_of_this_server;
static entry **目录_x̱ȳ;
static size_t used;

template <typename Type>
__attribute__((noinline)) static Type *
allocate_and_register_with_the_global_epoch_based_reclamation_of(void)
{
	return static_cast<Type *>(calloc(1, sizeof(Type)));
}

__attribute__((noinline)) static void 打开会话并登记到全局目录中_x̱ȳ(int number)
{
	entry *made = allocate_and_register_with_the_global_epoch_based_reclamation_of<entry>();

	made->value = allocate_and_register_with_the_global_epoch_based_reclamation_of<nested>();
	made->allocator = allocate_and_register_with_the_global_epoch_based_reclamation_of<
		会话记录与客户端连接的共享状态缓存条目用于测试非常长的名字>();
	made->allocator->x̱ȳz̲_combined = strdup("a text that is there several times, and much "
					       "longer than any of the lines of a small terminal");
	made->key = number;
	made->next =
		the_entries_of_all_sessions_that_were_ever_opened_by_the_replicated_shards_of_this_server;
	the_entries_of_all_sessions_that_were_ever_opened_by_the_replicated_shards_of_this_server =
		made;
	目录_x̱ȳ[used++] = made;
	if (number % 2)
		made->value = nullptr; // lost
}

int main()
{
	setvbuf(stdin, nullptr, _IONBF, 0);
	setvbuf(stdout, nullptr, _IONBF, 0);
	目录_x̱ȳ = static_cast<entry **>(calloc(4096, sizeof(entry *)));
	puts("ready");
	for (int number = 0; getchar() != EOF;) {
		for (int i = 0; i < 20; i++)
			打开会话并登记到全局目录中_x̱ȳ(number++);
		puts("more");
	}
	printf("%zu\n", used);
	return 0;
}
