build-clang/lib/lines.o: lib/lines.c lib/lines.h lib/dwarf_file.h \
  lib/error.h lib/cleanup.h lib/debug_code.h lib/debug_entries.h \
  lib/debug_files.h lib/debug_units.h lib/debug_sections.h \
  lib/dwarf_types_reader.h lib/debug.h lib/types.h \
  lib/dwarf_types_unit.h

lib/lines.h:

lib/dwarf_file.h:

lib/error.h:

lib/cleanup.h:

lib/debug_code.h:

lib/debug_entries.h:

lib/debug_files.h:

lib/debug_units.h:

lib/debug_sections.h:

lib/dwarf_types_reader.h:

lib/debug.h:

lib/types.h:

lib/dwarf_types_unit.h:
