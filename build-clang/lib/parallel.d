build-clang/lib/parallel.o: lib/parallel.c lib/parallel.h lib/error.h

lib/parallel.h:

lib/error.h:
