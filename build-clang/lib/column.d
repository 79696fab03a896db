build-clang/lib/column.o: lib/column.c lib/column.h lib/error.h \
  lib/cleanup.h

lib/column.h:

lib/error.h:

lib/cleanup.h:
