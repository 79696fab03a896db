build-clang/lib/snapshot_columns.o: lib/snapshot_columns.c lib/snapshot.h \
  lib/error.h lib/types.h lib/cleanup.h lib/column.h lib/parallel.h \
  lib/snapshot_read.h lib/file.h lib/snapshot_tables.h lib/varint.h

lib/snapshot.h:

lib/error.h:

lib/types.h:

lib/cleanup.h:

lib/column.h:

lib/parallel.h:

lib/snapshot_read.h:

lib/file.h:

lib/snapshot_tables.h:

lib/varint.h:
