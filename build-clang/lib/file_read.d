build-clang/lib/file_read.o: lib/file_read.c lib/file.h lib/error.h \
  lib/cleanup.h lib/file_blocks.h lib/file_format.h lib/parallel.h \
  lib/varint.h

lib/file.h:

lib/error.h:

lib/cleanup.h:

lib/file_blocks.h:

lib/file_format.h:

lib/parallel.h:

lib/varint.h:
