build-clang/lib/dwarf_file.o: lib/dwarf_file.c lib/dwarf_file.h \
  lib/error.h lib/cleanup.h lib/debug_code.h lib/debug_entries.h \
  lib/debug_files.h lib/debug_units.h lib/debug_sections.h

lib/dwarf_file.h:

lib/error.h:

lib/cleanup.h:

lib/debug_code.h:

lib/debug_entries.h:

lib/debug_files.h:

lib/debug_units.h:

lib/debug_sections.h:
