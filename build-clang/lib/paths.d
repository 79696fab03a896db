build-clang/lib/paths.o: lib/paths.c lib/paths.h lib/graph.h lib/error.h \
  lib/progress.h lib/snapshot.h lib/types.h lib/cleanup.h

lib/paths.h:

lib/graph.h:

lib/error.h:

lib/progress.h:

lib/snapshot.h:

lib/types.h:

lib/cleanup.h:
