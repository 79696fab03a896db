build-clang/lib/types_format.o: lib/types_format.c lib/types.h \
  lib/error.h lib/types_index.h

lib/types.h:

lib/error.h:

lib/types_index.h:
