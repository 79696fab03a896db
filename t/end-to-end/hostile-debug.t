#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Debug information that is damaged, or that the writer comes to grief over, costs what it would
# have told. The snapshot is there, with all blocks, and says what is missing.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;
use Time::HiRes qw(sleep time);
use Tools;

my $sources = abs_path('t/forms');
my $directory = tempdir(CLEANUP => 1);

sub run {
    my ($command) = @_;
    system("cd '$directory' && { $command; } >.log 2>&1") == 0 or BAIL_OUT("$command failed");
}

sub modules { return map { $_->{path} =~ s{.*/}{}r => $_ } @{ Heapsh::ask_json($_[0], 'info')->{modules} } }

sub count_blocks { return Heapsh::ask_json($_[0], 'find', '--count')->{count} }

sub start { return Heapsh->start("$directory/$_[0]", env => { XDG_CACHE_HOME => "$directory/cache" }) }

# --- damage ------------------------------------------------------------------------------------

run("gcc -g -O1 -fPIC -shared -o liblibrary.so $sources/library.c");
run("gcc -g -O1 -o app $sources/app.c $sources/other.c -L. -llibrary -Wl,-rpath,'\$ORIGIN'");

# The bytes of the sections that the program itself does not need.
my @ranges;
for (qx(readelf -SW '$directory/app')) {
    push @ranges, [ hex $2, hex $3, $1 ] if /(\.debug_\w+|\.symtab|\.strtab)\s+\S+\s+\S+\s+(\S+)\s+(\S+)/;
}
open my $in, '<:raw', "$directory/app" or die;
my $sound = do { local $/; <$in> };

sub damaged {
    my ($name, $damage) = @_;
    my $bytes = $sound;
    $damage->(\$bytes);
    open my $out, '>:raw', "$directory/$name" or die;
    print $out $bytes;
    close $out;
    chmod 0755, "$directory/$name";
    # All these files have one build id and one size: nothing is known of the last one.
    system('rm', '-rf', "$directory/cache");
    Heapsh::make_cache("$directory/cache");
    my $program = start($name);
    my $file = $program->capture;
    Heapsh::keep_cache("$directory/cache");
    my $count = count_blocks($file);
    my @answers = map { scalar Heapsh::ask($file, $_) } qw(info count sites roots callstack);
    $program->finish;
    unlink "$directory/$name";
    return $count;
}

my $blocks = damaged('app-sound', sub { });
ok $blocks > 50, 'the program has its blocks';
srand 1;
my @lost;
for my $round ($ENV{SHORT} ? (3, 4) : 1 .. 6) {
    for my $range (@ranges) {
        my ($offset, $size, $name) = @$range;
        # One section at a time: all ones, all zeros, noise, or a few bytes.
        my $count = damaged("app-$round", sub {
            my ($bytes) = @_;
            my $noise =
                $round == 1 ? "\xff" x $size
              : $round == 2 ? "\0" x $size
              : $round == 3 ? join('', map { chr int rand 256 } 1 .. $size)
              :               undef;
            if (defined $noise) { substr($$bytes, $offset, $size) = $noise }
            else { substr($$bytes, $offset + int rand $size, 1) = chr int rand 256 for 1 .. 10 }
        });
        push @lost, "$name, round $round: $count" if $count != $blocks;
    }
}
is "@lost", '', 'damage of any section loses no block';

# --- faults ------------------------------------------------------------------------------------

# The writer, once it reads the large file.
sub find_writer {
    for (my $until = time + $Heapsh::patience; time < $until; sleep 0.002) {
        for my $maps (glob '/proc/[0-9]*/maps') {
            my $pid = $maps =~ s{\D}{}gr;
            open my $comm, '<', "/proc/$pid/comm" or next;
            next unless (<$comm> // '') eq "heapsnap-writer\n";
            open my $mapped, '<', $maps or next;
            return $pid if grep { m{\Q$directory\E/liblarge\.so} } <$mapped>;
        }
    }
    return;
}

sub note_after {
    my (@signals) = @_;
    run('rm -rf cache');
    my $program = start('large');
    kill 'QUIT', $program->pid;
    for my $signal (@signals) {
        my $writer = find_writer() or return 'no writer';
        kill $signal, $writer;
        sleep 0.01;
    }
    my $file = $program->wait_for(1);
    my %module = modules($file);
    is count_blocks($file), 3, 'all blocks are there';
    is $program->errors, '', 'nothing was said';
    is scalar(grep { /^\./ } map { s{.*/}{}r } glob "$program->{directory}/.large*"), 0,
        'no file is left';
    $program->finish;
    return $module{'liblarge.so'}{note};
}

run("'" . abs_path('t/bench/debug-generate') . "' liblarge.so 150 4000");
open my $c, '>', "$directory/large.c" or die;
print $c <<'END';
#include <stdio.h>
#include <stdlib.h>
struct s1 *f1(struct s1 *s, int n);
struct item { struct item *next; long number; } *items;
int main(int argc, char **argv)
{
	(void)argv;
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < 3; i++) {
		struct item *item = malloc(sizeof(*item));
		item->next = items;
		item->number = i;
		items = item;
	}
	if (argc > 5)
		f1(NULL, 1);
	puts("ready");
	getchar();
	return 0;
}
END
close $c;
run("gcc -g -o large large.c -L. -llarge -Wl,-rpath,'\$ORIGIN'");
is note_after(), '', 'undisturbed, all is read';
# A sanitizer makes an exit of a signal.
sub crash { return 'not read: heapsnap-writer crashed by it (' . ($ENV{SANITIZE} ? 'status 1' : "signal $_[0]") . ')' }
$Heapsh::crashes = 1;
is note_after('SEGV'), crash(11), 'a fault';
is note_after('BUS'), crash(7), 'a file that is cut off while it is mapped';
$Heapsh::crashes = 0;

# --- members in members ------------------------------------------------------------------------

# All at one place, 60 to the power of 12 of them. Only clang compiles that in any time.
SKIP: {
    skip 'no clang', 1 unless has('clang');
    open my $nested, '>', "$directory/nested.c" or die;
    print $nested "#include <stdio.h>\n#include <stdlib.h>\nstruct level_0 {};\n",
        map { my $inner = $_ - 1; "struct level_$_ { struct level_$inner " . join(', ', map { "m$_" } 1 .. 60) . "; };\n" } 1 .. 12;
    print $nested <<'END';
struct deep {
	struct level_12 levels;
	long number;
	struct deep *next;
} *all;
int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < 100; i++) {
		struct deep *deep = calloc(1, sizeof(*deep));
		deep->number = i;
		deep->next = all;
		all = deep;
	}
	puts("ready");
	while (getchar() != EOF)
		;
	return 0;
}
END
    close $nested;
    run('clang -g -o nested nested.c');
    my $program = start('nested');
    is Heapsh::ask_json($program->capture, 'find', '--count', 'type', 'struct deep')->{count}, 100, 'members nested in each other at one place';
    $program->finish;
}

# --- class templates ---------------------------------------------------------------------------

# A class with many members, whose template arguments are renamed in the debug information.
sub capture_template {
    my ($name, $class, $argument) = @_;
    open my $source, '>', "$directory/$name.cc" or die;
    print $source $class, <<'END';
#include <cstdio>
holder<int> *volatile held;
int main()
{
	setvbuf(stdout, NULL, _IONBF, 0);
	held = new holder<int>;
	puts("ready");
	while (getchar() != EOF)
		;
	return 0;
}
END
    close $source;
    run("g++ -g -S $name.cc");
    my $text = do { local (@ARGV, $/) = "$directory/$name.s"; <> };
    $text =~ s/"holder<int>"/"holder<$argument>"/;
    open my $assembler, '>', "$directory/$name.s" or die;
    print $assembler $text;
    close $assembler;
    run("g++ -o $name $name.s");
    my $program = start($name);
    my $begun = time;
    cmp_ok count_blocks($program->capture), '>', 0, "a class template with hostile $name";
    cmp_ok time - $begun, '<', 20, '... and soon';
    $program->finish;
}

my $nested = join "\n", "template<int N> union nested { nested<N - 1> " . join(', ', map { "m$_\[1]" } 1 .. 700) . '; };',
    'template<> union nested<0> { long number; };', 'template<class T> struct holder { nested<3> values; };';
capture_template('unions', "$nested\n", 'int');
my $storage = join ', ', map { "m$_\[8]" } 1 .. 3000;
capture_template('pointers', "template<class T> struct holder { char $storage; };\n", 'int' . '*' x 3000);
my $values = join ', ', map { "m$_" } 1 .. 20000;
capture_template('names', "struct value { long number; };\ntemplate<class T> union holder { value $values; };\n",
    join ',', ('int') x 7, 'u' x 1_000_000);
done_testing;
