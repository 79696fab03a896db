# SPDX-License-Identifier: GPL-3.0-or-later
package Protobuf;

# A decoder of Protocol Buffers, for messages whose fields a test knows.
#
#	my @fields = fields($bytes);           # [number, value], of texts and messages their bytes
#	my @texts = all(6, @fields);           # values of one field
#	my $time = one(9, @fields);            # the first, or 0
#	my @ids = varints(one(1, @fields));    # of a packed field

use strict;
use warnings;
use Exporter qw(import);

our @EXPORT = qw(fields varint varints all one);

sub fields {
    my ($bytes) = @_;
    my @field;
    while (length $bytes) {
        my $key = varint(\$bytes);
        my $value = varint(\$bytes);
        $value = substr $bytes, 0, $value, '' if ($key & 7) == 2;
        push @field, [$key >> 3, $value];
    }
    return @field;
}

sub varint {
    my ($bytes) = @_;
    my ($value, $shift) = (0, 0);
    while (1) {
        my $byte = ord substr $$bytes, 0, 1, '';
        $value |= ($byte & 0x7f) << $shift;
        return $value if $byte < 0x80;
        $shift += 7;
    }
}

sub varints { my ($bytes) = @_; my @value; push @value, varint(\$bytes) while length $bytes; return @value }

sub all { my ($number, @field) = @_; return map { $_->[1] } grep { $_->[0] == $number } @field }
sub one { my ($value) = all(@_); return $value // 0 }

1;
