build-clang/lib/snapshot_write.o: lib/snapshot_write.c lib/snapshot.h \
  lib/error.h lib/types.h lib/cleanup.h lib/snapshot_info.h \
  lib/snapshot_tables.h lib/file.h lib/varint.h

lib/snapshot.h:

lib/error.h:

lib/types.h:

lib/cleanup.h:

lib/snapshot_info.h:

lib/snapshot_tables.h:

lib/file.h:

lib/varint.h:
