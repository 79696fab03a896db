# SPDX-License-Identifier: GPL-3.0-or-later
# The blocks that heapsnap attach finds in a running t/programs/live-blocks, compared with its own log.
#
#   LiveBlocks::are_exact($program, 'glibc, one thread', 64);
#
# Every block is found, none is that is not live, and each is as large as it was asked for, or up to so
# many bytes more. Options:
#
#   log     path of the log; by default `live` in the program's directory
#   own     so many blocks more may be found: not all logs have those that libraries make for themselves
#   around  aligned blocks may be found with the bytes before them
package LiveBlocks;
use strict;
use warnings;
no warnings 'portable';    # addresses are of 64 bits
use Heapsh;
use Test::More;

# @return { address => size }
sub read_log {
    my ($path) = @_;
    my %live;
    open my $in, '<', $path or die "$path: $!";
    while (my $line = <$in>) {
        my ($address, $size) = split ' ', $line;
        $live{ '0x' . ($address =~ s/^0+//r) } = hex $size;
    }
    return \%live;
}

# Live blocks that begin inside one that was found. @return (address => { start, size left })
sub find_around {
    my ($live, $found) = @_;
    my (%around, $start, $end);
    for my $block (sort { hex $a <=> hex $b } keys %{ { %$live, %$found } }) {
        ($start, $end) = ($block, hex($block) + $found->{$block}) if defined $found->{$block};
        next if !defined $live->{$block} || defined $found->{$block} || !defined $end || hex $block >= $end;
        $around{$block} = { start => $start, size => $end - hex $block };
    }
    return %around;
}

sub are_none { my ($blocks, $name) = @_; is join(' ', splice @$blocks, 0, 5), '', $name; return }

sub compare {
    my ($live, $found, $name, $most, %option) = @_;
    my (@missed, @wrong);
    my %around = $option{around} ? find_around($live, $found) : ();
    for my $block (keys %$live) {
        my ($asked, $usable) = ($live->{$block}, $found->{$block} // $around{$block}{size});
        push(@missed, "$block $asked"), next unless defined $usable;
        push @wrong, "$block $asked $usable" if $usable < $asked || ($usable < 4000 && $usable - $asked > $most);
    }
    my %used = map { $_->{start} => 1 } values %around;
    my @phantoms = grep { !defined $live->{$_} && !$used{$_} } keys %$found;
    @phantoms = () if @phantoms <= ($option{own} || 0);
    cmp_ok keys %around, '<=', keys(%$live) / 100, "$name: few are found with the bytes before them";
    cmp_ok keys %$live, '>', 500, "$name: there are blocks";
    are_none(\@missed, "$name: none is missed");
    are_none(\@phantoms, "$name: none is made up");
    are_none(\@wrong, "$name: sizes");
    return;
}

sub are_exact {
    my ($program, $name, $most, %option) = @_;
    my $file = "$program->{directory}/blocks.snap";
    my $output = `$Heapsh::build/heapsnap attach --types none --file $file @{[$program->pid]} 2>&1`;
    ok -e $file, "$name: attached" or return diag $output;
    compare(read_log($option{log} || "$program->{directory}/live"), Heapsh::blocks_of($file), $name, $most, %option);
    is Heapsh::ask_json($file, 'info')->{doubts}, '', "$name: the sums agree";
    is(($program->finish)[1], 0, "$name: it goes on");
    return;
}

1;
