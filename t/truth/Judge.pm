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
# of elements), parts (logged parts of pools), right_parts, other_parts (which have another type), false_parts (that are not logged), nodes and typed_nodes (blocks that the program's
# code allocated without knowing, as C++'s containers do), linked (shapes that tell nodes of lists and trees, and elements of vectors); and wrong: {what} => {objects, bytes,
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

my @sums = qw(objects bytes typed typed_bytes right right_bytes miscounted parts right_parts other_parts false_parts nodes node_bytes typed_nodes typed_node_bytes linked);
my %basic = (
    'unsigned' => 'unsigned int', 'uint32_t' => 'unsigned int', 'int32_t' => 'int', 'wchar_t' => 'int',
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

# True: programs are not prepared, and heapsnap attaches to them.
our $attached = $ENV{ATTACHED};

# A file about a program. Tests that attach run beside those that do not.
sub path { return "$where/$_[0].$_[1]" . ($attached ? '.attached' : '') . ".$_[2]" }

# Runs a program, which captures itself. @return whether it succeeded
sub capture {
    my ($name, $variant) = @_;
    my ($log, $snapshot) = map { path($name, $variant, $_) } qw(log snap);
    unlink $log, $snapshot;
    local %ENV = (%ENV, HEAPSH_TRUTH => $log, HEAPSNAP_FILE => $snapshot,
        XDG_CACHE_HOME => "$where/cache",
        $attached ? (HEAPSH_ATTACH => "$build/heapsnap") : (LD_PRELOAD => "$build/libheapsnap.so"));
    return system("'$where/$name.$variant' >'" . path($name, $variant, 'out') . "'") == 0;
}

# A line of a log is "ADDRESS\tKIND\tCOUNT\tTYPE", the address with 16 digits.
# @return address => "KIND\tCOUNT\tTYPE" of the blocks, and address => type of the parts
sub read_log {
    my ($path) = @_;
    my (%block, %part);
    open my $in, '<', $path or die "$path: $!";
    no warnings 'portable';
    while (<$in>) {
        chomp;
        my $address = hex(substr $_, 0, 16) ^ $hide;
        if (substr($_, 17, 1) eq 'o') {
            $part{$address} = (split /\t/)[3];
        } else {
            $block{$address} = substr $_, 17;
        }
    }
    return (\%block, \%part);
}

# Objects that a filter finds: an iterator over (address, size, the answer as JSON without these two).
# Not by a JSON reader: those of Perl's own take seconds for 100,000 objects.
sub find {
    my ($snapshot, @filter) = @_;
    open my $in, '-|', "$build/heapsh", '--quiet', '--json', $snapshot, 'find', @filter
        or die "heapsh: $!";
    return sub {
        local $/ = '{"address":';
        no warnings 'portable';
        while (<$in>) {
            return (hex($1), $3, "$2,$4") if /^"0x([0-9a-f]+)",("type":"[^"\\]*+(?:\\.[^"\\]*+)*+"),"size":(\d+),("elements":\d+,"evidence":"[^"]*")/;
        }
        close $in;
        return;
    };
}

sub read_answer {
    my ($answer) = @_;
    my ($type, $elements, $evidence) = $answer =~ /^"type":"(.*)","elements":(\d+),"evidence":"([^"]*)"$/ or die $answer;
    return { type => $type, elements => $elements, evidence => $evidence };
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

# heapsh adds "(json.c:12)" to the names of several types of one name; the log adds the file only where
# the program itself has several.
sub is_right {
    my ($name, $answer, $kind, $count, $type) = @_;
    my $said = $answer->{type};
    return 1 if $kind eq 'b' && $answer->{evidence} eq 'pool';    # what lies in front may be parts, too
    return is_beginning($1, $kind, $type) ? 1 : 0 if $answer->{evidence} eq 'pool' && $kind ne 'p' && $said =~ /^(.*) and \d+ bytes?$/;
    my $behind = $said =~ s/ behind (\d+) bytes$// ? $1 : 0;
    return 0 unless $behind == ($kind eq 'b' ? $count : 0);
    my ($file, $line) = $said =~ s/ \(([^()]*):(\d+)\)// ? ($1, $2) : ();
    my $files = $type =~ / \((.*)\)$/ ? qr/^\Q$1\E$/ : qr/^\Q$name\E[-.]/;
    return 0 if defined $file && $file !~ $files;
    $said =~ s/^\w+ \{[^}]*\}/name_of($file, $line)/e if defined $line;
    $said = plain($said);
    return $said =~ /^(?:(?:un)?signed )?char$/ if $kind eq 't' || $kind eq 'b' && $type eq 'char';
    # A shape has no name. It is wrong if it takes texts for something else, or the other way round.
    return 1 if $answer->{evidence} eq 'shape' && $said =~ /^\{/;
    return is_linked($1, $type) ? 1 : 0 if $answer->{evidence} eq 'shape' && $said =~ /^(list|tree) node/;
    return is_element($1, $kind, $type) if $answer->{evidence} eq 'shape' && $answer->{type} =~ /^struct vector element (\{.*\})/;
    # Debug information has no name for the type of a closure; symbols call it by the function that it is made in.
    return 1 if $type eq '(no name)' && $kind ne 'p' && $said =~ /\)::\{lambda\(.*\)#\d+\}$/;
    # A node of a container, whose value has no name.
    my $template = $said =~ /^([\w:]+<)\{[^{}]*\}(?:,void\*)?>$/ ? $1 : undef;
    my $is_named = grep { defined $template ? index(plain($_), $template) == 0 : $said eq plain($_) } split /\|/, $type;
    my $is_array = $answer->{type} =~ /\]$/;
    return $answer->{evidence} eq 'pool' || $is_named && !$is_array if $kind eq 'p';
    return $is_named && !($kind eq 'f' && $is_array);
}

# The truth programs' types that have pointers to their own type, by which their blocks form lists or trees.
my %linked = (
    list => [qw(std::_Fwd_list_node std::__forward_list_node Hop Mark Step Session Message Chunk Style Book Cell Slab TradeChunk Piece Timing Expression)],
    tree => [qw(Node std::__tree_node std::_Rb_tree_node)],
);

# "list node {next, long}" says how the blocks are linked, not what they are.
sub is_linked {
    my ($form, $type) = @_;
    my ($own) = $type =~ /^(?:std::|edit::|drawing::|market::|history::)?(?:\w+<.*>::)?(\w+)/;
    return grep { my $linked = $_ =~ s/^std:://r; $type =~ /^std::\Q$linked\E</ || $own eq $linked } @{ $linked{$form} };
}

# The types that the truth programs keep in vectors, and the shapes of these.
my %element = (
    'std::shared_ptr<Attachment>' => '{std::shared_ptr}', 'Loan' => '{ptr, long}', 'int' => '{byte[4]}', 'unsigned char' => '{byte}',
    map { $_ => '{ptr}' } 'Book *', 'edit::Step *', 'edit::Entry *', 'Message *', 'std::unique_ptr<Road>|Road *', 'Road *',
    'std::unique_ptr<Query>|Query *', 'Cost *',
    'std::unique_ptr<Expression>',
);

# "vector element {ptr, long}" tells who owns a block, and how large the elements are.
sub is_element {
    my ($shape, $kind, $type) = @_;
    return $kind eq 'a' && ($element{$type} // '') eq $shape;
}

# The structs that begin with the members of another one, by the truth programs' sources.
my %begins_with = (
    node => [qw(int_node ident_node decl_node)],
    boxed => [qw(vector text lambda)],
    shape => [qw(circle link_shape)],
    Piece => [qw(FlatPiece TreePiece BorrowedPiece)],
    array => [qw(growing_array)],
);

# "struct node and 16 bytes" says what a block begins with, and no more.
sub is_beginning {
    my ($said, $kind, $type) = @_;
    my $own = plain($type);
    return $kind ne 't' && (plain($said) eq $own || grep { $_ eq $own } @{ $begins_with{ plain($said) } });
}

sub note_wrong {
    my ($result, $what, $group) = @_;
    my $entry = $result->{wrong}{$what} //= { objects => 0, bytes => 0, example => $group->{example} };
    $entry->{objects} += $group->{objects};
    $entry->{bytes} += $group->{bytes};
}

# The truth about a block, by the log.
sub describe {
    my ($kind, $count, $type) = @_;
    return $kind eq 'p' ? '(a pool)' : $kind eq 'f' ? "$type with n" : $kind eq 'b' ? "$type behind $count"
        : $count > 1 && $kind ne 't' ? "$type\[]" : $type;
}

# Blocks with one answer and one truth.
sub judge_group {
    my ($result, $group) = @_;
    my ($kind, $count, $type) = split /\t/, $group->{truth};
    my ($answer, $objects) = (read_answer($group->{answer}), $group->{objects});
    my $is_typed = $answer->{evidence} ne 'none';
    return if $kind eq 'p' && !$is_typed;
    $result->{objects} += $objects;
    $result->{bytes} += $group->{bytes};
    my $kind_of_evidence = $result->{evidence}{ $answer->{evidence} } //= { objects => 0, wrong => 0 };
    $kind_of_evidence->{objects} += $objects;
    return note_wrong($result, describe($kind, $count, $type) . ' -> (untyped)', $group) unless $is_typed;
    $result->{typed} += $objects;
    $result->{typed_bytes} += $group->{bytes};
    if (!is_right($result->{name}, $answer, $kind, $count, $type)) {
        $kind_of_evidence->{wrong} += $objects;
        return note_wrong($result, describe($kind, $count, $type) . ' -> ' . ($answer->{type} =~ s/\[\d+\]$/[]/r) . " by $answer->{evidence}", $group);
    }
    $result->{right} += $objects;
    $result->{right_bytes} += $group->{bytes};
    $result->{linked} += $objects if $answer->{type} =~ /^struct (?:\w+ node|vector element) \{/;
    $result->{miscounted} += $objects if $kind eq 'a' && $answer->{evidence} ne 'pool' && $answer->{elements} != $count;
}

# Blocks that the program's code allocated, and that are not logged.
sub judge_nodes {
    my ($result, $group) = @_;
    $result->{nodes} += $group->{objects};
    $result->{node_bytes} += $group->{bytes};
    return note_wrong($result, '(not logged) -> (untyped)', $group) if read_answer($group->{answer})->{evidence} eq 'none';
    $result->{typed_nodes} += $group->{objects};
    $result->{typed_node_bytes} += $group->{bytes};
}

# Judges heapsh's answers about the logged parts. Parts are found by their types.
sub judge_parts {
    my ($result, $snapshot, $parts, $blocks) = @_;
    my %types = map { $_ => 1 } values %$parts;
    $result->{parts} = keys %$parts;
    for my $type (sort keys %types) {
        my $next = find($snapshot, 'type', $type =~ s/^struct //r);
        while (my ($address) = $next->()) {
            my $logged = $parts->{$address};
            my $answer = !defined $logged ? 'false_parts' : plain($logged) eq plain($type) ? 'right_parts' : 'other_parts';
            $result->{$answer}++ if defined $logged || !$blocks->{$address};
        }
    }
}

# The objects of a snapshot that the program's code allocated, as groups of one answer and one truth,
# which is undefined for those that are not logged. Nobody knows who allocated blocks of a program that
# was not prepared. @return the groups, and how many objects are logged
sub group {
    my ($snapshot, $module, $truth) = @_;
    my (%foreign, %group);
    my $logged = 0;
    my $next = $attached ? sub { return } : find($snapshot, 'not', 'module', $module);
    while (my ($address) = $next->()) { $foreign{$address} = 1 }
    $next = find($snapshot);
    while (my ($address, $size, $answer) = $next->()) {
        my $true = $truth->{$address};
        next if !defined $true && ($attached || $foreign{$address});
        $logged += defined $true;
        my $group = $group{ $answer . ($true // '') } //=
            { truth => $true, answer => $answer, example => $address, objects => 0, bytes => 0 };
        $group->{objects}++;
        $group->{bytes} += $size;
    }
    return ([sort { $a->{example} <=> $b->{example} } values %group], $logged);
}

# Runs a variant of a program and compares. Dies if there is nothing to compare.
sub program {
    my ($name, $variant) = @_;
    capture($name, $variant) or die "$name.$variant failed\n";
    my ($truth, $parts) = read_log(path($name, $variant, 'log'));
    my $snapshot = path($name, $variant, 'snap');
    my $result = { name => $name, (map { $_ => 0 } @sums), wrong => {}, evidence => {} };
    judge_parts($result, $snapshot, $parts, $truth);
    my ($groups, $logged) = group($snapshot, "$name.$variant", $truth);
    my $missing = keys(%$truth) - $logged;
    die "$name.$variant: $missing logged blocks are not in the snapshot\n" if $missing;
    defined $_->{truth} ? judge_group($result, $_) : judge_nodes($result, $_) for @$groups;
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

# The variants of all programs that have been built, with debug information. Into those that are linked statically no
# library is loaded: heapsnap can but attach.
sub all { return grep { !is_bare($_->[1]) && $_->[1] !~ /-static$/ } built() }

# Those of C++ without it: "-bare" have symbols, "-stripped" have none.
sub bare { return grep { is_bare($_->[1]) } built() }

sub is_bare { return $_[0] =~ /-(?:bare|stripped)$/ }

sub built {
    my %is_source = map { s{.*/|\.cc?$}{}gr => 1 } grep { !m{/(?:truth|[^/]*-[^/]*)\.c$} } glob 't/truth/*.c t/truth/*.cc t/truth/bare/*.cc';
    $is_source{lua} = 1;
    return sort { $a->[0] cmp $b->[0] || $a->[1] cmp $b->[1] }
        grep { $is_source{ $_->[0] } }
        map { m{([^/.]+)\.([\w-]+)$} && -x ? [$1, $2] : () } glob "$where/*";
}

1;
