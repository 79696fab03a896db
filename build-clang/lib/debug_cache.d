build-clang/lib/debug_cache.o: lib/debug_cache.c lib/debug.h \
  lib/dwarf_file.h lib/error.h lib/types.h lib/cleanup.h lib/file.h

lib/debug.h:

lib/dwarf_file.h:

lib/error.h:

lib/types.h:

lib/cleanup.h:

lib/file.h:
