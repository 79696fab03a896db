build-clang/lib/series.o: lib/series.c lib/series.h lib/snapshot.h \
  lib/error.h lib/types.h lib/cleanup.h

lib/series.h:

lib/snapshot.h:

lib/error.h:

lib/types.h:

lib/cleanup.h:
