build-clang/lib/dwarf_types_names.o: lib/dwarf_types_names.c \
  lib/dwarf_types_unit.h lib/debug_entries.h lib/debug_files.h \
  lib/debug_units.h lib/debug_sections.h lib/error.h lib/types.h \
  lib/types_index.h

lib/dwarf_types_unit.h:

lib/debug_entries.h:

lib/debug_files.h:

lib/debug_units.h:

lib/debug_sections.h:

lib/error.h:

lib/types.h:

lib/types_index.h:
