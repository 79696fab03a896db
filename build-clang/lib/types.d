build-clang/lib/types.o: lib/types.c lib/types.h lib/error.h \
  lib/types_index.h

lib/types.h:

lib/error.h:

lib/types_index.h:
