#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The tab key: what is offered behind which words.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Sample;
use IO::Select;
use IPC::Open2;
use Test::More;

my $file = Sample::make();
my $heapsh = "$Sample::build/heapsh";
$ENV{TERM} = 'dumb';
$ENV{XDG_STATE_HOME} = "$Sample::directory/state";
# One word a line, and no question whether all of many are to be shown.
open my $inputrc, '>', "$Sample::directory/inputrc" or die $!;
print $inputrc "set completion-display-width 0\nset completion-query-items 0\nset page-completions off\nset show-all-if-ambiguous on\nset bell-style none\n";
close $inputrc;
$ENV{INPUTRC} = "$Sample::directory/inputrc";

my ($pid, $from, $to);
$SIG{ALRM} = sub { kill 'KILL', $pid if $pid; die "the prompt does not come back\n" };
alarm 600;

sub begin { $pid = open2($from, $to, "$Sample::build/t/helper/terminal", $heapsh, '-q', '--color=never', @_) }

sub await {
    my ($pattern) = @_;
    my $text = '';
    while ($text !~ $pattern) {
        last if !IO::Select->new($from)->can_read($Heapsh::patience);
        sysread($from, $text, 4096, length $text) or last;
        $text =~ tr/\r//d;
    }
    return $text;
}

# The completions of a line: the words that are listed, or the completed line.
sub offers {
    my ($line) = @_;
    syswrite $to, "$line\t";
    select undef, undef, undef, 0.1;
    syswrite $to, "\x15alias end x\n";    # drops the line; says nothing
    my $text = await(qr/alias end x\n.*> $/s);
    my @lines = split /\n/, $text =~ s/(?:\x08|alias end x).*//sr;
    my @list = grep { !/^\Q$line\E|^heapsh/ } @lines[1 .. $#lines];
    return @list ? join ' ', sort map { s/\s+$//r } @list : '=' . ($lines[0] // '');
}

begin($file);
await(qr/> $/);
syswrite $to, "find type table or type date\n";
await(qr/Total.*> $|\(\$2\)\n.*> $/s);
my %expected = (
    'find type '         => qr/^(?=.*struct node)(?=.*struct table)(?!.*enum mode)/,
    'find type struct t' => qr/table/,
    'find type mo'       => qr/mode/,
    'istype popular struct t' => qr/table/,
    'show '              => qr/^(?=.*list)(?=.*sample)(?!.*popular)/,    # of the program, not of a library
    'show pop'           => qr/popular/,
    'show &pop'          => qr/&popular/,
    'show popular->'     => qr/^count name slots$/,
    'show popular->sl'   => qr/slots/,
    'show popular.'      => qr/^popular\.count popular\.name popular\.slots$/,
    'show $'             => qr/^\$1 \$2$/,
    'show 0x'            => qr/^0x5f00100 0x5f00400$/,
    'path $1->'          => qr/^day month year$/,
    'find type node field '  => qr/^next value$/,
    'find type struct date field ' => qr/^day month year$/,
    'find field col'     => qr/colour/,
    'find field colour=' => qr/^BLUE GREEN RED$/,
    'find type all field mode=MODE_' => qr/^MODE_EXECUTE MODE_READ MODE_WRITE$/,
    'find points-to gre' => qr/greeting/,
    'find evidence v'    => qr/^vote vtable$/,
    'find local '         => qr/ring/,
    'find module '       => qr/^app libutility\.so$/,
    'find site cache_'   => qr/cache_insert/,
    'find --'            => qr/^--all --count --each --exact --ignore-case --json --limit --regex$/,
    'count --by '        => qr/^age module site size tag type$/,
    'callstack --thread ' => qr/^4242 4243$/,
    'retained '          => qr/^(?=.*list)(?=.*under)/,
    'help fi'            => qr/^filters find$/,
    'exp'                => qr/export/,
    'time cou'           => qr/count/,
    'export spe'         => qr/speedscope/,
);
like offers($_), $expected{$_}, "$_<TAB>" for sort keys %expected;
syswrite $to, "quit\n";
waitpid $pid, 0;

# The snapshots of a series.
begin(map { Sample::make('series', $_) } 0 .. 2);
await(qr/> $/);
like offers('go '), qr/^0 1 2$/, 'go <TAB>';
like offers('compare '), qr/^0 1 2$/, 'compare <TAB>';
like offers("compare $Sample::directory/sample-"), qr/sample-.*snap/, 'compare FILE<TAB>';
like offers("source $Sample::directory/inp"), qr/inputrc/, 'source FILE<TAB>';
syswrite $to, "quit\n";
waitpid $pid, 0;
done_testing;
