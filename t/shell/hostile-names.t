#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Every name and text of a snapshot means harm: whatever heapsh, the tools and the exports write
# of it has no control character, nothing invisible, only UTF-8, and as many rows as it would
# have with names that are as long and harmless. Commands, options and formats are those that
# the programs say they have, so a new one is tested by itself.
use strict;
use warnings;
use lib 't/lib';
use Protobuf;
use Sample;
use Encode ();
use File::Path qw(make_path);
use JSON::PP;
use Test::More;

my $build = $Sample::build;
# Programs begin thousands of times here, and looking for leaks at the end takes a third of their time. Other
# tests run the same commands with it.
$ENV{ASAN_OPTIONS} = join ':', grep { $_ } $ENV{ASAN_OPTIONS}, 'detect_leaks=0';
my $directory = $Sample::directory;

# As lib/base/escape.c has it, from Unicode's own tables.
my $harmful = qr/[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]|[^\P{Cf}\x{600}-\x{605}\x{6dd}\x{70f}\x{8e2}\x{110bd}]|\p{Zl}|\p{Zp}|\p{Noncharacter_Code_Point}/;
my $colour = qr/\e\[(?:0|1|3[236])m/;

# Names the fault of a text in a word; '' if there is none.
sub wrong {
    my ($bytes, %option) = @_;
    $bytes =~ s/$colour|\e\[[34]8;5;\d+m//g if $option{colours};
    $bytes =~ s/\r\n/\n/g if $option{csv};
    if ($bytes =~ /[^\n\t -~]/) {
        my $text = eval { Encode::decode('UTF-8', $bytes, Encode::FB_CROAK | Encode::LEAVE_SRC) };
        return 'not UTF-8: ' . substr($bytes, 0, 60) =~ s/[^ -~]/./gr if !defined $text;
        return sprintf 'U+%04X behind "%s"', ord $2, $1 =~ s/[^ -~]/./gr
            if $text =~ $harmful && $text =~ /(.{0,40})($harmful)/s;
    }
    return 'a tab' if !$option{tabs} && $bytes =~ /[^\n\t]\t/;
    return '';
}

# Words that may stand for each placeholder of a synopsis.
my %value = (
    N => [2], OBJ => ['5f02000', '5f00300', '5f00500', '5f02300', '5f02100'], TID => [4242], SIZE => [1],
    'SIZE|PERCENT%' => ['1%'], 'FILTER...' => ['leaked', 'reachable'], NAME => ['*'], GLOB => ['*'],
    'TYPE.FIELD' => ['node.next'], COMMAND => ['find'], 'COMMAND...' => ['count'], 'ARG...' => [],
    TYPE => ['int'], FORMAT => ['dot'], FILE => ['/dev/null'], 'FILE...' => [''], SNAPSHOT => [''], 'SNAPSHOT...' => [''], 'FILE|N' => [0], 'OBJ|FILTER...|--by' => ['leaked', '5f00400', '--by type', '--by site'],
    PLACE => ['*'], 'N|SIZE' => [1], TIME => ['0'],
);

sub values_of {
    my ($word) = @_;
    return $value{$word} ? @{ $value{$word} } : $word =~ /^[a-z]+(\|[a-z]+)*$/ ? split(/\|/, $word) : die "what is $word?\n";
}

# Commands whose synopsis the following cannot read.
my %ways = (alias => ['', 'zebra', "zebra 'count'"], istype => ['', '5f02300 int', '--alike 5f02300 int', '--forget 5f02300']);

# All ways of calling, by a synopsis: each option with each of its values, and what must be there.
sub ways {
    my ($synopsis) = @_;
    my (@option, @needed);
    while ($synopsis =~ /\G\s*(?:\[(-[^][]*?)(?: \[([A-Z]+)\])?\](?:\.\.\.)?|\[(?:\[[^]]*\])?([^][]*)\]|(\S+))/gc) {
        if (defined $1) {
            my ($choices, $optional) = ($1, $2);
            push @option, map { "$choices $_" } values_of($optional) if defined $optional;
            for my $choice (split / \| /, $choices) {
                my ($name, $of) = split ' ', $choice, 2;
                my ($long) = (split /\|/, $name)[-1];
                push @option, defined $of ? map { "$long $_" } values_of((split ' ', $of)[0]) : split /\|/, $name;
            }
        }
        elsif (defined $4) { push @needed, $4 }
    }
    # All objects in turn where one is needed, of others the first.
    my @with = ('');
    @with = map { my $before = $_; map { "$before $_" } /OBJ/ ? '' : (), values_of($needed[0]) } @with if @needed == 1;
    @with = (join ' ', map { (values_of($_))[0] // () } @needed) if @needed > 1;
    return map { my $with = $_; map { "$_ $with" } '', @option } @with;
}

# --- samples ---------------------------------------------------------------------------------

# By name: one that means harm, and one with as many rows.
my %twin = (1 => 0, 2 => 3);
my %snapshot;
for my $number (0 .. 3) {
    for my $kind ('', 'typed', 'series 0', 'series 1', 'series 2', 'flat 0') {
        my $file = "$directory/$number-" . ($kind =~ s/ /-/r) . '.snap';
        system("$build/t/helper/sample_snapshot", $file, 'hostile', $number, split ' ', $kind) == 0 or die;
        $snapshot{"$number $kind"} = $file;
    }
}

# Bytes that are no text are shown as bytes, in rows of their own.
my $other_rows = qr/^show .*5f00500$/;

sub rows { my ($text) = @_; return scalar(() = $text =~ /\n/g) }

# Runs a program on twins. @return what is wrong
sub compare {
    my ($number, $input, %option) = @_;
    my (@wrong, @rows);
    for my $each ($number, $twin{$number}) {
        my @command = map { ref ? $snapshot{"$each $$_"} : s/TWIN/$each/r } @{ $option{command} };
        my ($out, $err, $status) = Sample::run($input, @command);
        push @wrong, "status $status: $err" if $status !~ /^[012]$/;
        push @rows, rows($out) . ' and ' . rows($err);
        next if $each != $number;
        push @wrong, grep { $_ } wrong($out, %option), wrong($err);
        if ($option{json}) {
            my @bad = grep { !eval { JSON::PP->new->utf8->allow_nonref->decode($_); 1 } } split /\n/, $out;
            push @wrong, 'no JSON: ' . substr $bad[0], 0, 200 if @bad;
        }
        push @wrong, grep { $_ } $option{check}->($out) if $option{check};
    }
    push @wrong, "rows: $rows[0], not $rows[1]" if $rows[0] ne $rows[1] && $input !~ $other_rows;
    return @wrong;
}

sub is_fine {
    my ($name, @wrong) = @_;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is join("\n", @wrong), '', $name;
}

# --- commands --------------------------------------------------------------------------------

my @help = map { $_->{name} } @{ Sample::json($snapshot{'0 '}, 'help') };
cmp_ok scalar @help, '>', 40, 'help has commands';
for my $name (@help) {
    my $help = Sample::json($snapshot{'0 '}, 'help', $name);
    next if $name =~ /^(quit|source|export|report)$/;    # files: below
    my %seen;
    my @ways = grep { !$seen{$_}++ } map { "$name $_" =~ s/\s+/ /gr =~ s/ $//r }
        $ways{$name} ? @{ $ways{$name} } : ways($help->{synopsis});
    # Examples show more than a synopsis: filters, types and names.
    push @ways, grep { !/[|>]|\.snap|\bFILE\b/ } map { /^  (\Q$name\E.*?)(?:   .*)?$/ ? $1 =~ s/'/"/gr : () } split /\n/, $help->{details};
    @ways = grep { !/ --raw\b/ } @ways;    # which gives the bytes as they are
    my @shown = grep { $_ !~ $other_rows } @ways;
    for my $number ($ENV{SHORT} ? 1 : (1, 2)) {
        for my $mode ('--color=never', '--color=always', '--json') {
            my %option = (json => $mode eq '--json', colours => $mode eq '--color=always', tabs => $name eq 'types');
            for my $files ([\''], [\'typed'], [\'series 0', \'series 1', \'series 2']) {
                next if ($number == 2 || ${ $files->[0] }) && $mode ne '--color=never';    # not all with all
                my @wrong = map { compare($number, $_, %option, command => ["$build/heapsh", '-q', $mode, @$files]) } join('', map { "$_\n" } @shown), grep { $_ =~ $other_rows } @ways;
                if (@wrong) {    # which of them?
                    @wrong = map {
                        my $way = $_;
                        map { "$way: $_" } compare($number, "$way\n", %option, command => ["$build/heapsh", '-q', $mode, @$files])
                    } @ways;
                }
                is_fine "$name $mode, " . scalar(@ways) . " ways, names $number, @{[map { $$_ } @$files]}", @wrong;
            }
        }
    }
}

# --- words that the user gives ---------------------------------------------------------------

# As they come from a glob in a directory that others fill.
# Words are dealt in turn.
my $turn = 0;

# All of the words, or, in short, every fourth: of the next command it is another fourth.
sub in_short {
    my $from = $turn++;
    return @_ if !$ENV{SHORT};
    return @_[grep { ($_ + $from) % 4 == 0 } 0 .. $#_];
}

my $evil = "x\e]0;owned\a\x9b31m\xc2\x9b\xe2\x80\xae\xe2\x80\x8b\xff\n\r<\"'>";
for my $name (grep { !/^(quit|time)$/ } @help) {
    my @wrong;
    for my $words (in_short([$evil], [$evil, $evil], ["--$evil"], ['--limit', $evil], ['--by', $evil], ['--depth', $evil], ['--min', $evil],
        ['--avoid', $evil, '5f02000'], ['--thread', $evil], ['5f02300', $evil], ['type', $evil], ['field', "$evil=1"], ['size', $evil],
        ['field', "node.$evil=1"], ['--suppressions', $evil])) {
        my ($out, $err, $status) = Sample::run('', "$build/heapsh", '-q', '--color=never', $snapshot{'1 '}, $name, @$words);
        push @wrong, map { "@$words: $_" =~ s/[^ -~]/./gr } grep { $_ } wrong($out, tabs => $name eq 'types'), wrong($err);
        push @wrong, "status $status: $err" if $status !~ /^[012]$/;
    }
    is_fine "$name with words that mean harm", @wrong;
}

my @tool = map { m{.*/(.*)\.c$} ? $1 : () } glob 'shell/batch/*.c';
my %usage = map { $_ => join '', Sample::run('', "$build/$_", '--help') } @tool;
for my $tool ('heapsh', @tool) {
    my @wrong;
    for my $words (in_short([$evil], [$evil, $evil, $evil], ["--$evil"], ["-$evil"], ['--by', $evil], ['--limit', $evil, $snapshot{'1 '}],
        ['--color', $evil], ["--color=$evil"], ['--memory', $evil], ['--format', $evil, $snapshot{'1 '}], ['--format', 'dot', '-o', "/nowhere/$evil", $snapshot{'1 '}],
        ['-o', "/nowhere/$evil", ($snapshot{'1 '}) x 3], ['--at', $evil], ['--size', $evil], ['--object', $evil, '--format', 'dot', '-o', '-', $snapshot{'1 '}],
        ['--type', $evil, ($snapshot{'1 '}) x 3], ['--width', $evil, $snapshot{'1 '}], ['--snapshot', $evil, $evil], ['--min', $evil, ($snapshot{'1 '}) x 3])) {
        my ($out, $err, $status) = Sample::run('', "$build/$tool", @$words);
        push @wrong, map { "@$words: $_" =~ s/[^ -~]/./gr } grep { $_ } wrong($out), wrong($err);
        push @wrong, "status $status: $err" if $status !~ /^[012]$/;
    }
    is_fine "$tool with words that mean harm", @wrong;
}

# Files beside a snapshot, or that a command reads, and what is wrong with them.
{
    my $file = "$directory/declared.snap";
    my @wrong;
    for my $line ($evil =~ s/\n//r, "0x5f02300 $evil", "0x5f02300 struct $evil", "site $evil", "$evil $evil $evil", "0x5f02300\t$evil") {
        system 'cp', $snapshot{'0 '}, $file;
        open my $out, '>', "$file.types" or die $!;
        print $out "$line\n";
        close $out;
        chmod 0600, "$file.types";
        for my $words (['info'], ['istype'], ['count']) {
            my ($said, $err) = Sample::run('', "$build/heapsh", $file, @$words);
            push @wrong, map { "$line: $_" =~ s/[^ -~]/./gr } grep { $_ } wrong($said), wrong($err);
        }
        for (['leaks', '--suppressions', "$file.types"], ['source', "$file.types"]) {
            my ($said, $err) = Sample::run('', "$build/heapsh", '-q', $snapshot{'1 '}, @$_);
            push @wrong, map { "$line: @$_: $_" =~ s/[^ -~]/./gr } grep { $_ } wrong($said), wrong($err);
        }
    }
    is_fine 'declarations, suppressions and scripts', @wrong;
}

# --- tools -----------------------------------------------------------------------------------

my %file = (
    'heapsh-diff' => [\'series 0', \'series 1'], 'heapsh-evolution' => [\'series 0', \'series 1', \'series 2'],
    'heapsh-leakreport' => [\'series 0', \'series 1', \'series 2'], 'heapsh-report' => [\'series 0', \'series 1', \'series 2'],
    'heapsh-unfreed' => [\'typed'],
);
for my $tool (sort keys %file) {
    (my $synopsis = $usage{$tool}) =~ s/\Ausage: \S+|\n(?=\S).*//sg;
    for my $way (ways($synopsis =~ s/\s[A-Z]+(\s+[A-Z.]+)*\s*$//r =~ s/\n/ /gr)) {
        next if $way =~ /--(png|output)/;
        my %option = (
            csv => $way =~ /csv/ ? 1 : 0,
            json => $way =~ /json/ ? 1 : 0,
            colours => $way =~ /always/ ? 1 : 0,
        );
        $option{check} = \&xml if $way =~ /--svg/;
        $option{check} = \&html if $way =~ /--html/ || $tool eq 'heapsh-report';
        is_fine "$tool $way, names $_", compare($_, '', %option, command => ["$build/$tool", (split ' ', $way), $tool eq 'heapsh-report' ? ('-o', '/dev/stdout') : (), @{ $file{$tool} }])
            for 1, 2;
    }
}

# A trace: of a program whose file's name means harm, and so is the name of the trace.
{
    my $name = $evil =~ s/[\/\xff]//gr =~ s/\x9b31m//r;
    my ($program, $trace) = ("$directory/$name", "$directory/$name.trace");
    system('cp', "$build/t/programs/trace-history", $program) == 0 or die 'cp';
    {
        local $ENV{HEAPSNAP_TRACE} = $trace;
        is((Sample::run('', "$build/heapsnap", 'run', '--', $program, 'leak'))[2], 0, 'a trace of it');
    }
    my (@wrong, $told);
    for my $way ('', '--sites', '--tree', '--callers', '--timeline', '--lifetimes', '--json', '--json --tree', '--json --sites', '--html', '--sites --frame *') {
        my ($out, $err, $status) = Sample::run('', "$build/heapsh-trace", (split ' ', $way), $trace);
        push @wrong, map { "$way: $_" } grep { $_ } wrong($out, tabs => $way eq '--html'), wrong($err);
        push @wrong, "$way: status $status: $err" if $status;
        $told++ if $out =~ /owned/;
    }
    is_fine 'heapsh-trace', @wrong;
    cmp_ok $told, '>=', 8, 'which has told the name';
}

# --- exports ---------------------------------------------------------------------------------

my %check = (
    graphml => \&xml, csv => \&csv, rows => \&gunzip, object_rows => \&gunzip, edge_rows => \&gunzip,
    heapsnapshot => \&json, speedscope => \&json, collapsed => \&collapsed, pprof => \&gunzip_texts, perfetto => \&protobuf_texts, hprof => \&hprof_texts, sqlite => \&sqlite, dot => \&dot,
);
my ($formats) = $usage{'heapsh-export'} =~ /^formats: (.*)/m;
for my $format (split ' ', $formats) {
    ok $check{$format}, "$format has a check here" or next;
    for my $kind ('', 'typed') {
        for my $by ('sites', 'owners') {
            for my $number ($ENV{SHORT} ? 1 : (1, 2)) {
                my (@wrong, @rows);
                for my $each ($number, $twin{$number}) {
                    my $to = "$directory/export-$each";
                    system 'rm', '-rf', $to;
                    my ($out, $err, $status) = Sample::run('', "$build/heapsh-export", '--format', $format, '--by', $by, '-o', $to, $snapshot{"$each $kind"});
                    push @wrong, "status $status: $err" if $status;
                    push @wrong, grep { $_ } wrong($err);
                    my ($rows, @found) = $check{$format}->($to);
                    push @rows, $rows;
                    push @wrong, grep { $_ } @found if $each == $number;
                }
                push @wrong, "rows: $rows[0], not $rows[1]" if $rows[0] ne $rows[1];
                is_fine "$format --by $by, $kind, names $number", @wrong;
            }
        }
    }
}

sub slurp { my ($what) = @_; return $what =~ m{\A/[^\n]*\z} && -e $what ? Sample::content($what) : $what }

sub xml {
    my $text = slurp(@_);
    open my $out, '>', "$directory/x.xml" or die $!;
    print $out $text;
    close $out;
    my $said = -x '/usr/bin/xmllint' ? `xmllint --noout --nonet $directory/x.xml 2>&1` : '';
    my @wrong = (wrong($text), $? ? substr $said, 0, 300 : '', $text =~ /(<img|<script|<\/script)/ ? "$1 is not escaped" : '');
    return @_ && $_[0] =~ m{\A/} ? (scalar(() = $text =~ /<node|<edge/g), @wrong) : @wrong;
}

# In a page there is nothing but its own elements, and data that ends no script.
sub html {
    my ($text) = @_;
    my @wrong = wrong($text =~ s/\t//gr);
    push @wrong, 'an element of others' if $text =~ /<img src=x/;
    for ($text =~ m{<script type="application/json"[^>]*>(.*?)</script>}sg) {
        push @wrong, "no JSON: $@" if !eval { JSON::PP->new->utf8->decode($_); 1 };
    }
    return @wrong;
}

sub json {
    my $text = slurp(@_);
    my $value = eval { JSON::PP->new->utf8->decode($text) };
    my $rows = !$value ? 0 : $value->{nodes} ? scalar @{ $value->{nodes} } : scalar map { @{ $_->{samples} } } @{ $value->{profiles} };
    return ($rows, wrong($text), $value ? '' : "no JSON: $@");
}

# Fields by RFC 4180: as many in each row, none that a spreadsheet evaluates.
sub csv {
    my ($from) = @_;
    my ($rows, @wrong) = (0);
    for my $file (glob "$from/*.csv") {
        my $text = Sample::content($file);
        push @wrong, wrong($text, csv => 1);
        my $columns;
        for my $line (split /\r\n/, $text) {
            my @field;
            push @field, $1 // $2 while $line =~ /\G(?:"((?:[^"]|"")*)"|([^",]*))(?:,|$)/gc && length($line) > (pos($line) // 0);
            push @wrong, "$file: a formula" if grep { /^[=+\-@]/ } @field;
            my $commas = ($line =~ s/"(?:[^"]|"")*"//gr) =~ tr/,//;
            $columns //= $commas;
            push @wrong, "$file: $commas commas, not $columns" if $commas != $columns;
            $rows++;
        }
    }
    return ($rows, @wrong);
}

sub unzipped { my ($path) = @_; my $text = `gzip -dc < $path`; return $text }

sub gunzip {
    my $text = unzipped(@_);
    my %columns = map { tr/\t// => 1 } split /\n/, $text;
    return (rows($text) . ' of ' . join(' ', sort keys %columns), wrong($text =~ s/\t/ /gr));
}

# Its table of texts, field 6: nothing else of it is text.
sub gunzip_texts {
    my $bytes = unzipped(@_);
    my ($rows, @wrong) = (0);
    while (length $bytes) {
        my $key = varint(\$bytes);
        my $value = varint(\$bytes);
        next if ($key & 7) != 2;
        my $text = substr $bytes, 0, $value, '';
        next if $key >> 3 != 6;
        $rows++;
        push @wrong, wrong($text);
    }
    return ($rows, @wrong);
}

# Names of types and fields, in the graphs of a trace.
sub protobuf_texts {
    my ($rows, @wrong) = (0);
    for my $packet (all(1, fields(Sample::content($_[0])))) {
        for my $graph (all(56, fields($packet))) {
            my @names = ((map { one(3, fields($_)) } all(9, fields($graph))), map { one(2, fields($_)) } all(4, fields($graph)));
            $rows += @names;
            push @wrong, map { wrong($_) } @names;
        }
    }
    return ($rows, @wrong);
}

sub hprof_texts {
    my ($bytes, $rows, @wrong) = (slurp(@_), 0);
    substr $bytes, 0, 31, '';
    while (length $bytes) {
        my ($tag, undef, $size) = unpack 'C N N', substr $bytes, 0, 9, '';
        my $record = substr $bytes, 0, $size, '';
        $rows++ if $tag == 2; # classes
        push @wrong, wrong(substr $record, 8) if $tag == 1;
    }
    return ($rows, @wrong);
}

sub collapsed {
    my $text = slurp(@_);
    my @bad = grep { !/^[^;]+(;[^;]+)* \d+$/ } split /\n/, $text;
    my $frames = () = $text =~ /;/g;
    return (rows($text) . " of $frames", wrong($text), @bad ? "not a stack: $bad[0]" : '');
}

sub dot {
    my $text = slurp(@_);
    my @bad = grep { !/^\t?(?:[\w ,=";\[\]{}.-]|->|"(?:[^"\\]|\\.)*")*$/ } split /\n/, $text;
    return (rows($text), wrong($text =~ s/^\t//gmr), @bad ? "not a statement: $bad[0]" : '');
}

sub sqlite {
    my ($path) = @_;
    my ($rows, @wrong) = (0);
    my $text = `sqlite3 -readonly $path .dump 2>&1`;
    return ('no sqlite3') if $?;
    push @wrong, wrong($text =~ s/\t//gr);
    return (scalar(() = $text =~ /^INSERT/gm), @wrong);
}

done_testing;
