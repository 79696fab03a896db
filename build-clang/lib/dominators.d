build-clang/lib/dominators.o: lib/dominators.c lib/dominators.h \
  lib/error.h lib/graph.h lib/progress.h lib/snapshot.h lib/types.h \
  lib/side_file.h lib/cleanup.h lib/column.h

lib/dominators.h:

lib/error.h:

lib/graph.h:

lib/progress.h:

lib/snapshot.h:

lib/types.h:

lib/side_file.h:

lib/cleanup.h:

lib/column.h:
