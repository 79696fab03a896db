build-clang/lib/elf_file.o: lib/elf_file.c lib/elf_file.h lib/error.h \
  lib/cleanup.h

lib/elf_file.h:

lib/error.h:

lib/cleanup.h:
