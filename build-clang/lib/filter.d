build-clang/lib/filter.o: lib/filter.c lib/filter.h lib/dominators.h \
  lib/error.h lib/graph.h lib/progress.h lib/snapshot.h lib/types.h \
  lib/side_file.h lib/bits.h lib/cleanup.h lib/dominator_tree.h \
  lib/filter_terms.h

lib/filter.h:

lib/dominators.h:

lib/error.h:

lib/graph.h:

lib/progress.h:

lib/snapshot.h:

lib/types.h:

lib/side_file.h:

lib/bits.h:

lib/cleanup.h:

lib/dominator_tree.h:

lib/filter_terms.h:
