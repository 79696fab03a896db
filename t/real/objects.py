# SPDX-License-Identifier: GPL-3.0-or-later
# Objects of many kinds, for runtimes.t: syntax trees and code of N files of Python's own library, and containers.
# Writes the address of each object and the innermost of its types that is built in.
#
#	python objects.py N FILE
import ast, collections, functools, gc, glob, sys, weakref

count, log = int(sys.argv[1]), sys.argv[2]
sources = [open(name, encoding='latin-1').read() for name in sorted(glob.glob('/usr/lib/python3*/*.py'))[:count]]
number = count * 250


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def move(self):
        return self


class Slotted:
    __slots__ = ('first', 'second', '__weakref__')

    def __init__(self, first):
        self.first, self.second = first, [first]


class OwnDictionary(dict):
    pass


class OwnError(Exception):
    pass


Pair = collections.namedtuple('Pair', 'first second')


def count_from(i):
    while True:
        yield i
        i += 1


def close_over(i):
    return lambda j: i + j


kept = [
    [ast.parse(source) for source in sources],
    [compile(source, 'source', 'exec') for source in sources],
    points := [Point(i, i * 1.5) for i in range(number)],
    slotted := [Slotted(i + 1000000) for i in range(number)],
    [weakref.ref(one) for one in slotted],
    [OwnDictionary({i: str(i)}) for i in range(number)],
    [OwnError('failed', i) for i in range(number // 4)],
    {'key %d' % i: {'id': i, 'name': 'name %d' % i, 'tags': ['a%d' % i, 'b']} for i in range(number)},
    [set(range(i, i + i % 20)) for i in range(number // 2)],
    [frozenset('%d %d' % (i, j) for j in range(3)) for i in range(number // 4)],
    [Pair(i, str(i)) for i in range(number)],
    [b'bytes %d' % i for i in range(number)],
    [bytearray(i % 100) for i in range(number // 4)],
    [10 ** (i % 60) + i for i in range(number)],
    [complex(i, -i) for i in range(number // 4)],
    [count_from(i) for i in range(number // 8)],
    [close_over(i) for i in range(number // 4)],
    [functools.partial(close_over, i) for i in range(number // 8)],
    [point.move for point in points[:number // 4]],
    [collections.deque(range(i % 100)) for i in range(number // 16)],
    [collections.OrderedDict((str(j), j) for j in range(3)) for i in range(number // 16)],
    [slice(i, i + 1) for i in range(number // 8)],
    [range(i, i + 1000) for i in range(number // 8)],
    ['\u4e2d\u6587 %d' % i for i in range(number)] + ['caf\xe9 %d' % i for i in range(number // 4)],
]
gc.collect()
seen, stack = {}, gc.get_objects()
while stack:
    one = stack.pop()
    if id(one) not in seen and one is not seen and one is not stack:
        seen[id(one)] = one
        stack.extend(gc.get_referents(one))
heap_type = 1 << 9
with open(log, 'w') as out:
    for address, one in seen.items():
        base = next(base for base in type(one).__mro__ if not base.__flags__ & heap_type)
        if base is object and type(one).__module__ != '__main__':
            continue  # its type may be of C, with a struct of its own
        out.write('%x %s\n' % (address, base.__name__))
del seen, stack, one, base
gc.collect()
print('ready', flush=True)
sys.stdin.readline()
print(len(kept))
