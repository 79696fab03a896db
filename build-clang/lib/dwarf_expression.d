build-clang/lib/dwarf_expression.o: lib/dwarf_expression.c \
  lib/dwarf_expression.h lib/unwind.h lib/dwarf_file.h lib/error.h \
  lib/debug_entries.h lib/debug_files.h lib/debug_units.h \
  lib/debug_sections.h

lib/dwarf_expression.h:

lib/unwind.h:

lib/dwarf_file.h:

lib/error.h:

lib/debug_entries.h:

lib/debug_files.h:

lib/debug_units.h:

lib/debug_sections.h:
