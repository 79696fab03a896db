build-clang/lib/dwarf_types.o: lib/dwarf_types.c lib/dwarf_types.h \
  lib/dwarf_file.h lib/error.h lib/types.h lib/dwarf_types_reader.h \
  lib/debug.h lib/dwarf_types_unit.h lib/debug_entries.h \
  lib/debug_files.h lib/debug_units.h lib/debug_sections.h \
  lib/types_index.h

lib/dwarf_types.h:

lib/dwarf_file.h:

lib/error.h:

lib/types.h:

lib/dwarf_types_reader.h:

lib/debug.h:

lib/dwarf_types_unit.h:

lib/debug_entries.h:

lib/debug_files.h:

lib/debug_units.h:

lib/debug_sections.h:

lib/types_index.h:
