build-clang/lib/debug_code.o: lib/debug_code.c lib/debug_code.h \
  lib/debug_entries.h lib/debug_files.h lib/debug_units.h \
  lib/debug_sections.h lib/error.h lib/dwarf_file.h lib/cleanup.h \
  lib/debug_code_unit.h lib/debug_lists.h lib/demangle.h \
  lib/dwarf_types_reader.h lib/debug.h lib/types.h \
  lib/dwarf_types_unit.h lib/types_index.h

lib/debug_code.h:

lib/debug_entries.h:

lib/debug_files.h:

lib/debug_units.h:

lib/debug_sections.h:

lib/error.h:

lib/dwarf_file.h:

lib/cleanup.h:

lib/debug_code_unit.h:

lib/debug_lists.h:

lib/demangle.h:

lib/dwarf_types_reader.h:

lib/debug.h:

lib/types.h:

lib/dwarf_types_unit.h:

lib/types_index.h:
