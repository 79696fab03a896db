build-clang/lib/debug_split.o: lib/debug_split.c lib/debug_split.h \
  lib/debug_units.h lib/debug_sections.h lib/error.h lib/cleanup.h \
  lib/debug_entries.h lib/debug_files.h

lib/debug_split.h:

lib/debug_units.h:

lib/debug_sections.h:

lib/error.h:

lib/cleanup.h:

lib/debug_entries.h:

lib/debug_files.h:
