build-clang/lib/heapgraph.o: lib/heapgraph.c lib/heapgraph.h \
  lib/cleanup.h lib/column.h lib/error.h lib/heapgraph_private.h \
  lib/dominators.h lib/graph.h lib/progress.h lib/snapshot.h lib/types.h \
  lib/side_file.h lib/member_path.h lib/snapshot_info.h

lib/heapgraph.h:

lib/cleanup.h:

lib/column.h:

lib/error.h:

lib/heapgraph_private.h:

lib/dominators.h:

lib/graph.h:

lib/progress.h:

lib/snapshot.h:

lib/types.h:

lib/side_file.h:

lib/member_path.h:

lib/snapshot_info.h:
