build-clang/lib/side_file.o: lib/side_file.c lib/side_file.h \
  lib/snapshot.h lib/error.h lib/types.h lib/cleanup.h lib/debug.h \
  lib/dwarf_file.h lib/file.h lib/parallel.h

lib/side_file.h:

lib/snapshot.h:

lib/error.h:

lib/types.h:

lib/cleanup.h:

lib/debug.h:

lib/dwarf_file.h:

lib/file.h:

lib/parallel.h:
