build-clang/lib/types_alias.o: lib/types_alias.c lib/cleanup.h \
  lib/types.h lib/error.h

lib/cleanup.h:

lib/types.h:

lib/error.h:
