# SPDX-License-Identifier: GPL-3.0-or-later
package Judge;

# Compares heapsh's answer for each block with the log of the program that allocated it.
#
#	my $result = Judge::program('json', 'gcc-O2');      # runs, captures, compares
#	print Judge::heading(), Judge::row('json.gcc-O2', $result);
#	print Judge::causes($result, 5);
#
# A result holds sums, which add() adds up: objects and bytes of logged blocks; typed and
# right ones of them, each in objects and bytes; miscounted (the right type, but another number
# of elements), parts (logged parts of pools), right_parts, other_parts (which have another type), nodes and typed_nodes (blocks that the program's
# code allocated without knowing, as C++'s containers do); and wrong: {what} => {objects, bytes,
# example}.

use strict;
use warnings;
use utf8;
use Cwd qw(abs_path);
use File::Path qw(make_path);

our $build = abs_path($ENV{BUILD} || 'build');
our $where = "$build/truth";

# truth.c has the same constant.
my $hide = 0xa5c3f00f << 32 | 0xda7a5eed;

my @sums = qw(objects bytes typed typed_bytes right right_bytes miscounted parts right_parts other_parts nodes node_bytes typed_nodes typed_node_bytes);
my %basic = (
    'unsigned' => 'unsigned int', 'uint32_t' => 'unsigned int', 'int32_t' => 'int',
    'uint64_t' => 'unsigned long', 'int64_t' => 'long', 'size_t' => 'unsigned long',
    'long unsigned int' => 'unsigned long', 'long int' => 'long', 'ptrdiff_t' => 'long',
    'uint16_t' => 'unsigned short', 'int16_t' => 'short', 'short unsigned int' => 'unsigned short',
    'short int' => 'short', 'uint8_t' => 'unsigned char', 'int8_t' => 'signed char',
    'uintptr_t' => 'unsigned long', 'intptr_t' => 'long', '_Bool' => 'bool',
);

# typedef uintptr_t word;
for my $file (glob "t/truth/*.[ch] t/truth/*.cc $build/real/lua-source/src/*.h") {
    open my $in, '<', $file or die "$file: $!";
    while (<$in>) {
        $basic{$2} //= $basic{$1} // $1 if /^typedef ((?:(?:un)?signed )?\w+) (\w+);/;
    }
}

# The name that all ways to write a type have in common, without an array's length.
my %plain;

sub plain {
    my ($type) = @_;
    return $plain{$type} //= do {
        my $name = $type;
        $name =~ s/ \([^()]*\)$//;    # the file, where several types have the name
        $name =~ s/\[\d*\]$//;
        $name =~ s/\b(?:struct|union|class|enum|const|volatile)\s+//g;
        $name =~ s/\s*\bconst\b(?=\s*(?:[,>*]|$))//g;
        $name =~ s/\s+(?=[*>])|(?<=[*<,])\s+//g;
        $name =~ s/\bstd::(?:__cxx11::)?basic_string<char,std::char_traits<char>,std::allocator<char>>/std::string/g;
        $name =~ s/\blong unsigned int\b/unsigned long/g;
        my $stars = $name =~ s/(\**)$// ? $1 : '';
        ($basic{$name} // $name) . $stars;
    };
}

sub path { return "$where/$_[0].$_[1].$_[2]" }

# True: programs are not prepared, and heapsnap attaches to them.
our $attached = $ENV{ATTACHED};

# Runs a program, which captures itself. @return whether it succeeded
sub capture {
    my ($name, $variant) = @_;
    my ($log, $snapshot) = map { path($name, $variant, $_) } qw(log snap);
    unlink $log, $snapshot;
    local %ENV = (%ENV, HEAPSH_TRUTH => $log, HEAPSNAP_FILE => $snapshot,
        XDG_CACHE_HOME => "$where/cache",
        $attached ? (HEAPSH_ATTACH => "$build/heapsnap") : (LD_PRELOAD => "$build/libheapsnap.so"));
    return system("'$where/$name.$variant' >'$where/$name.$variant.out'") == 0;
}

# @return address => [kind, count, type] of the blocks, and the parts
sub read_log {
    my ($path) = @_;
    my (%block, @parts);
    open my $in, '<', $path or die "$path: $!";
    no warnings 'portable';
    while (<$in>) {
        chomp;
        my ($hidden, $kind, $count, $type) = split /\t/;
        my $address = hex($hidden) ^ $hide;
        if ($kind eq 'o') {
            push @parts, [$address, $type];
        } else {
            $block{$address} = [$kind, $count, $type];
        }
    }
    return (\%block, \@parts);
}

# Not by a JSON reader: those of Perl's own take seconds for 100,000 objects.
sub find {
    my ($snapshot, @filter) = @_;
    my @found;
    open my $in, '-|', "$build/heapsh", '--quiet', '--json', $snapshot, 'find', @filter
        or die "heapsh: $!";
    local $/ = '{"address":';
    while (<$in>) {
        no warnings 'portable';
        push @found, { address => hex($1), type => $2, size => $3, elements => $4, evidence => $5 }
            if /^"0x([0-9a-f]+)","type":"([^"\\]*+(?:\\.[^"\\]*+)*+)","size":(\d+),"elements":(\d+),"evidence":"([^"]*)"/;
    }
    close $in;
    return \@found;
}

# "struct {…} (json.c:12)" -> the name of the typedef there.
my %named;

sub name_of {
    my ($file, $line) = @_;
    return $named{"$file:$line"} //= do {
        my @lines = -e "t/truth/$file" ? do { open my $in, '<', "t/truth/$file"; <$in> } : ();
        my ($end) = grep { /^\}/ } @lines[$line - 1 .. $#lines];
        defined $end && $end =~ /^\}\s*(\w+);/ ? $1 : '(no name)';
    };
}

# Many blocks have the same answer and the same truth: each pair is judged once.
my %judged;

sub is_right {
    my ($name, $object, $kind, $count, $type) = @_;
    my $key = join "\t", $name, $object->{type}, $object->{evidence}, $kind, $kind eq 'b' ? $count : '', $type;
    return $judged{$key} //= judge($name, $object, $kind, $count, $type) || 0;
}

# heapsh adds "(json.c:12)" to the names of several types of one name; the log adds the file only where
# the program itself has several.
sub judge {
    my ($name, $object, $kind, $count, $type) = @_;
    my $said = $object->{type};
    my $behind = $said =~ s/ behind (\d+) bytes$// ? $1 : 0;
    return 0 unless $behind == ($kind eq 'b' ? $count : 0);
    my ($file, $line) = $said =~ s/ \(([^()]*):(\d+)\)// ? ($1, $2) : ();
    my $files = $type =~ / \((.*)\)$/ ? qr/^\Q$1\E$/ : qr/^\Q$name\E[-.]/;
    return 0 if defined $file && $file !~ $files;
    $said =~ s/^\w+ \{[^}]*\}/name_of($file, $line)/e if defined $line;
    $said = plain($said);
    return $said =~ /^(?:(?:un)?signed )?char$/ if $kind eq 't' || $kind eq 'b' && $type eq 'char';
    # A shape has no name. It is wrong if it takes texts for something else, or the other way round.
    return 1 if $object->{evidence} eq 'shape' && $said =~ /^\{/;
    my $is_named = grep { $said eq plain($_) } split /\|/, $type;
    my $is_array = $object->{type} =~ /\]$/;
    return $object->{evidence} eq 'pool' || $is_named && !$is_array if $kind eq 'p';
    return $is_named && !($kind eq 'f' && $is_array);
}

sub note_wrong {
    my ($result, $what, $object) = @_;
    my $entry = $result->{wrong}{$what} //= { objects => 0, bytes => 0, example => $object->{address} };
    $entry->{objects}++;
    $entry->{bytes} += $object->{size};
}

# The truth about a block, by the log.
sub describe {
    my ($kind, $count, $type) = @_;
    return $kind eq 'p' ? '(a pool)' : $kind eq 'f' ? "$type with n" : $kind eq 'b' ? "$type behind $count"
        : $count > 1 && $kind ne 't' ? "$type\[]" : $type;
}

sub judge_block {
    my ($result, $object, $kind, $count, $type) = @_;
    my $is_typed = $object->{evidence} ne 'none';
    return if $kind eq 'p' && !$is_typed;
    $result->{objects}++;
    $result->{bytes} += $object->{size};
    my $kind_of_evidence = $result->{evidence}{ $object->{evidence} } //= { objects => 0, wrong => 0 };
    $kind_of_evidence->{objects}++;
    return note_wrong($result, describe($kind, $count, $type) . ' -> (untyped)', $object) unless $is_typed;
    $result->{typed}++;
    $result->{typed_bytes} += $object->{size};
    if (!is_right($result->{name}, $object, $kind, $count, $type)) {
        $kind_of_evidence->{wrong}++;
        return note_wrong($result, describe($kind, $count, $type) . ' -> ' . ($object->{type} =~ s/\[\d+\]$/[]/r) . " by $object->{evidence}", $object);
    }
    $result->{right}++;
    $result->{right_bytes} += $object->{size};
    $result->{miscounted}++ if $kind eq 'a' && $object->{elements} != $count;
}

# Judges heapsh's answers about the logged parts. Parts are found by their types.
sub judge_parts {
    my ($result, $snapshot, $parts) = @_;
    my %true = map { $_->[0] => $_->[1] } @$parts;
    my %types = map { $_->[1] => 1 } @$parts;
    $result->{parts} = @$parts;
    for my $type (sort keys %types) {
        for my $part (find($snapshot, 'type', $type =~ s/^struct //r)) {
            for (@$part) {
                my $logged = $true{ $_->{address} } // next;
                $result->{ plain($logged) eq plain($type) ? 'right_parts' : 'other_parts' }++;
            }
        }
    }
}

# Runs a variant of a program and compares. Dies if there is nothing to compare.
sub program {
    my ($name, $variant) = @_;
    capture($name, $variant) or die "$name.$variant failed\n";
    my ($truth, $parts) = read_log(path($name, $variant, 'log'));
    my $snapshot = path($name, $variant, 'snap');
    my $result = { name => $name, (map { $_ => 0 } @sums), wrong => {}, evidence => {} };
    judge_parts($result, $snapshot, $parts);
    my $missing = keys %$truth;
    for my $object (@{ find($snapshot, 'size', '>0') }) {
        my $block = $truth->{ $object->{address} } or next;
        judge_block($result, $object, @$block);
        $missing--;
    }
    die "$name.$variant: $missing logged blocks are not in the snapshot\n" if $missing;
    for my $node (grep { !$truth->{ $_->{address} } } @{ find($snapshot, 'module', "$name.$variant") }) {
        $result->{nodes}++;
        $result->{node_bytes} += $node->{size};
        if ($node->{evidence} eq 'none') {
            note_wrong($result, '(not logged) -> (untyped)', $node);
            next;
        }
        $result->{typed_nodes}++;
        $result->{typed_node_bytes} += $node->{size};
    }
    return $result;
}

sub add {
    my ($sum, $result) = @_;
    $sum->{$_} = ($sum->{$_} // 0) + $result->{$_} for @sums;
    for my $table (qw(wrong evidence)) {
        for my $what (keys %{ $result->{$table} }) {
            my $entry = $result->{$table}{$what};
            my $into = $sum->{$table}{$what} //= { example => $entry->{example} };
            $into->{$_} = ($into->{$_} // 0) + $entry->{$_} for grep { $_ ne 'example' } keys %$entry;
        }
    }
}

sub share { return $_[1] ? 100 * $_[0] / $_[1] : 100 }

# Per cent of objects and of bytes, with those that are not logged.
sub coverage {
    my ($result) = @_;
    return (share($result->{typed} + $result->{typed_nodes}, $result->{objects} + $result->{nodes}),
        share($result->{typed_bytes} + $result->{typed_node_bytes}, $result->{bytes} + $result->{node_bytes}));
}

sub precision {
    my ($result) = @_;
    return (share($result->{right}, $result->{typed}), share($result->{right_bytes}, $result->{typed_bytes}));
}

# Per cent of the logged parts that have their type, and of those with a type.
sub parts {
    my ($result) = @_;
    return (share($result->{right_parts}, $result->{parts}),
        share($result->{right_parts}, $result->{right_parts} + $result->{other_parts}));
}

sub heading {
    return sprintf "%-24s %8s %9s %15s %15s %6s %11s %6s\n", '', 'objects', 'KiB', 'coverage, bytes',
        'precision,bytes', 'count!', 'parts', 'nodes';
}

sub row {
    my ($title, $result) = @_;
    return sprintf "%-24s %8d %9.1f %7.2f %7.2f %7.2f %7.2f %6d %11s %6s\n", $title, $result->{objects},
        $result->{bytes} / 1024, coverage($result), precision($result), $result->{miscounted},
        $result->{parts} ? "$result->{right_parts}/$result->{parts}" : '', $result->{nodes} || '';
}

# Where the rest goes: the most frequent errors, and each kind of evidence.
sub causes {
    my ($result, $limit) = @_;
    my $wrong = $result->{wrong};
    my @what = sort { $wrong->{$b}{objects} <=> $wrong->{$a}{objects} || $a cmp $b } keys %$wrong;
    splice @what, $limit if @what > $limit;
    return map { sprintf "    %7d %9d B  %s  (0x%x)\n", @{ $wrong->{$_} }{qw(objects bytes)}, $_, $wrong->{$_}{example} } @what;
}

sub evidence {
    my ($result) = @_;
    my $table = $result->{evidence};
    return '    by ' . join(', ', map {
        "$_ $table->{$_}{objects}" . ($table->{$_}{wrong} ? " ($table->{$_}{wrong} wrong)" : '') } sort keys %$table) . "\n";
}

# The variants of all programs that have been built, with debug information.
sub all { return grep { !is_bare($_->[1]) } built() }

# Those of C++ without it: "-bare" have symbols, "-stripped" have none.
sub bare { return grep { is_bare($_->[1]) } built() }

sub is_bare { return $_[0] =~ /-(?:bare|stripped)$/ }

sub built {
    my %is_source = map { s{.*/|\.cc?$}{}gr => 1 } grep { !m{/(?:truth|[^/]*-[^/]*)\.c$} } glob 't/truth/*.c t/truth/*.cc';
    $is_source{lua} = 1;
    return sort { $a->[0] cmp $b->[0] || $a->[1] cmp $b->[1] }
        grep { $is_source{ $_->[0] } }
        map { m{([^/.]+)\.([\w-]+)$} && -x ? [$1, $2] : () } glob "$where/*";
}

1;
