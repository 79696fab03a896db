build-clang/lib/debug.o: lib/debug.c lib/debug.h lib/dwarf_file.h \
  lib/error.h lib/types.h lib/cleanup.h lib/debug_prune.h \
  lib/dwarf_types_reader.h lib/dwarf_types_unit.h lib/debug_entries.h \
  lib/debug_files.h lib/debug_units.h lib/debug_sections.h \
  lib/types_index.h

lib/debug.h:

lib/dwarf_file.h:

lib/error.h:

lib/types.h:

lib/cleanup.h:

lib/debug_prune.h:

lib/dwarf_types_reader.h:

lib/dwarf_types_unit.h:

lib/debug_entries.h:

lib/debug_files.h:

lib/debug_units.h:

lib/debug_sections.h:

lib/types_index.h:
