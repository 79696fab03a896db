build-clang/lib/census.o: lib/census.c lib/census.h lib/error.h

lib/census.h:

lib/error.h:
