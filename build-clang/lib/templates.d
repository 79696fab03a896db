build-clang/lib/templates.o: lib/templates.c lib/templates.h lib/types.h \
  lib/error.h

lib/templates.h:

lib/types.h:

lib/error.h:
