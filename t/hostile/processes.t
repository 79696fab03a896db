#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Processes that change what they are, or may do little. What takes root, or a namespace, is
# skipped without.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Hostile;
use Test::More;

my $program = 'hostile-processes';
my $goes_on = '; the program goes on\n';

# True if a command works, for facilities that may be missing.
sub can { return system("$_[0] >/dev/null 2>&1") == 0 }

survives('a program of which all is known', $program, 'plain');
survives('a daemon', $program, 'daemon', snapshots => 2);
survives('a storm of forks', $program, 'fork-storm', snapshots => [1, 10]);
survives('PR_SET_DUMPABLE 0', $program, 'not-dumpable');
survives('limits on memory', $program, 'limits');
survives('a clone that fails for memory', $program, 'no-memory', snapshots => 0,
    errors => "heapsnap: no snapshot: out of memory$goes_on");
survives('a clone that fails for the number of processes', $program, 'no-room', snapshots => 0,
    errors => "heapsnap: no snapshot: no more processes are allowed$goes_on");
SKIP: {
    skip 'a sanitizer itself uses ptrace', 1 if $ENV{SANITIZE};
    survives('a sandbox that forbids ptrace and its like', $program, 'sandbox');
}
survives('a kernel without close_range and renameat2', $program, 'old-kernel');
survives('a program that resets all signals', $program, 'reset');
survives('a program that blocks all signals', $program, 'blocked');
survives('a program that closes all descriptors', $program, 'closing', snapshots => 2);

SKIP: {
    skip 'what follows takes root', 1 if $> != 0;
    survives('setuid and setgid', $program, 'another-user');
    survives('setuid, and a capability that is kept', $program, 'capability');
    survives('root with a smaller bounding set', $program, 'bounding-set');
    survives('seteuid and setegid', $program, 'effective-user');
    survives('a changed root, where no writer is', $program, 'changed-root', snapshots => 0,
        errors => "heapsnap: \\S+/heapsnap-writer could not be started: no such file or directory$goes_on");
    survives('a user with too many processes', $program, 'no-processes', snapshots => 0,
        errors => "heapsnap: no snapshot: no more processes are allowed$goes_on");
}
SKIP: {
    skip 'what follows takes a user namespace', 1 unless can('unshare --user true');
    survives('a user namespace without users', $program, 'user-namespace');
}
SKIP: {
    skip 'what follows takes namespaces', 1
        unless can('unshare --mount --pid --fork --mount-proc true');
    survives('process 1 of a container', $program, 'plain',
        wrap => 'unshare --mount --pid --fork --mount-proc');
  SKIP: {
        skip 'a sanitizer itself reads /proc', 1 if $ENV{SANITIZE};
        survives('a container without /proc', $program, 'plain', snapshots => 0,
            wrap => "unshare --mount sh -c 'umount -l /proc && exec \"\$@\"' sh",
            output => "heapsnap_wait: -5, not 0\ndone\n",
            errors => "heapsnap: .*/proc.*$goes_on");
    }
    survives('a read-only file system', $program, 'plain', snapshots => 0,
        wrap => q{unshare --mount sh -c 'mount --bind . . && mount -o remount,bind,ro . && cd . && cd $(pwd) && exec "$@"' sh},
        output => "heapsnap_wait: -5, not 0\ndone\n",
        errors => "heapsnap: \\S+\\.snap: Read-only file system$goes_on");
}
done_testing;
