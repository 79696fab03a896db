build-clang/lib/debug_units.o: lib/debug_units.c lib/debug_units.h \
  lib/debug_sections.h lib/error.h lib/cleanup.h lib/debug_split.h

lib/debug_units.h:

lib/debug_sections.h:

lib/error.h:

lib/cleanup.h:

lib/debug_split.h:
