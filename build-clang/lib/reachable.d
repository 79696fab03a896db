build-clang/lib/reachable.o: lib/reachable.c lib/reachable.h lib/graph.h \
  lib/error.h lib/progress.h lib/snapshot.h lib/types.h lib/cleanup.h

lib/reachable.h:

lib/graph.h:

lib/error.h:

lib/progress.h:

lib/snapshot.h:

lib/types.h:

lib/cleanup.h:
