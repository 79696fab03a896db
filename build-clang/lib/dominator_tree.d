build-clang/lib/dominator_tree.o: lib/dominator_tree.c \
  lib/dominator_tree.h lib/dominators.h lib/error.h lib/graph.h \
  lib/progress.h lib/snapshot.h lib/types.h lib/side_file.h lib/bits.h \
  lib/cleanup.h lib/column.h

lib/dominator_tree.h:

lib/dominators.h:

lib/error.h:

lib/graph.h:

lib/progress.h:

lib/snapshot.h:

lib/types.h:

lib/side_file.h:

lib/bits.h:

lib/cleanup.h:

lib/column.h:
