#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A block that only a register of a sleeping thread holds is not leaked; where the registers are
# not known, it is perhaps held, and what is certainly leaked is told apart from it.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Heapsh;
use JSON::PP;
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
my $directory = tempdir(CLEANUP => 1);
$ENV{XDG_CACHE_HOME} = "$build/t/cache";

sub leaks {
    my ($way, $registers) = @_;
    unlink glob "$directory/*.snap";
    is `cd $directory && env LD_PRELOAD=$build/libheapsnap.so HEAPSNAP_REGISTERS=$registers $build/t/programs/capture-register $way`,
        "done\n", "$way, $registers: it runs";
    my ($file) = glob "$directory/*.snap";
    my $all = Heapsh::ask_json($file, 'leaks --list');
    my %class;
    push @{ $class{ $_->{size} } }, $_->{class} for @{ $all->{leaks} };
    return ($file, $all, \%class);
}

sub sum { my $sum = 0; $sum += $_ for @_; return $sum }

# Other commands and programs give sums that agree for the same snapshot.
sub everything_agrees {
    my ($file) = @_;
    my $classes = Heapsh::ask_json($file, 'leaks')->{classes};
    my $leaked = sum(map { $classes->{$_}{bytes} } qw(direct cycle indirect));
    my $perhaps = $classes->{perhaps}{bytes};

    my $found = Heapsh::ask_json($file, 'find --count leaked');
    is $found->{bytes}, $leaked + $perhaps, 'find leaked: all that no root reaches';
    my $reached = Heapsh::ask_json($file, 'reachability');
    is sum(map { $_->{bytes} } @{ $reached->{reached} }, @{ $reached->{leaked} }), Heapsh::ask_json($file, 'info')->{bytes},
        'reachability: each object once';
    is_deeply [map { $_->{bytes} } grep { $_->{class} eq 'perhaps' } @{ $reached->{leaked} }], [$perhaps],
        'reachability: the class';

    my %summary = map { $_->{name} => $_ } @{ Heapsh::ask_json($file, 'summary')->{reachability} };
    is $summary{leaked}{bytes}, $leaked, 'summary: what is leaked';
    is $summary{'perhaps held by a register'}{bytes}, $perhaps, 'summary: what is perhaps held';
    is sum(map { $_->{bytes} } values %summary), Heapsh::ask_json($file, 'info')->{bytes}, 'summary: each object once';

    my $unfreed = JSON::PP->new->utf8->decode(scalar `$build/heapsh-unfreed --json --all $file`);
    is_deeply [map { $unfreed->{$_}{bytes} } qw(leaked perhaps)], [$leaked, $perhaps], 'heapsh-unfreed';
    is sum(map { $unfreed->{$_}{objects} } qw(leaked perhaps reachable)), Heapsh::ask_json($file, 'info')->{objects},
        'heapsh-unfreed: each object once';
    like `$build/heapsh-unfreed --all $file`, qr/^Perhaps held by a register: 1 object, 777 B\n +1 +777 B /m,
        'heapsh-unfreed: as text';

    system("$build/heapsh-export -q --format csv -o $directory/csv $file") == 0 or die 'heapsh-export';
    open my $rows, '<', "$directory/csv/objects.csv" or die $!;
    my @columns = split /,/, <$rows> =~ s/\r\n//r;
    my ($size, $reach) = map { my $name = $_; grep { $columns[$_] eq $name } 0 .. $#columns } qw(size reach);
    my @objects = map { [split /,/] } <$rows>;
    is sum(map { $_->[$size] } grep { $_->[$reach] eq 'leaked' } @objects), $leaked + $perhaps, 'objects.csv: as find leaked';

    system("$build/heapsh-report -q -o $directory/page.html $file") == 0 or die 'heapsh-report';
    open my $page, '<', "$directory/page.html" or die $!;
    my ($data) = join('', <$page>) =~ m{<script [^>]*id="data">(.*?)</script>}s;
    $data = JSON::PP->new->decode($data);
    is_deeply $data->{perhaps_held}, { objects => 1, bytes => $perhaps, threads => 1, by_memory => JSON::PP::false }, 'the page says what its table leaves out';
    is sum(map { $_->{direct_bytes} + $_->{indirect_bytes} } @{ $data->{unreachable} }) + $perhaps,
        $data->{totals}{unreachable_bytes}, 'with which it adds up';
}

# The block of 777 bytes, and those of 333 that nothing holds.
{
    my ($file, $all, $class) = leaks('poll', '1s');
    is $class->{777}, undef, 'a register of a thread that was held is a root';
    is_deeply $class->{333}, [('direct') x 5], 'what nothing holds is leaked';
    is $all->{threads_with_unknown_registers}, 0, 'all registers are known';
    is $all->{classes}{perhaps}{objects}, 0, 'nothing is in doubt';
    my ($block) = @{ Heapsh::ask_json($file, 'find size=777')->{objects} };
    like join('', Heapsh::ask($file, "path $block->{address}")), qr/\b(rbx|x19)\b/, 'the path names the register';
}

for (['recv', '1s'], ['poll', '0']) {
    my ($file, $all, $class) = leaks(@$_);
    is_deeply $class->{777}, ['perhaps'], 'a register that is not known may hold it';
    is_deeply $class->{333}, [('direct') x 5], 'one thread does not hold five of a kind';
    is $all->{threads_with_unknown_registers}, 1, 'it is known of how many threads registers are not';
    is $all->{classes}{direct}{objects}, 5, 'the sum of what is leaked is without it';
    like `$build/heapsh -q $file leaks`, qr/^perhaps held by a register of thread \d+: 1 object, 777 B$/m,
        'leaks shows it apart';
    like `$build/heapsh -q $file info`, qr/^  1 of which not all registers are known$/m, 'info says how many';
    my $leaks = Heapsh::ask_json($file, 'leaks');
    is_deeply [map { $_->{direct_bytes} } @{ $leaks->{groups} }], [5 * 333], 'no group of leaks has it';
    is_deeply [map { "$_->{direct_objects} $_->{direct_bytes} $_->{indirect_objects}" } @{ $leaks->{perhaps} }], ['1 777 0'],
        'one of its own has';
    like `$build/heapsh -q $file leaks`, qr/^perhaps held by [^\n]*\n +direct [^\n]*\n +1 +777 B +0 /m, 'below its sum';
    everything_agrees($file);
    like `$build/heapsh -q $file reachability`, qr/^ +1 +777.* perhaps a register that is not known$/m,
        'reachability agrees';
}
{
    my ($file, $all, $class) = leaks('poll alone', '0');
    is_deeply $class, { 777 => ['perhaps'] }, 'nothing but what a register may hold';
    like `$build/heapsh -q $file leaks`, qr/^Nothing is certainly leaked\.$/m, 'is not certain';
    is $? >> 8, 1, 'and no leak';
}
done_testing;
