// SPDX-License-Identifier: GPL-3.0-or-later
// CFLAGS: -std=c++17 -ldl
/*
 * A program's own ways with memory, stacks and code. See hostile.h.
 */
#include "t/programs/hostile.h"

#include <csetjmp>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <malloc.h>
#include <memory>
#include <new>
#include <obstack.h>
#include <stdexcept>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <vector>

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

namespace
{

const size_t HEADER_SIZE = 16; // ours
const size_t PAGE = static_cast<size_t>(sysconf(_SC_PAGESIZE));

void *map(size_t size, int flags = MAP_PRIVATE)
{
	return mmap(nullptr, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
}

// malloc_trim, mallopt, and what has no use for our header.
void tune_malloc()
{
	std::vector<void *> blocks;

	expect("mallopt", mallopt(M_MMAP_THRESHOLD, 4096), 1);
	for (int i = 0; i < 1000; i++)
		blocks.push_back(malloc(static_cast<size_t>(i) * 17));
	for (void *block : blocks)
		free(block);
	malloc_trim(0);
	capture();
	expect("mallinfo", mallinfo2().arena > 0, true);
}

void use_obstacks()
{
	struct obstack stack;

	obstack_init(&stack);
	for (int i = 0; i < 1000; i++)
		obstack_printf(&stack, "%d ", i);
	capture();
	obstack_1grow(&stack, '\0');
	expect("bytes", static_cast<long>(strlen(static_cast<char *>(obstack_finish(&stack)))),
	       3890);
	obstack_free(&stack, nullptr);
}

// --- control flow ------------------------------------------------------------------

struct counted {
	static int alive;
	std::string text = "a text that is too long to be kept inside";
	counted()
	{
		alive++;
	}
	~counted()
	{
		alive--;
	}
};
int counted::alive;

int descend(int depth)
{
	auto held = std::make_unique<counted>();

	if (depth == 0) {
		capture();
		throw std::runtime_error("from below");
	}
	return descend(depth - 1) + counted::alive;
}

void throw_exceptions()
{
	for (int i = 0; i < 2; i++) {
		try {
			descend(20);
		} catch (const std::exception &error) {
			puts(error.what());
			capture(); // with the exception alive
		}
		expect("alive", counted::alive, 0);
	}
}

std::jmp_buf environment;

__attribute__((noinline)) void jump(int depth)
{
	char *memory = static_cast<char *>(__builtin_alloca(10000));

	memset(memory, depth, 10000);
	if (depth > 0)
		jump(depth - 1);
	capture();
	std::longjmp(environment, 5);
}

void jump_about()
{
	int value = setjmp(environment);

	if (value == 0)
		jump(10);
	expect("the value that setjmp gave", value, 5);
	capture();
}

// Coroutines, on stacks that malloc gave.
ucontext_t main_context, coroutines[3];

void run_coroutine(int number)
{
	char *held = static_cast<char *>(malloc(777));

	for (int i = 0; i < 2; i++) {
		held[0] = static_cast<char>(i);
		if (number == 1)
			capture();
		swapcontext(&coroutines[number], &main_context);
	}
	free(held);
}

void run_coroutines()
{
	const size_t size = 65536;
	void *stacks[3];

	for (int i = 0; i < 3; i++) {
		stacks[i] = malloc(size);
		getcontext(&coroutines[i]);
		coroutines[i].uc_stack.ss_sp = stacks[i];
		coroutines[i].uc_stack.ss_size = size;
		coroutines[i].uc_link = &main_context;
		makecontext(&coroutines[i], reinterpret_cast<void (*)()>(run_coroutine), 1, i);
	}
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 3; i++)
			swapcontext(&main_context, &coroutines[i]);
		if (round == 0)
			capture();
	}
	for (void *stack : stacks)
		free(stack);
}

// Code without a file, which allocates: mov rax, address; jmp rax.
void run_made_code()
{
	auto *code = static_cast<unsigned char *>(map(4096));
	void *(*function)(size_t) = malloc;
	void *(*made)(size_t);
	size_t at = 0;

#if defined(__x86_64__)
	const unsigned char first[] = {
		0x48, 0x83, 0xec, 0x08, 0x48, 0xb8
	}; // sub rsp, 8; mov rax,
	const unsigned char last[] = { 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3 };

	memcpy(code, first, sizeof(first));
	memcpy(code + sizeof(first), &function, 8);
	memcpy(code + sizeof(first) + 8, last, sizeof(last));
	mprotect(code, 4096, PROT_READ | PROT_EXEC);
	memcpy(&made, &code, sizeof(made));
	for (; at < 50; at++)
		memset(made(555), 1, 555);
#else
	(void)function;
	(void)made;
	for (; at < 50; at++)
		memset(malloc(555), 1, 555);
#endif
	capture();
}

// --- mappings ------------------------------------------------------------------------

// A block that is reachable through memory of the program's own alone.
void hold_in(void *memory)
{
	memset(memory, 0, 4096);
	*static_cast<void **>(memory) = memset(malloc(4321), 0, 4321);
}

void remap()
{
	auto *memory = static_cast<char *>(map(1 << 20));

	hold_in(memory);
	capture();
	memory = static_cast<char *>(mremap(memory, 1 << 20, 8 << 20, MREMAP_MAYMOVE));
	expect("mremap", memory != MAP_FAILED, true);
	capture();
	mremap(memory, 8 << 20, 4096, 0);
	capture();
}

void use_huge_pages()
{
	void *memory = aligned_alloc(2 << 20, 16 << 20);

	madvise(memory, 16 << 20, MADV_HUGEPAGE);
	memset(memory, 1, 16 << 20);
	capture();
	free(memory);
}

void share()
{
	void *memory = map(1 << 20, MAP_SHARED);

	hold_in(memory);
	capture();
}

// Pages that nobody serves: who reads them waits for ever.
void leave_faults_to_user()
{
	const size_t size = 1 << 20;
	long descriptor = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	struct uffdio_api api = {};
	struct uffdio_register range = {};

	if (descriptor < 0)
		return;
	api.api = UFFD_API;
	range.range.start = reinterpret_cast<uint64_t>(map(size));
	range.range.len = size;
	range.mode = UFFDIO_REGISTER_MODE_MISSING;
	ioctl(static_cast<int>(descriptor), UFFDIO_API, &api);
	ioctl(static_cast<int>(descriptor), UFFDIO_REGISTER, &range);
	capture();
	close(static_cast<int>(descriptor));
}

void take_20_gigabytes()
{
	const size_t size = UINT64_C(20) << 30;
	auto *memory = static_cast<char *>(calloc(1, size));

	expect("calloc", memory != nullptr, true);
	memory[size / 2] = 1;
	memory[size - 1] = 1;
	capture();
	free(memory);
}

// Almost as many mappings as the kernel allows: every other page is read-only.
void fragment()
{
	const size_t pages = 60000;
	auto *memory = static_cast<char *>(map(pages * PAGE));

	for (size_t i = 0; i < pages; i += 2)
		mprotect(memory + i * PAGE, PAGE, PROT_READ);
	hold_in(memory + PAGE);
	capture();
	munmap(memory, pages * PAGE);
}

void give_back_in_pieces()
{
	auto *memory = static_cast<char *>(map(64 << 20));

	memset(memory, 1, 64 << 20);
	for (size_t i = 0; i < 64 << 20; i += 2 * PAGE)
		madvise(memory + i, PAGE, MADV_DONTNEED);
	mprotect(memory, PAGE, PROT_NONE);
	capture();
}

// --- blocks that cannot be read whole ----------------------------------------------------

// A block with a page that is made unreadable. Behind that page it holds another block of 4321
// bytes.
struct holed {
	char *block, *page;

	holed(void *memory, size_t size, size_t at, int (*change)(void *, size_t))
	    : block(static_cast<char *>(memory))
	{
		auto start = reinterpret_cast<uintptr_t>(block) + at;

		memset(block, 0, size);
		page = reinterpret_cast<char *>((start + PAGE - 1) / PAGE * PAGE);
		*reinterpret_cast<void **>(block + size - 8) = memset(malloc(4321), 0, 4321);
		expect("a page changed", change(page, PAGE), 0);
	}
};

int protect(void *page, size_t size)
{
	return mprotect(page, size, PROT_NONE);
}

int unprotect(void *page, size_t size)
{
	return mprotect(page, size, PROT_READ | PROT_WRITE);
}

template <int ADVICE> int advise(void *page, size_t size)
{
	return madvise(page, size, ADVICE);
}

// At the start, in the middle, at the end; in blocks of malloc's mappings and its heap, aligned
// and not.
void change_pages(int (*change)(void *, size_t), int (*restore)(void *, size_t))
{
	std::vector<holed> all;

	for (size_t at : { size_t(0), size_t(32768), size_t(65536) - PAGE - 16 })
		all.emplace_back(aligned_alloc(PAGE, 65536 + 16), 65536 + 16, at, change);
	for (size_t at : { size_t(PAGE), size_t(150000), size_t(300000) - 2 * PAGE })
		all.emplace_back(malloc(300000), 300000, at, change);
	for (size_t at : { size_t(PAGE), size_t(50000) })
		all.emplace_back(malloc(100000), 100000, at, change);
	capture();
	for (holed &each : all) {
		expect("a page restored", restore(each.page, PAGE), 0);
		free(each.block);
	}
}

void protect_pages()
{
	change_pages(protect, unprotect);
}

void leave_pages_out()
{
	change_pages(advise<MADV_DONTFORK>, advise<MADV_DOFORK>);
}

void wipe_pages()
{
	change_pages(advise<MADV_WIPEONFORK>, advise<MADV_KEEPONFORK>);
}

// Linux 6.13.
void guard_pages()
{
	change_pages(advise<102>, advise<103>);
}

// --- what it costs ---------------------------------------------------------------------

// A heap that the writer needs memory for.
void keep_many()
{
	std::vector<void *> blocks;

	for (int i = 0; i < 50000; i++)
		blocks.push_back(memset(malloc(100), 1, 100));
	capture();
	for (void *block : blocks)
		free(block);
}

// All of a large block while its copy is still there. @return whether there is a snapshot
bool write_meanwhile(size_t size, unsigned wait_us)
{
	auto *memory = static_cast<char *>(malloc(size));

	memset(memory, 1, size);
	if (is_captured())
		expect("heapsnap_dump", heapsnap_dump(nullptr), 0);
	memset(memory, 2, size);
	usleep(wait_us);

	bool written = is_captured() && heapsnap_wait() == 0;

	expect("the last byte", memory[size - 1], 2);
	free(memory);
	return written;
}

void write_to_copied()
{
	// Enough to do for the writer till all has been written to.
	for (int i = 0; i < 1000000; i++)
		*static_cast<void **>(malloc(64)) = marks[i % MARKS];
	expect("written", write_meanwhile(64 << 20, 0), is_captured());
}

void fill_up()
{
	auto *memory = static_cast<char *>(malloc(74 << 20));

	memset(memory, 1, 74 << 20);
	if (is_captured())
		expect("heapsnap_dump", heapsnap_dump(nullptr), 0);
	if (is_captured() && heapsnap_wait() == 0)
		puts("written");
	free(memory);
}

// Twice what the cgroup has room for, were the copy not given up.
void fill_beyond()
{
	write_meanwhile(60 << 20, 100000);
}

// --- damage ----------------------------------------------------------------------------

// A stray pointer writes into the header of a block, which is then freed as ever.
void damage_header()
{
	auto *block = static_cast<unsigned char *>(malloc(2003));

	if (is_captured())
		block[-static_cast<long>(HEADER_SIZE)] ^= 1;
	capture();
	free(block);
	capture();
}

// The same for every other one of many blocks: more than a snapshot lists.
void damage_many()
{
	constexpr size_t COUNT = 2400;
	static unsigned char *blocks[COUNT];

	for (auto &block : blocks)
		block = static_cast<unsigned char *>(malloc(203));
	for (size_t i = 0; i < COUNT && is_captured(); i += 2)
		blocks[i][-static_cast<long>(HEADER_SIZE)] ^= 1;
	capture();
	for (auto *block : blocks)
		free(block);
}

// A block is overrun by so much that the size of the one behind it is gone, but not its site.
void overrun_block()
{
	constexpr size_t SIZE = 40, BEYOND = 16; // glibc's own word, and half of our header
	auto *block = static_cast<unsigned char *>(malloc(SIZE));
	auto *next = static_cast<unsigned char *>(malloc(SIZE));
	unsigned char saved[BEYOND];

	__asm__("" : "+r"(block)); // what it points to is not for the compiler to know

	if (is_captured()) {
		expect("the distance of two blocks", next - block,
		       static_cast<long>(SIZE + 8 + HEADER_SIZE));
		memcpy(saved, block + SIZE, BEYOND);
		memset(block + SIZE, 'x', BEYOND);
	}
	capture();
	if (is_captured())
		memcpy(block + SIZE, saved, BEYOND);
	capture();
	free(block);
	free(next);
}

// Pairs of a number and of a pointer to code with something in the bits that pointers do not
// need: all that is left of a header when its block has been overrun.
struct lookalike {
	uint64_t number, tagged;
};
lookalike lookalikes[10000];

void fill_with_lookalikes(void *memory, size_t size)
{
	auto *pairs = static_cast<lookalike *>(memory);

	for (size_t i = 0; i < size / sizeof(*pairs); i++)
		pairs[i] = { i * 8, (0x1000 + i * 7) << 48 |
					    reinterpret_cast<uint64_t>(fill_with_lookalikes) };
}

// In static memory, in memory of the program's own, in what was freed between live blocks, in
// what is left of larger blocks.
void keep_lookalikes()
{
	constexpr size_t SIZE = 60000, COUNT = 20;
	void *blocks[2 * COUNT];

	fill_with_lookalikes(lookalikes, sizeof(lookalikes));
	fill_with_lookalikes(map(1 << 20), 1 << 20);
	for (void *&block : blocks) {
		block = malloc(SIZE);
		fill_with_lookalikes(block, SIZE);
	}
	for (size_t i = 0; i < COUNT; i++)
		free(blocks[2 * i]);
	for (size_t i = 0; i < COUNT; i++)
		blocks[2 * i] = realloc(malloc(200 + i * 1000), 100 + i * 900);
	for (size_t i = 0; i < COUNT; i++)
		blocks[2 * i + 1] = realloc(blocks[2 * i + 1], 30000);
	capture();
	for (void *block : blocks)
		free(block);
	capture();
}

// --- what looks like blocks --------------------------------------------------------------

// Four million pairs: a number that may be a size, and one that has all of its bits. Of what is
// as good as random one in 65,536 looks like a signature.
// @param origin  of the word that would have a header's site and signature
template <typename Origin> void keep_words(Origin origin)
{
	struct pair {
		uint64_t count, origin;
	};
	constexpr size_t COUNT = 4 << 20;
	auto *pairs =
		static_cast<pair *>(mmap(nullptr, COUNT * sizeof(pair), PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

	for (size_t i = 0; i < COUNT; i++)
		pairs[i] = { 4001, origin(i) };
	capture();
	munmap(pairs, COUNT * sizeof(pair));
}

void keep_numbers()
{
	keep_words([](size_t i) {
		double weight = 1.0 / static_cast<double>(i + 3);
		uint64_t word;

		memcpy(&word, &weight, sizeof(word));
		return word;
	});
}

// Addresses near code, where code may have been.
void keep_addresses()
{
	keep_words([](size_t i) {
		auto near = reinterpret_cast<uint64_t>(&keep_addresses) + (1 << 30);

		return static_cast<uint64_t>(i) << 48 | near;
	});
}

// --- modules ---------------------------------------------------------------------------

void unload()
{
	for (int i = 0; i < 2; i++) {
		void *library = dlopen("libz.so.1", RTLD_NOW);
		const char *(*version)() = nullptr;

		if (library) {
			void *symbol = dlsym(library, "zlibVersion");

			memcpy(&version, &symbol, sizeof(version));
			expect("a version", version()[0], '1');
		}
		capture();
		if (library)
			dlclose(library);
		capture();
	}
}

// As an upgrade does, while it runs.
void replace_itself()
{
	expect("replacing", system(getenv("REPLACE")), 0);
	capture();
}

const struct way ways[] = {
	{ "tuned", tune_malloc },
	{ "obstacks", use_obstacks },
	{ "exceptions", throw_exceptions },
	{ "longjmp", jump_about },
	{ "coroutines", run_coroutines },
	{ "made-code", run_made_code },
	{ "mremap", remap },
	{ "huge-pages", use_huge_pages },
	{ "shared", share },
	{ "userfaultfd", leave_faults_to_user },
	{ "20-gigabytes", take_20_gigabytes },
	{ "fragments", fragment },
	{ "holes", give_back_in_pieces },
	{ "many", keep_many },
	{ "copied", write_to_copied },
	{ "full", fill_up },
	{ "fuller", fill_beyond },
	{ "protected", protect_pages },
	{ "left-out", leave_pages_out },
	{ "wiped", wipe_pages },
	{ "guards", guard_pages },
	{ "damage", damage_header },
	{ "damages", damage_many },
	{ "overrun", overrun_block },
	{ "lookalikes", keep_lookalikes },
	{ "numbers", keep_numbers },
	{ "addresses", keep_addresses },
	{ "unload", unload },
	{ "replaced", replace_itself },
};

} // namespace

int main(int argc, char **argv)
{
	return run_way(ways, sizeof(ways) / sizeof(ways[0]), argc, argv);
}
