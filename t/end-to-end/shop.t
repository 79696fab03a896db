#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Modern C++ (t/programs/shop.cc), asked as people ask: names without namespaces, types as they write them, elements
# as `show` displays them, objects that std::make_shared made.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

my $program = Heapsh->start('shop');
my $file = $program->capture;
$program->finish;

sub count { return Heapsh::ask_json($file, 'find', '--count', @_)->{count} }

sub shows {
    my ($place, $expected) = @_;
    my $text = Heapsh::ask($file, 'show', $place);
    like $text . $Heapsh::complaint, $expected, "show $place";
}

# Elements.
shows 'shop::bus.listeners[3]', qr/\Aclass shop::Window \(make_shared\) at 0x[0-9a-f]+, /;
shows 'shop::bus.listeners[17]->title', qr/^  value = "the title of window number 17"$/m;
shows 'shop::bus.listeners[17].number', qr/^  value = 17$/m;
shows 'shop::bus.listeners[20]', qr/\Aheapsh: shop::bus\.listeners\[20\]: no such element; there are 20$/;
shows 'shop::bus.listeners[x]', qr/\Aheapsh: shop::bus\.listeners\[x\]: no such element/;
shows 'shop::bus.listeners[3..5]', qr/\A\S+: 3 of class std::shared_ptr<shop::Listener>, 48 B, .*\n  \[3\] = .*\n  \[4\] = .*\n  \[5\] = /;
shows 'shop::bus.callbacks[7]', qr/class std::function<void\(int\)>/;
shows 'shop::cache.entries["/products/with/a/long/key/23"]->price', qr/^  value = 34\.5$/m;
shows 'shop::cache.entries[/products/with/a/long/key/23].name', qr/^  value = "product 23"$/m;
shows 'shop::customers[7]->orders[73].value', qr/^  value = "a value that is a long string" \(class std::string\)$/m;
shows 'shop::customers[7]->orders[71].note', qr/^  value = "please ring the bell twice, thanks"$/m;
shows 'shop::customers[7]->favourites[4]', qr/^  value = 8$/m;
shows 'shop::customers[7]->log[2]', qr/^  value = "a line of the log of this customer, number 2"$/m;
shows 'shop::customers[7]->wish->price', qr/^  value = 7$/m;
shows 'shop::customers[700]', qr/\Aheapsh: shop::customers\[700\]: no such element; there are 30$/;
shows 'shop::numbers[20]', qr/^  value = 20$/m;
shows 'shop::numbers[99]', qr/\Aheapsh: shop::numbers\[99\]: not kept in the snapshot/;
like Heapsh::ask($file, 'path', 'shop::bus.listeners[3]'), qr/\.listeners/, 'an element is an OBJ for other commands';

# Names without their namespaces; the program's own before those of libc.
shows 'cache', qr/\Athe global variable shop::cache \(shop\.cc:\d+, shop\)/;
shows 'cache.entries["/products/with/a/long/key/1"].price', qr/^  value = 1\.5$/m;
shows 'twin', qr/\Aheapsh: twin: could be (?:left::twin, right::twin|right::twin, left::twin)$/;
shows 'left::twin', qr/\Aint at /;
is count('frame', 'make_cycle'), count('frame', 'shop::make_cycle'), 'a frame without its namespace';
is count('frame', 'make_cycle', 'type', 'Node'), 20, 'a type without its namespace';
is count('site', 'Cache::add', 'type', 'Product'), 40, 'and a site';
isnt Heapsh::ask($file, 'find', 'frame', 'make_nothing') . $Heapsh::complaint, '', 'another name is an error';
like $Heapsh::complaint, qr/^heapsh: frame make_nothing: nothing was allocated/, 'as ever';

# Objects from std::make_shared are found by their own type.
is count('type', 'shop::Product'), 70, 'by make_shared and make_unique';
is count('type', 'shop::Window'), 20, 'by make_shared alone';
is count('type', 'class shop::Window (make_shared)'), 20, 'as they are printed';
is count(qw(type class shop::Window (make_shared) size >1)), 20, 'also without quotes';
is count('type', 'shop::Product (make_shared)'), 40, 'but those of make_unique are not';
is count('type', 'shop::Window', 'field', 'number>=15'), 5, 'with its fields';
is count('type', 'shop::Window', 'field', 'title=the title of window number 4'), 1, 'and texts';
is count('type', 'std::_Sp_counted_ptr_inplace<shop::Window*'), 20, 'the block has its type, too';
like Heapsh::ask($file, 'count'), qr/^ +20 .*struct shop::Node \(make_shared\)/m, 'count names it';
like Heapsh::ask($file, 'identify', 'shop::bus.listeners[3]'), qr/\Aclass shop::Window \(make_shared\) at /, 'identify, too';

