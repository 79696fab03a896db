# SPDX-License-Identifier: GPL-3.0-or-later
package Tools;

# Programs, compilers and flags of compilers that a test needs, and may not find on the machine.
#
#	plan skip_all => 'no g++' unless has('g++');
#	skip 'no clang', 3 unless has('clang');
#	skip 'no static libc', 1 unless compiles('cc', '-static');
#	skip 'no libc++', 1 unless compiles('clang++', '-stdlib=libc++ -x c++', '#include <memory>');

use strict;
use warnings;
use Exporter qw(import);
use File::Temp qw(tempdir);

our @EXPORT = qw(has compiles);

# True if a program is in $PATH. A compiler may be called by another program ("ccache gcc"), and by its path.
sub has {
    my ($name) = split ' ', $_[0];
    return -x $name if $name =~ m{/};
    return scalar grep { -f "$_/$name" && -x _ } split /:/, $ENV{PATH};
}

# True if a compiler makes a program of a source with these flags.
sub compiles {
    my ($compiler, $flags, $source) = @_;
    my $directory = tempdir(CLEANUP => 1);
    my $language = $flags =~ /(?<!\S)-x/ ? '' : '-x c';
    open my $out, '>', "$directory/source" or die "$directory/source: $!";
    print $out $source // '', $source ? "\n" : '', "int main(void) { return 0; }\n";
    close $out or die "$directory/source: $!";
    return system("$compiler $language $flags -o $directory/program $directory/source >$directory/output 2>&1") == 0;
}

1;
