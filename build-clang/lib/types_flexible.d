build-clang/lib/types_flexible.o: lib/types_flexible.c lib/types.h \
  lib/error.h

lib/types.h:

lib/error.h:
