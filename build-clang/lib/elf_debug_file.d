build-clang/lib/elf_debug_file.o: lib/elf_debug_file.c lib/elf_file.h \
  lib/error.h lib/cleanup.h

lib/elf_file.h:

lib/error.h:

lib/cleanup.h:
