// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A module that is loaded with RTLD_DEEPBIND, as PHP loads its extensions, and that frees the
 * program's blocks and is given its own to free. With an argument it is that module's path.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND) : NULL;

	if (!module) {
		printf("no module: %s\n", argc > 1 ? dlerror() : "which?");
		return 2;
	}

	void (*release)(void *) = (void (*)(void *))dlsym(module, "release");
	void *(*make)(size_t) = (void *(*)(size_t))dlsym(module, "make");

	for (size_t size = 1; size < 1000; size += 37) {
		release(malloc(size));
		free(make(size));
	}
	// All that malloc_usable_size() promises outlasts realloc, of aligned blocks too.
	for (size_t size = 0; size < 400; size++) {
		unsigned char *block = aligned_alloc(64, size);
		size_t usable = malloc_usable_size(block);

		memset(block, 7, usable);
		block = realloc(block, usable + 500);
		for (size_t i = 0; i < usable; i++) {
			if (block[i] != 7) {
				printf("%zu of %zu bytes at 64: byte %zu is lost\n", size, usable,
				       i);
				return 1;
			}
		}
		free(block);
	}
	void *huge = NULL;

	printf("at 2 GiB: %d\n", posix_memalign(&huge, (size_t)1 << 31, 100));
	free(huge);
	dlclose(module);
	return 0;
}
