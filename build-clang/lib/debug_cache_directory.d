build-clang/lib/debug_cache_directory.o: lib/debug_cache_directory.c \
  lib/cleanup.h lib/debug.h lib/dwarf_file.h lib/error.h lib/types.h

lib/cleanup.h:

lib/debug.h:

lib/dwarf_file.h:

lib/error.h:

lib/types.h:
