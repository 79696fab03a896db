#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The tab key in bash: what scripts/completion.bash offers behind which words.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $script = abs_path('scripts/completion.bash');
my $directory = tempdir(CLEANUP => 1);
for my $name (qw(app-00.snap app.trace)) {
    open my $out, '>', "$directory/$name" or die "$name: $!";
}

# The words that are offered for the last of a command's.
sub offered {
    my ($function, @words) = @_;
    open my $bash, '-|', 'bash', '-O', 'extglob', '-c', <<'END', $directory, $script, $function, @words or die "bash: $!";
cd "$0" && . "$1" && function=$2 && shift 2 || exit
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMPREPLY=()
"$function"
printf '%s\n' "${COMPREPLY[@]}"
END
    chomp(my @offers = <$bash>);
    close $bash;
    return \@offers;
}

is_deeply offered('_heapsh', qw(heapsh --follow --by), ''), [qw(kind type site)], 'values of --by';
is_deeply offered('_heapsh', qw(heapsh --follow --by kind), ''), ['app-00.snap'], 'behind a value: files, not commands';
is_deeply offered('_heapsh', qw(heapsh --memory 1G), ''), ['app-00.snap'], 'the same of another option';
is_deeply offered('_heapsh', qw(heapsh --follow app-00.snap), ''), ['app-00.snap'], '--follow takes several files';
is_deeply offered('_heapsh', qw(heapsh app-00.snap ident)), ['identify'], 'commands behind a file';
is_deeply offered('_heapsnap', qw(heapsnap run --no-snapshots --old)), ['--oldest'], 'heapsnap run --oldest';
is_deeply offered('_heapsh_trace', qw(heapsh-trace --old)), ['--oldest'], 'heapsh-trace --oldest';
done_testing;