my ($counter) = grep { $_->{size} == 24 } @{ Heapsh::ask_json($file, 'find', 'type', 'int')->{objects} };
is $counter->{type}, 'int (make_shared)', 'a number, which the counts are, too';
like Heapsh::ask($file, 'show', $counter->{address}), qr/^  made with its counts \(use count 1, weak count 0\)\n  value = 1234$/m, 'its value';
like Heapsh::ask($file, 'show', 'shop::bus.listeners[3]'),
    qr/^    #\d+ +std::make_shared<shop::Window.*, and \d+ more inside it\n    #\d+ +shop::open_window .*\n.*\n  made with its counts \(use count 2, weak count 0\)\n.*^  title = "the title/ms,
    'show: without the insides of the library';

like Heapsh::ask($file, 'path', 'cache.entries["/products/with/a/long/key/23"]'), qr/^  \.entries → /m, 'path: fields without the insides of the library';
like Heapsh::ask($file, 'identify', 'customers[7]->orders[73].value'), qr/\.orders(?: and \d+ more fields?)? of struct shop::Customer /, 'identify, too';

# Types as people write them, and as compilers do.
my $long = 'std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >';
is count('type', $_), 30, $_
    for 'std::string', $long, 'std::__cxx11::basic_string<char,std::char_traits<char>,std::allocator<char>>',
    'std::basic_string<char>';
is count('type', 'std::_List_node<std::function<void(int)>>'), 20, 'without a space';
is count('type', 'std::_List_node<std::function<void(int)> >'), 20, 'with one';
for my $line ('find --count type std::vector<int>::iterator > FILE', 'find --count type std::map<int, std::string > >> FILE') {
    my $out = "$file.out";
    unlink $out;
    open my $in, '|-', "$Heapsh::build/heapsh --quiet $file >/dev/null 2>&1" or die $!;
    print $in $line =~ s/FILE/$out/r, "\n";
    close $in;
    ok -e $out, "$line: the last > alone redirects";
}
unlike Heapsh::ask($file, $_), qr/basic_string|, std::allocator<|char_traits|> >/, "$_ tells short names"
    for 'count', 'suspects', 'roots';

# A variable that is no pointer.
like Heapsh::ask($file, 'identify', 'customers'),
    qr/\Athe global variable shop::customers .* is a root: nothing has to hold it\. It points to:\n  \S+ = struct std::_Rb_tree_node</, 'identify';
is count('pointed-by', 'customers'), 3, 'pointed-by: the tree\'s top, first and last';
is count('pointed-by', 'shop::bus.callbacks'), 2, 'of a part of it';
my $sizes = Heapsh::ask_json($file, 'sizes', 'customers');
is $sizes->{own}, 48, 'sizes: its own';
is $sizes->{owned}{objects}, $sizes->{reachable}{objects}, 'and what it owns';
cmp_ok $sizes->{owned}{objects}, '>', 30 * 10, 'all of it';
like Heapsh::ask($file, 'find', 'under', 'customers') . $Heapsh::complaint,
    qr/\Aheapsh: customers: a variable, which is no object of the heap; `outrefs customers` shows/, 'an error says more';

# A leak comes first, also a small one.
my $suspects = Heapsh::ask($file, 'suspects', '--limit', 1);
like $suspects, qr/\A1\. \d\.\d % of the heap, .*: leaked: \d+ objects, struct shop::Node \(make_shared\) and .*\n.*\n +No root leads to them, and they hold each other: `identify/, 'suspects begins with the leak';
like $suspects, qr/^… \d+ more; --all shows them$/m, '--limit';
like Heapsh::ask($file, 'symbols', '--limit', 2), qr/\A(?:0x\S+ (?:shop|left|right)::.*\n){2}… \d+ more/, 'symbols: the program\'s first';

# A deque's chunks are as full as its iterators say; its array of chunks is no waste.
my @waste = @{ Heapsh::ask_json($file, 'waste')->{groups} };
my ($log) = grep { $_->{held_by} =~ /\.log\b/ } @waste;
is_deeply [@$log{qw(measure arrays used elements)}], ['deque', 30, 5 * 30, 16 * 30], 'chunks of 16, of which 5 are used';
is scalar(grep { $_->{held_by} =~ /_M_map/ } @waste), 0, 'no array of chunks';
is scalar(grep { $_->{held_by} =~ /numbers/ && $_->{used} < 36 } @waste), 0, 'two chunks of 100 numbers';

# A series that ends with a snapshot at exit seems to shrink.
$program = Heapsh->start('shop', run => ['--at-exit']);
my @series = ($program->capture, $program->capture);
is `$Heapsh::build/heapsh-evolution --csv @series 2>&1 >/dev/null`, '', 'nothing is said of a running program';
$program->finish;
push @series, $program->wait_for(3);
like `$Heapsh::build/$_ @series 2>&1 >/dev/null`, qr/^heapsh-\w+: \Q$series[2]\E was taken while the program exited: .*\n\z/m, "$_ says so"
    for 'heapsh-evolution --csv', 'heapsh-leakreport';
is `$Heapsh::build/heapsh-evolution -q --csv @series 2>&1 >/dev/null`, '', 'unless told not to';

done_testing;
