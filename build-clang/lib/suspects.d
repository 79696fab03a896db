build-clang/lib/suspects.o: lib/suspects.c lib/suspects.h \
  lib/dominator_tree.h lib/dominators.h lib/error.h lib/graph.h \
  lib/progress.h lib/snapshot.h lib/types.h lib/side_file.h \
  lib/cleanup.h

lib/suspects.h:

lib/dominator_tree.h:

lib/dominators.h:

lib/error.h:

lib/graph.h:

lib/progress.h:

lib/snapshot.h:

lib/types.h:

lib/side_file.h:

lib/cleanup.h:
