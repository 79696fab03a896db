build-clang/lib/locals.o: lib/locals.c lib/locals.h lib/dwarf_file.h \
  lib/error.h lib/unwind.h lib/cleanup.h lib/debug_code.h \
  lib/debug_entries.h lib/debug_files.h lib/debug_units.h \
  lib/debug_sections.h lib/debug_lists.h lib/dwarf_expression.h

lib/locals.h:

lib/dwarf_file.h:

lib/error.h:

lib/unwind.h:

lib/cleanup.h:

lib/debug_code.h:

lib/debug_entries.h:

lib/debug_files.h:

lib/debug_units.h:

lib/debug_sections.h:

lib/debug_lists.h:

lib/dwarf_expression.h:
