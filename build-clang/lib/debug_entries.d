build-clang/lib/debug_entries.o: lib/debug_entries.c lib/debug_entries.h \
  lib/debug_files.h lib/debug_units.h lib/debug_sections.h lib/error.h \
  lib/debug_forms.h

lib/debug_entries.h:

lib/debug_files.h:

lib/debug_units.h:

lib/debug_sections.h:

lib/error.h:

lib/debug_forms.h:
