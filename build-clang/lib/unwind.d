build-clang/lib/unwind.o: lib/unwind.c lib/unwind.h lib/dwarf_file.h \
  lib/error.h lib/cleanup.h lib/dwarf_expression.h

lib/unwind.h:

lib/dwarf_file.h:

lib/error.h:

lib/cleanup.h:

lib/dwarf_expression.h:
