build-clang/lib/trend.o: lib/trend.c lib/trend.h

lib/trend.h:
