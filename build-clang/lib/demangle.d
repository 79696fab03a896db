build-clang/lib/demangle.o: lib/demangle.c lib/demangle.h

lib/demangle.h:
