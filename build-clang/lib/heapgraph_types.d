build-clang/lib/heapgraph_types.o: lib/heapgraph_types.c lib/cleanup.h \
  lib/heapgraph_private.h lib/dominators.h lib/error.h lib/graph.h \
  lib/progress.h lib/snapshot.h lib/types.h lib/side_file.h \
  lib/heapgraph.h lib/member_path.h

lib/cleanup.h:

lib/heapgraph_private.h:

lib/dominators.h:

lib/error.h:

lib/graph.h:

lib/progress.h:

lib/snapshot.h:

lib/types.h:

lib/side_file.h:

lib/heapgraph.h:

lib/member_path.h:
