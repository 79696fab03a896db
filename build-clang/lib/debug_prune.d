build-clang/lib/debug_prune.o: lib/debug_prune.c lib/debug_prune.h \
  lib/debug.h lib/dwarf_file.h lib/error.h lib/types.h lib/cleanup.h \
  lib/types_index.h

lib/debug_prune.h:

lib/debug.h:

lib/dwarf_file.h:

lib/error.h:

lib/types.h:

lib/cleanup.h:

lib/types_index.h:
