build-clang/lib/snapshot_tables.o: lib/snapshot_tables.c \
  lib/snapshot_tables.h lib/file.h lib/error.h lib/snapshot.h \
  lib/types.h

lib/snapshot_tables.h:

lib/file.h:

lib/error.h:

lib/snapshot.h:

lib/types.h:
