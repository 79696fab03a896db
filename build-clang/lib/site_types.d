build-clang/lib/site_types.o: lib/site_types.c lib/site_types.h \
  lib/debug_code.h lib/debug_entries.h lib/debug_files.h \
  lib/debug_units.h lib/debug_sections.h lib/error.h lib/dwarf_file.h \
  lib/cleanup.h

lib/site_types.h:

lib/debug_code.h:

lib/debug_entries.h:

lib/debug_files.h:

lib/debug_units.h:

lib/debug_sections.h:

lib/error.h:

lib/dwarf_file.h:

lib/cleanup.h:
