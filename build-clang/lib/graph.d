build-clang/lib/graph.o: lib/graph.c lib/graph.h lib/error.h \
  lib/progress.h lib/snapshot.h lib/types.h lib/cleanup.h lib/column.h

lib/graph.h:

lib/error.h:

lib/progress.h:

lib/snapshot.h:

lib/types.h:

lib/cleanup.h:

lib/column.h:
