build-clang/lib/filter_terms.o: lib/filter_terms.c lib/filter_terms.h \
  lib/filter.h lib/dominators.h lib/error.h lib/graph.h lib/progress.h \
  lib/snapshot.h lib/types.h lib/side_file.h lib/cleanup.h

lib/filter_terms.h:

lib/filter.h:

lib/dominators.h:

lib/error.h:

lib/graph.h:

lib/progress.h:

lib/snapshot.h:

lib/types.h:

lib/side_file.h:

lib/cleanup.h:
