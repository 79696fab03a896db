build-clang/lib/file.o: lib/file.c lib/file.h lib/error.h lib/cleanup.h \
  lib/file_blocks.h lib/file_format.h

lib/file.h:

lib/error.h:

lib/cleanup.h:

lib/file_blocks.h:

lib/file_format.h:
