build-clang/lib/debug_code_unit.o: lib/debug_code_unit.c \
  lib/debug_code_unit.h lib/debug_code.h lib/debug_entries.h \
  lib/debug_files.h lib/debug_units.h lib/debug_sections.h lib/error.h \
  lib/dwarf_file.h lib/debug_lists.h lib/types_index.h lib/types.h

lib/debug_code_unit.h:

lib/debug_code.h:

lib/debug_entries.h:

lib/debug_files.h:

lib/debug_units.h:

lib/debug_sections.h:

lib/error.h:

lib/dwarf_file.h:

lib/debug_lists.h:

lib/types_index.h:

lib/types.h:
