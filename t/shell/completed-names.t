#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The tab key inserts names of the program, which would start another program, or write a file, if they stood in the
# line as they are.
use strict;
use warnings;
use lib 't/lib';
use File::Temp qw(tempdir);
use Heapsh;
use IO::Select;
use IPC::Open2;
use Test::More;

my $directory = tempdir(CLEANUP => 1);
my $harm = "$directory/harm";
my $build = $ENV{BUILD} || 'build';
my $source = <<'END';
#include "dumper/heapsnap.h"
#include <stdlib.h>
struct HARM_TYPE { struct HARM_TYPE *next; long HARM_MEMBER; };
struct HARM_TYPE *HARM_VARIABLE;
int main(int argc, char **argv)
{
	HARM_VARIABLE = calloc(1, sizeof(*HARM_VARIABLE));
	return argc < 2 || heapsnap_dump(argv[1]) || heapsnap_wait();
}
END

# No language has such names; files may.
sub harmful_snapshot {
    Heapsh::write_file("$directory/names.c", $source);
    system('cc', '-S', '-g', '-iquote', '.', '-o', "$directory/names.s", "$directory/names.c") == 0 or die 'no compiler';
    my $text = Heapsh::content("$directory/names.s");
    my %names = (HARM_TYPE => "|touch $harm;x", HARM_VARIABLE => " > $harm", HARM_MEMBER => q(' \\\\\" #));
    $text =~ s/^(\s*\.(?:string|asciz)\s+"$_)/$1$names{$_}/mg for keys %names;
    return Heapsh::capture_source("$directory/names.s", 'cc', text => $text);
}

my $file = harmful_snapshot();
local @ENV{qw(TERM XDG_STATE_HOME INPUTRC PAGER)} = ('dumb', $directory, '/dev/null', 'cat');
my $pid = open2(my $from, my $to, "$build/t/helper/terminal", "$build/heapsh", '-q', '--color=never', $file);
$SIG{ALRM} = sub { kill 'KILL', $pid; die "the prompt does not come back\n" };
alarm 600;

sub await {
    my ($pattern) = @_;
    my $text = '';
    while ($text !~ $pattern) {
        IO::Select->new($from)->can_read($Heapsh::patience) or last;
        sysread($from, $text, 4096, length $text) or last;
        $text =~ tr/\r//d;
    }
    return $text;
}

sub answer {
    my ($line) = @_;
    syswrite $to, "$line\t";
    select undef, undef, undef, 0.3;
    syswrite $to, "\n";
    return await(qr/\n(?:.*\n)*heapsh> $/);
}

await(qr/> $/);
like answer('find --count type struct HARM'), qr/^Total: 1 object, 16 B$/m, 'a type: the filter takes it';
like answer('show &HARM'), qr/^the global variable HARM_VARIABLE > \Q$harm\E/m, 'a variable: it is shown';
like answer('show HARM'), qr/^struct HARM_TYPE\|touch \Q$harm\E;x at 0x/m, 'what it points to';
like answer("find --count type 'struct HARM"), qr/^Total: 1 object, 16 B$/m, 'within quotes';
like answer('find --count field HARM'), qr/HARM_MEMBER/, 'a member';
ok !-e $harm, 'nothing was started or written';
syswrite $to, "quit\n";
waitpid $pid, 0;
done_testing;
