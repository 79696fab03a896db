build-clang/lib/file_write.o: lib/file_write.c lib/file.h lib/error.h \
  lib/cleanup.h lib/file_format.h lib/parallel.h lib/varint.h

lib/file.h:

lib/error.h:

lib/cleanup.h:

lib/file_format.h:

lib/parallel.h:

lib/varint.h:
