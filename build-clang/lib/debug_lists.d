build-clang/lib/debug_lists.o: lib/debug_lists.c lib/debug_lists.h \
  lib/debug_entries.h lib/debug_files.h lib/debug_units.h \
  lib/debug_sections.h lib/error.h

lib/debug_lists.h:

lib/debug_entries.h:

lib/debug_files.h:

lib/debug_units.h:

lib/debug_sections.h:

lib/error.h:
