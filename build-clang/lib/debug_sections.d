build-clang/lib/debug_sections.o: lib/debug_sections.c \
  lib/debug_sections.h lib/error.h

lib/debug_sections.h:

lib/error.h:
