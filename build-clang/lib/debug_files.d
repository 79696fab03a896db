build-clang/lib/debug_files.o: lib/debug_files.c lib/debug_files.h \
  lib/debug_units.h lib/debug_sections.h lib/error.h

lib/debug_files.h:

lib/debug_units.h:

lib/debug_sections.h:

lib/error.h:
