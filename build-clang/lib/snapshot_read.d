build-clang/lib/snapshot_read.o: lib/snapshot_read.c lib/snapshot.h \
  lib/error.h lib/types.h lib/cleanup.h lib/column.h lib/snapshot_info.h \
  lib/snapshot_read.h lib/file.h lib/snapshot_tables.h lib/varint.h

lib/snapshot.h:

lib/error.h:

lib/types.h:

lib/cleanup.h:

lib/column.h:

lib/snapshot_info.h:

lib/snapshot_read.h:

lib/file.h:

lib/snapshot_tables.h:

lib/varint.h:
