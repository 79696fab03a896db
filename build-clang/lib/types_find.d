build-clang/lib/types_find.o: lib/types_find.c lib/types.h lib/error.h \
  lib/types_index.h

lib/types.h:

lib/error.h:

lib/types_index.h:
