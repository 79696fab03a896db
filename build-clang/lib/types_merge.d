build-clang/lib/types_merge.o: lib/types_merge.c lib/cleanup.h \
  lib/types_index.h lib/types.h lib/error.h

lib/cleanup.h:

lib/types_index.h:

lib/types.h:

lib/error.h:
