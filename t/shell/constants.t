#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# String literals: in the program's file, which a snapshot does not have.
use strict;
use warnings;
use lib 't/lib';
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use Heapsh;
use POSIX ();
use Test::More;

my $snapshot = Heapsh->start('constants')->capture;

# The lines of members, with the addresses left out.
sub members {
    my ($object) = @_;
    my $out = Heapsh::ask($snapshot, 'show', $object);
    return { map { s/0x[0-9a-f]+/0x/gr } $out =~ /^  (\w+) = (.+)$/mg };
}
my $job = members('jobs');
my $place = qr/ at 0x \(constants\+0x\)/;
like $job->{name}, qr/^"compile"$place$/, 'a literal';
like $job->{bytes}, qr/^"bytes"$place$/, 'of unsigned characters';
like $job->{within}, qr/^"hind"$place$/, 'from the middle on';
like $job->{text}, qr/^char\[8\] "x" at 0x$/, 'in the heap as before';
unlike $job->{numbers}, qr/"/, 'numbers are no text';
like members('&banner')->{value}, qr/^"a line\\nand \\"another\\""$place$/, 'escaped';
my $json = Heapsh::ask_json($snapshot, 'show', 'jobs');
is $json->{fields}{name}{text}, 'compile', 'in JSON' or diag explain $json;

is Heapsh::ask_json($snapshot, 'find', 'field', 'name=compile')->{count}, 2, 'found by it';
is Heapsh::ask_json($snapshot, 'find', 'field', 'name=lin*')->{count}, 1, 'by a glob';
is Heapsh::ask_json($snapshot, 'find', 'field', 'name!=link')->{count}, 2, 'by what it is not';
is Heapsh::ask_json($snapshot, 'find', 'field', 'within=hind')->{count}, 3, 'by the end of one';
is Heapsh::ask_json($snapshot, 'find', 'field', 'text=x')->{count}, 3, 'in the heap as before';

# Another build, or no file at all: the address, and no wrong text.
my $own = tempdir(CLEANUP => 1) . '/constants';
copy(Heapsh::program_path('constants'), $own) or die "$own: $!";
chmod 0755, $own;
$snapshot = Heapsh->start($own)->capture;
like members('jobs')->{name}, qr/^"compile"/, 'the file is there';
rename $own, "$own.away" or die "$own: $!";
unlike members('jobs')->{name}, qr/"/, 'the file is gone';
copy('/bin/true', $own) or die "$own: $!";
unlike members('jobs')->{name}, qr/"/, 'the file is another one';
POSIX::mkfifo("$own.pipe", 0600) or die "$own.pipe: $!";
rename "$own.pipe", $own or die "$own: $!";
unlike members('jobs')->{name}, qr/"/, 'the file is a pipe, which is not waited for';
rename "$own.away", $own or die "$own: $!";
like members('jobs')->{name}, qr/^"compile"/, 'the file is back';
done_testing;
