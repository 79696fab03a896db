build-clang/lib/member_path.o: lib/member_path.c lib/member_path.h \
  lib/types.h lib/error.h

lib/member_path.h:

lib/types.h:

lib/error.h:
