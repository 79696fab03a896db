build-clang/lib/heapgraph_sets.o: lib/heapgraph_sets.c lib/bits.h \
  lib/cleanup.h lib/filter.h lib/dominators.h lib/error.h lib/graph.h \
  lib/progress.h lib/snapshot.h lib/types.h lib/side_file.h \
  lib/heapgraph_private.h lib/heapgraph.h lib/member_path.h \
  lib/retained.h

lib/bits.h:

lib/cleanup.h:

lib/filter.h:

lib/dominators.h:

lib/error.h:

lib/graph.h:

lib/progress.h:

lib/snapshot.h:

lib/types.h:

lib/side_file.h:

lib/heapgraph_private.h:

lib/heapgraph.h:

lib/member_path.h:

lib/retained.h:
