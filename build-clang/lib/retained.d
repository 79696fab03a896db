build-clang/lib/retained.o: lib/retained.c lib/retained.h lib/graph.h \
  lib/error.h lib/progress.h lib/snapshot.h lib/types.h lib/bits.h \
  lib/cleanup.h lib/column.h

lib/retained.h:

lib/graph.h:

lib/error.h:

lib/progress.h:

lib/snapshot.h:

lib/types.h:

lib/bits.h:

lib/cleanup.h:

lib/column.h:
