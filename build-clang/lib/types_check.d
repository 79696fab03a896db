build-clang/lib/types_check.o: lib/types_check.c lib/types.h lib/error.h \
  lib/cleanup.h

lib/types.h:

lib/error.h:

lib/cleanup.h:
