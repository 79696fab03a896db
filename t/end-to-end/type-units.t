#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Classes in namespaces that refer to each other, each in a type unit of its own: that which is read first is seen but as
# a declaration by the other.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;
use Tools;

my $source = <<'END';
#include "dumper/heapsnap.h"
namespace net { struct Peer; }
namespace smart {
template <class T> class Ref {
public:
	Ref() : target(nullptr) {}
	Ref &operator=(T *other) { target = other; return *this; }
	T *get() const { return target; }
private:
	T *target;
};
}
namespace net { struct Peer { int socket = 0; smart::Ref<Peer> next; char name[64] = ""; }; }
smart::Ref<net::Peer> head;
int main(int, char **argv)
{
	for (int i = 0; i < 20; i++) {
		net::Peer *peer = new net::Peer;
		peer->socket = i;
		peer->next = head.get();
		head = peer;
	}
	return heapsnap_dump(argv[1]) || heapsnap_wait();
}
END

my $directory = tempdir(CLEANUP => 1);
for my $way (grep { has(/^(\S+)/) } map { ("g++ $_", "clang++ $_", "g++ -gsplit-dwarf $_") } '-gdwarf-4', '-gdwarf-5') {
    my $file = Heapsh::capture_source("$directory/units.cc", "$way -fdebug-types-section", text => $source);
    is Heapsh::ask_json($file, 'find', '--count', 'type', 'net::Peer', 'evidence', 'pointer')->{count}, 20,
        "$way: pointers in the objects lead on";
    like scalar(Heapsh::ask($file, 'show', 'head.target')), qr/^  next = \{\n    target = struct net::Peer at 0x/m,
        "$way: members of a class have their members";
}
done_testing;
