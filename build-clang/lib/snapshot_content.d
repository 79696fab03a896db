build-clang/lib/snapshot_content.o: lib/snapshot_content.c lib/snapshot.h \
  lib/error.h lib/types.h lib/cleanup.h lib/snapshot_read.h lib/file.h \
  lib/snapshot_tables.h

lib/snapshot.h:

lib/error.h:

lib/types.h:

lib/cleanup.h:

lib/snapshot_read.h:

lib/file.h:

lib/snapshot_tables.h:
