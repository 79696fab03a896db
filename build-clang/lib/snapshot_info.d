build-clang/lib/snapshot_info.o: lib/snapshot_info.c lib/snapshot_info.h \
  lib/snapshot.h lib/error.h lib/types.h

lib/snapshot_info.h:

lib/snapshot.h:

lib/error.h:

lib/types.h:
