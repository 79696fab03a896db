#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# C++ as its compilers and libraries make it: classes by their vtables, containers by what
# they hold (t/programs/cxx-classes.cc, cxx-containers.cc), in each way that they can be built.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use File::Temp qw(tempdir);
use JSON::PP;
use Test::More;
use Tools;

my $directory = tempdir(CLEANUP => 1);

# Builds a program, unless an earlier test has, and captures it; stripped if the last word is -s.
# @return undef if that compiler is not there
my %built;

sub capture {
    my ($source, @command) = @_;
    my $is_stripped = $command[-1] eq '-s' && pop @command;
    my $program = "$directory/$source-" . join '', map { s/\W//gr } @command;
    $built{$program} //= system("@command -pthread -o $program t/programs/$source.cc 2>$directory/errors") == 0;
    return undef unless $built{$program};
    return Heapsh->start($program)->capture unless $is_stripped;
    system('strip', '-o', "$program-stripped", $program) == 0 or die 'strip';
    return Heapsh->start("$program-stripped")->capture;
}

# The types of objects, and how many there are: elements too where it is not one each.
sub counts {
    my ($file, @filter) = @_;
    my %count;
    $count{ $_->{type} }++ for @{ Heapsh::ask_json($file, 'find', @filter)->{objects} };
    return \%count;
}

sub classes {
    my ($file, $what, $expected) = @_;
    is_deeply counts($file, 'evidence', 'vtable'), $expected, "$what: classes by vtable";
}

my @compilers = grep { has($_) } qw(g++ clang++);
ok @compilers > 0, "compilers: @compilers";
# Of what compiles for long; `make check` has both.
my @levels = $ENV{SHORT} ? '-O2' : ('-O0', '-O2');

my %common = ('struct zoo::pet' => 3, 'struct zoo::aquarium' => 2, 'struct zoo::dog' => 5,
    'struct zoo::steel' => 1, 'struct zoo::(anonymous namespace)::hidden' => 1, 'struct local' => 1);
my %painted = (
    'g++' => ['struct zoo::painted<char const*, (zoo::colour)1, (zoo::size)1, 2>',
        'struct zoo::painted<long unsigned int, (zoo::colour)0, (zoo::size)0, 4>'],
    'clang++' => ['struct zoo::painted<const char *, zoo::GREEN, zoo::size::LARGE, 2UL>',
        'struct zoo::painted<unsigned long, zoo::RED, zoo::size::SMALL, 4UL>'],
);
for my $compiler (@compilers) {
    for my $level ('-O0', '-O2') {
        my $what = "$compiler $level";
        my $file = capture('cxx-classes', $compiler, '-g', $level);
        classes($file, $what, { %common, map { $_ => 1 } @{ $painted{$compiler} } });
        my $guest = Heapsh::ask($file, 'show', 'guest');
        like $guest, qr/looks_at = struct zoo::pet at 0x\w+ \+ 16 \(base struct zoo::named\)\n/,
            "$what: a pointer to the second base";
        like $guest,
            qr/through = struct zoo::aquarium at 0x\w+ \+ 16 \(base struct zoo::glass\)\n/,
            "$what: and in a diamond";
        like Heapsh::ask($file, 'show', 'cages'),
            qr/\[0\] = struct zoo::aquarium at 0x\w+ \+ 40 \(base struct zoo::cage\)\n/,
            "$what: a pointer to the virtual base";
        my ($pet) = @{ Heapsh::ask_json($file, 'find', 'type', 'zoo::pet')->{objects} };
        like Heapsh::ask($file, 'identify', $pet->{address}),
            qr/\.looks_at of struct visitor at 0x\w+ \(base struct zoo::named\), which is:/,
            "$what: who holds an object by its second base";
        my $pack = Heapsh::ask($file, 'show', 'pack');
        like $pack, qr/^struct zoo::dog\[6\]/, "$what: new[] of a class with a destructor";
        my ($dogs) = @{ Heapsh::ask_json($file, 'find', 'type', 'zoo::dog[6]')->{objects} };
        is $dogs->{elements}, 6, "$what: found by its number";
        like $pack, qr/^  \[5\] = \{\n    struct zoo::animal = \{/m, "$what: shown by its elements";
    }
    for my $flags ('-g0', '-g0 -s') {
        my $file = capture('cxx-classes', $compiler, split ' ', $flags);
        classes($file, "$compiler $flags", {
            'class zoo::pet' => 3, 'class zoo::aquarium' => 2, 'class zoo::dog' => 5,
            'class zoo::steel' => 1, 'class zoo::(anonymous namespace)::hidden' => 1,
            'class fill()::local' => 1,
            'class zoo::painted<char const*, (zoo::colour)1, (zoo::size)1, 2ul>' => 1,
            'class zoo::painted<unsigned long, (zoo::colour)0, (zoo::size)0, 4ul>' => 1 });
        my ($steel) = @{ Heapsh::ask_json($file, 'find', 'type', 'zoo::steel')->{objects} };
        like Heapsh::ask($file, 'show', $steel->{address}),
            qr/^class zoo::steel at .*\n.*type by vtable\n  backtrace .*\n(?:    #\d.*\n)+  at_0 = 0x\w+ \(.*\)\n  at_8 = 100\n  at_16 = 0x\w+ \(.*\)\n  at_24 = 12\n/,
            "$compiler $flags: a class of which only the name is known, by its words";
    }
}

# --- containers ------------------------------------------------------------------------------

# The output of `show` for each variable, but for addresses; the same for all libraries.
my $long = '"a text that is far too long for the small buffer"';
my @shown = (
    g_short => '"short"', g_long => $long, g_empty => '""', g_wide => '"wide"',
    g_numbers => "std::vector of 40 (capacity 64) {\n"
        . join('', map { "    [$_] = " . $_ * $_ . "\n" } 0 .. 15)
        . "    … 24 more (--all shows them)\n  }",
    g_no_numbers => 'std::vector, empty',
    g_strings => "std::vector of 3 {\n    [0] = \"one\"\n    [1] = $long\n    [2] = \"three\"\n  }",
    g_bits => "std::vector<bool> of 4 {\n    [0] = true\n    [1] = false\n    [2] = true\n"
        . "    [3] = true\n  }",
    g_names => "std::map of 25 {\n" . join('', map { "    [$_] = \"name $_\"\n" } 0 .. 15)
        . "    … 9 more (--all shows them)\n  }",
    g_by_name => "std::map of 2 {\n    [\"apple\"] = {\n      number = 1\n      price = 0.5\n"
        . "      related = NULL\n    }\n    [\"pear\"] = {\n      number = 2\n      price = 0.75\n"
        . "      related = NULL\n    }\n  }",
    g_set => "std::set of 3 {\n    [0] = 10\n    [1] = 20\n    [2] = 30\n  }",
    g_multi => "std::multimap of 3 {\n    [1] = 1.5\n    [1] = 2.5\n    [2] = 3.5\n  }",
    g_hash => "std::unordered_map of 6 {\n" . join('', map { "    [$_] = ${_}00\n" } reverse 1 .. 5)
        . "    [0] = 0\n  }",
    g_hash_by_name => "std::unordered_map of 1 {\n    [\"plum\"] = {\n      number = 3\n"
        . "      price = 0.25\n      related = NULL\n    }\n  }",
    g_hash_set => "std::unordered_set of 1 {\n    [0] = 1234567\n  }",
    g_list => "std::list of 4 {\n" . join('', map { "    [$_] = {\n      number = $_\n      price = "
        . 1.5 * $_ . "\n      related = NULL\n    }\n" } 0 .. 3) . '  }',
    g_forward => "std::forward_list {\n    [0] = 5\n    [1] = 6\n    [2] = 7\n  }",
    g_deque => "std::deque of 299 {\n" . join('', map { "    [$_] = " . ($_ + 1) . "\n" } 0 .. 15)
        . "    … 283 more (--all shows them)\n  }",
    g_tuple => "std::tuple {\n    [0] = 4\n    [1] = 2.5\n    [2] = \"four\"\n  }",
    g_some => "{\n    number = 8\n    price = 1.25\n    related = NULL\n  }",
    g_none => 'std::optional, empty',
    g_variant => '"variant" (class std::string)',
    g_made => 'struct item at X, made with its counts (use count 2, weak count 1)',
    g_made_too => 'struct item at X, made with its counts (use count 2, weak count 1)',
    g_weak => 'struct item at X, made with its counts (use count 2, weak count 1)',
    g_adopted => 'struct item at X (use count 1, weak count 0)',
    g_owned => 'struct item at X', g_owned_array => 'int[10] at X',
    g_no_function => 'std::function, empty',
    g_array => "std::array of 4 {\n    [0] = 1\n    [1] = 2\n    [2] = 3\n    [3] = 4\n  }",
    g_atomic => '77',
    g_rows => "std::vector of 3 {\n    [0] = std::vector of 3 {\n      [0] = 1\n      [1] = 2\n"
        . "      [2] = 3\n    }\n    [1] = std::vector, empty\n    [2] = std::vector of 1 {\n"
        . "      [0] = 4\n    }\n  }",
    g_lists => "std::map of 1 {\n    [7] = std::vector of 2 {\n      [0] = \"seven\"\n"
        . "      [1] = $long\n    }\n  }",
    g_heap_vector => "std::vector of 3 {\n    [0] = 9\n    [1] = 8\n    [2] = 7\n  }",
);

# A structure with containers in it: the first element of a vector.
my $customer = <<"END";
  [0] = {
    name = "Ada"
    addresses = std::vector of 2 {
      [0] = {
        street = "Main Street"
        house = 1
      }
      [1] = {
        street = $long
        house = 2
      }
    }
    orders = std::map of 2 {
      ["bread"] = 2
      ["milk"] = 1
    }
    age = 36
    basket = struct item at X
    home = struct address at X, made with its counts (use count 1, weak count 0)
    codes = std::array of 3 {
      [0] = 7
      [1] = 8
      [2] = 9
    }
  }
END

sub show_without_addresses { return Heapsh::ask(@_) =~ s/0x[0-9a-f]+/X/gr }

# The blocks that containers are made of, by type, and by elements where they are arrays.
sub blocks_of {
    my ($string, $pair, $int_pair, $long_int) = @_;
    my $node = 'struct std::_Rb_tree_node<';
    my $vector_of_strings = "std::vector<$string>";
    my $buckets = '__node_base *[13]';
    return {
        "${node}std::pair<$int_pair, $string>>" => 25,
        "${node}std::pair<$pair$string, item>>" => 2,
        "${node}std::pair<$pair$string, int>>" => 2,
        "${node}std::pair<$int_pair, $vector_of_strings>>" => 1,
        "${node}std::pair<$int_pair, double>>" => 3,
        "${node}int>" => 3,
        "struct std::__detail::_Hash_node<std::pair<$int_pair, int>, false>" => 6,
        "struct std::__detail::_Hash_node<std::pair<$pair$string, item>, true>" => 1,
        "struct std::__detail::_Hash_node<$long_int, false>" => 1,
        'struct std::_List_node<item>' => 4, 'struct std::_Fwd_list_node<int>' => 3,
        'struct item (make_shared)' => 1, 'struct address (make_shared)' => 1,
        "class $string\[3]" => 1, "class $string\[2]" => 1,
        'class std::vector<int>' => 1,
        'class std::vector<int>[3]' => 1,
        'int[64]' => 1, 'int[10]' => 1, 'int[3]' => 2, 'int' => 1, 'int[128]' => 3, 'int *[8]' => 1,
        'unsigned long' => 1, 'struct item[8]' => 1, 'struct item' => 4, 'struct address[2]' => 1,
        'struct customer[2]' => 1, 'struct folder' => 2, 'struct folder[2]' => 1, 'char[49]' => 4,
        $buckets => 3,
    };
}

my %blocks = (
    'g++' => blocks_of('std::string', 'const ', 'int const', 'long int'),
    'clang++' => blocks_of('std::string', 'const ', 'const int', 'long'),
);

sub test_containers {
    my ($file, $what, $blocks) = @_;
    my @names = map { $shown[$_ * 2] } 0 .. $#shown / 2;
    my %text;
    @text{ @names, qw(g_customer g_pair g_folders) } =
        map { s/0x[0-9a-f]+/X/gr } Heapsh::ask_lines($file, map { "show $_" } @names, qw(g_customer g_pair g_folders));
    my %expected = @shown;
    is $text{$_} =~ /^  value = (.*)\n\z/ms ? $1 : undef, $expected{$_}, "$what: $_" for @names;
    like $text{g_customer}, qr/^\Q$customer\E/m, "$what: containers in a structure";
    like $text{g_pair}, qr/^  first = 3\n  second = "three"\n\z/m, "$what: a pair";
    like $text{g_folders},
        qr/children = std::vector of 2 \{.*children = std::vector of 1 \{.*id = 4\n/s,
        "$what: vectors of the class that they are in";
    # The list of exit handlers (1040 bytes) has its type where there is libc's debug information.
    my @untyped = sort grep { $_ != 1040 } map { $_->{size} } @{ Heapsh::ask_json($file, 'find', 'untyped')->{objects} };
    is "@untyped", '', "$what: all is typed, the C++ runtime's reserve too" if $blocks;
    # Nodes lead to the header of their map, which is no node.
    is Heapsh::ask_json($file, 'find', 'conflict')->{count}, 0, "$what: no pointer is against a type";
    return unless $blocks;
    my $counts = counts($file);
    # The buckets' type is a typedef's; gcc qualifies it by all of the table's arguments, or names the struct.
    for my $type (grep { /(?:__node_base|_Hash_node_base) \*\[13\]$/ } keys %$counts) {
        my $count = delete $counts->{$type};
        $counts->{'__node_base *[13]'} += $count;
    }
    is $counts->{$_}, $blocks->{$_}, "$what: $_" for sort keys %$blocks;
    my $noisy = show_without_addresses($file, 'show', 'g_noisy');
    like $noisy, qr/^struct noisy\[6\]/, "$what: new[] of a small class";
}

for my $compiler (@compilers) {
    for my $level (@levels) {
        my $file = capture('cxx-containers', $compiler, '-std=c++17', '-g', $level);
        test_containers($file, "$compiler $level", $blocks{$compiler});
    }
}
for my $level (@levels) {
    my $file = capture('cxx-containers', 'clang++', '-stdlib=libc++', '-std=c++17', '-g', $level);
  SKIP: {
        skip 'no libc++', 1 unless $file;
        test_containers($file, "libc++ $level");
    }
}

# --- JSON ------------------------------------------------------------------------------------

{
    my $file = Heapsh->start('cxx-containers')->capture;
    my $value = sub { Heapsh::ask_json($file, 'show', @_)->{value} };
    is_deeply $value->('g_by_name'), {
        container => 'std::map', length => 2,
        elements => [
            { key => 'apple', value => { number => 1, price => 0.5, related => { pointer => '0x0' } } },
            { key => 'pear', value => { number => 2, price => 0.75, related => { pointer => '0x0' } } },
        ] }, 'JSON: a map';
    my $numbers = $value->('g_numbers');
    is_deeply [@$numbers{qw(container length capacity)}], ['std::vector', 40, 64], 'a vector';
    is_deeply $numbers->{elements}, [map { $_ * $_ } 0 .. 39], 'all its elements';
    is_deeply $value->('g_no_numbers'),
        { container => 'std::vector', length => 0, capacity => 0, elements => [] }, 'an empty one';
    is $value->('g_none'), undef, 'an optional without a value';
    is $value->('g_long'), 'a text that is far too long for the small buffer', 'a string';
    my $made = $value->('g_made');
    is_deeply [@$made{qw(container use_count weak_count)}], ['std::shared_ptr', 2, 1], 'an owner';
    is $made->{object}{type}, 'struct item (make_shared)', 'and the block it is in';
    my ($symbol) = grep { $_->{root}{name} eq 'g_long' } @{ Heapsh::ask_json($file, 'symbols') };
    is $symbol->{value}, '"a text that is far too long for the small buffer"', 'among symbols';
}

# --- what was not kept -----------------------------------------------------------------------

{
    my $file = Heapsh->start('cxx-containers', run => ['--content', 'none'])->capture;
    like Heapsh::ask($file, 'show', 'g_numbers'),
        qr/value = std::vector of 40 \(capacity 64\) \{\n    … 40 more, not kept\n  \}/,
        'a vector whose elements were not kept';
    like Heapsh::ask($file, 'show', 'g_long'), qr/value = \(not kept\)/, 'a text that was not';
    like Heapsh::ask($file, 'show', 'g_short'), qr/value = "short"/, 'one in the variable itself';
    is_deeply Heapsh::ask_json($file, 'show', 'g_numbers')->{value},
        { container => 'std::vector', length => 40, capacity => 64, elements => [], missing => 40 },
        'and in JSON';
    $file = Heapsh->start('cxx-containers', run => ['--content', '64'])->capture;
    like Heapsh::ask($file, 'show', '--all', 'g_numbers'),
        qr/\[15\] = 225\n    … 24 more, not kept\n/, 'a vector of which the beginning was kept';
    like Heapsh::ask($file, 'show', 'g_deque'), qr/\[14\] = 15\n    … 284 more, not kept\n/,
        'a deque, up to where its chunk was kept';
}

# --- sites: the first function that is not the standard library's ---------------------------

# The least number of objects that each function of t/programs/cxx-sites.cc makes.
my %makes = (fill_vectors => 101, fill_strings => 101, fill_tree => 100, fill_table => 201, fill_orders => 200,
    fill_shared => 101, fill_chain => 100, fill_functions => 101, fill_names => 101, fill_queue => 14,
    fill_texts => 301, fill_files => 20);
my @ways = map { my $compiler = $_; map { [$compiler, '-g', $_] } @levels } @compilers;
push @ways, map { ['clang++', '-stdlib=libc++', '-g', $_] } @levels if grep { $_ eq 'clang++' } @compilers;
# Without debug information, symbols tell.
push @ways, map { [$_, '-g0', '-O2'] } @compilers;
for my $way (@ways) {
    my $file = capture('cxx-sites', @$way);
    unless ($file) {
        my $missing = "@$way" =~ /libc\+\+/ && "no libc++ for clang";
        SKIP: { skip $missing, 1 if $missing && !$ENV{CI}; fail "@$way" }
        next;
    }
    my (%objects, @standard);
    for (@{ Heapsh::ask_json($file, 'sites') }) {
        my ($function) = $_->{site} =~ /^(\w+)/;
        $objects{$function} += $_->{objects};
        push @standard, $_->{site} if $_->{site} =~ /^(std|__gnu_cxx)::|_M_|\.h:|^\w+\+0x\w+ \(libc\b/;
    }
    is join("\n", @standard), '', "@$way: no site in a standard library";
    my %few = map { ($objects{$_} // 0) >= $makes{$_} ? () : ($_ => $objects{$_}) } keys %makes;
    is_deeply \%few, {}, "@$way: blocks stand at the functions that asked for them";
    my ($chain) = grep { $_->{site} =~ /^fill_chain/ && $_->{objects} == 100 } @{ Heapsh::ask_json($file, 'sites') };
    ok $chain, "@$way: all of them";
}

# The variable that gets the result of a library's function is no evidence for a block that the function
# allocates for a string and does not return.
for my $way (map { my $compiler = $_; map { [$compiler, '-g', $_] } @levels } @compilers) {
    my $texts = Heapsh::ask_json(capture('cxx-texts', @$way), 'find', 'size', '32')->{objects};
    is_deeply [scalar @$texts, grep { $_ =~ /string/ } map { $_->{type} } @$texts], [100], "@$way: texts of a string's size are no strings";
}

# In a trace, too, unless --wrappers asks for them.
{
    my $build = $ENV{BUILD} || 'build';
    my ($program, $trace) = ("$directory/cxx-sites-" . join('', map { s/\W//gr } $compilers[0], '-g', '-O2'), "$directory/sites.trace");
    local $ENV{HEAPSNAP_RATE} = 1;
    system("$build/heapsnap run --no-snapshots --trace $trace -- $program </dev/null >$directory/output");
    my ($own, $all) = map {
        [map { $_->{place} } @{ JSON::PP->new->utf8->decode(scalar `$build/heapsh-trace --json --sites --limit 1000 $_ $trace`)->{places} }]
    } '', '--wrappers';
    my $standard = qr/^(?:std|__gnu_cxx)::|^_M_|\(\w+\.h:/;
    is join("\n", grep { $_ =~ $standard } @$own), '', 'no site of a trace in a standard library';
    my %named = map { /^(\w+)/ ? ($1 => 1) : () } @$own;
    is join(' ', grep { !$named{$_} } sort keys %makes), '', 'they are the functions that asked for blocks';
    cmp_ok scalar(grep { $_ =~ $standard } @$all), '>', 0, '--wrappers: the library\'s own';
}

# --- without debug information: classes by their vtables, texts, and shapes ------------------

my @texts = qw(fill_strings fill_table fill_orders fill_names fill_texts fill_files main getchar);
for my $compiler (@compilers) {
    for my $stripped ('', '-s') {
        my $what = "$compiler -g0 $stripped";
        my $file = capture('cxx-sites', $compiler, '-g0', '-O2', $stripped || ());
        my $count = Heapsh::ask_json($file, 'find', '--count')->{count};
        my $untyped = Heapsh::ask_json($file, 'find', '--count', 'untyped')->{count};
        cmp_ok $untyped, '<=', $count / 50, "$what: $untyped of $count blocks have neither type nor shape";
        my %shapes = %{ counts($file, 'evidence', 'shape') };
        is $shapes{'struct list node {next, long}'}, 100, "$what: the nodes of a list by their shape";
        # clang leaves functions out of line that make nodes: then their symbols tell. The containers in memory
        # tell the others, and symbols of their methods the values, if there are any.
        my %names = %{ counts($file, 'type', 'std::_Rb_tree_node*') };
        my $is_sure = !$stripped && $compiler eq 'clang++';
        my ($map) = grep { /<std::pair<long const, long> ?>$/ || !$is_sure && /<\{long, long\}>$/ } keys %names;
        is $names{ $map // q() }, 100, "$what: those of a map of numbers";
        my ($set) = grep { /<std::(?:__cxx11::basic_)?string\b/ || !$is_sure && /<\{std::string\}>$/ } keys %names;
        is $names{ $set // q() }, 100, "$what: those of a set of strings";
        next if $stripped;
        is Heapsh::ask_json($file, 'find', '--count', 'type', 'char', 'evidence', 'shape',
            map { ('not', 'site', $_) } @texts)->{count}, 0, "$what: texts are where texts are made";
    }
}
done_testing;
