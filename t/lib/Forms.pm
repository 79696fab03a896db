# SPDX-License-Identifier: GPL-3.0-or-later
package Forms;

# One small program (t/forms), with its debug information in each form that compilers, linkers
# and distributions give it. What is known of its heap is the same each time, or what is
# missing is said.
#
#	form('gcc, DWARF 5', compiler => 'gcc', flags => '-g -gdwarf-5');
#	form('served', compiler => 'gcc', after => 'strip app', before => sub { wait_for_server() });
#	form('none', compiler => 'gcc', flags => '-g0', check => \&check_symbols);

use strict;
use warnings;
use Cwd qw(abs_path);
use Exporter qw(import);
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;
use Time::HiRes qw(sleep);
use Tools;

# ccache may give back an object that names the directory of another run, where no .dwo is left.
$ENV{CCACHE_DISABLE} = 1;

my $sources = abs_path('t/forms');
my @units = qw(app other library);
our $directory;    # where the form at hand is built
our @EXPORT = qw(form build capture note_of check_sites check_frames %line $directory);

# Lines that the sources mark: "// site: NAME", "// type: NAME".
our %line;
for my $file (map({ "$_.c" } @units), 'shared.h') {
    open my $in, '<', "$sources/$file" or die "$file: $!";
    while (<$in>) { $line{$1} = "$file:$." if m{// (?:site|type): (.+)$} }
}

sub run {
    my ($command) = @_;
    return 1 if system("cd '$directory' && { $command; } >.log 2>&1") == 0;
    open my $in, '<', "$directory/.log";
    local $/;
    diag("$command: " . (<$in> // ''));
    return 0;
}

# Compiles and links the program and its library; then what else the form asks for.
sub build {
    my (%form) = @_;
    my $flags = $form{flags} // '-g';
    my $link = $form{link} // '';
    for my $unit (@units) {
        my $own = $form{flags_of}{$unit} // $flags;
        return 0 unless run("$form{compiler} -O1 $own -fPIC -c $sources/$unit.c");
    }
    my $library = q{-L. -l:liblibrary.so -Wl,-rpath,'$ORIGIN' -Wl,--build-id};
    return
           run("$form{compiler} $flags -O1 $link -shared -Wl,--build-id -Wl,-soname,liblibrary.so -o liblibrary.so library.o")
        && run("$form{compiler} $flags -O1 $link -o app app.o other.o $library")
        && (!$form{after} || run($form{after}));
}

sub capture {
    Heapsh::make_cache("$directory/cache") if !-e "$directory/cache";
    my $program = Heapsh->start("$directory/app", env => { XDG_CACHE_HOME => "$directory/cache" });
    # It is to be found where it waits for input, not on the way there.
    my $file = $program->await_sleep->capture;
    $program->finish;
    Heapsh::keep_cache("$directory/cache");
    return $file;
}

my %modules;    # of each snapshot

sub note_of {
    my ($file, $name) = @_;
    my ($module) = grep { $_->{path} =~ m{/$name$} } @{ $modules{$file} //= Heapsh::ask_json($file, 'info')->{modules} };
    return $module->{note};
}

my %types = (
    'struct node'    => 23,
    'struct session' => 7,
    'struct part'    => 8,
    'struct engine'  => 14,
    "struct options ($line{'app options'})"   => 2,
    "struct options ($line{'other options'})" => 4,
);
my %sites = (
    "session_new ($line{session_new})"             => 7,
    "session_new ($line{part})"                    => 7,
    "engine_new ($line{engine_new})"               => 7,
    "engine_new ($line{'engine_new, spare'})"      => 7,
    "node_push ($line{node_push})"                 => 23,
    "other_fill ($line{other_fill})"               => 4,
    "other_wait ($line{other_wait})"               => 1,
    "wait_for_the_end ($line{wait_for_the_end})"   => 1,
    "main ($line{main})"                           => 1,
    "main ($line{'main, path'})"                   => 1,
);

sub check_sites {
    my ($file) = @_;
    my %found;
    $found{ $_->{site} } += $_->{objects} for @{ Heapsh::ask_json($file, 'sites') };
    is_deeply \%found, \%sites, 'sites have functions, files and lines';
}

sub check_frames {
    my ($file) = @_;
    my ($thread) = @{ Heapsh::ask_json($file, 'callstack') };
    my %place = map { $_->{function} => "$_->{file}:$_->{line}" } @{ $thread->{frames} };
    is $place{other_wait}, $line{'other_wait, pc'}, 'a frame has its line';
    is $place{wait_for_the_end}, $line{'wait_for_the_end, pc'}, 'and the one that it returns to';
    return $thread;
}

sub check_types {
    my ($file) = @_;
    my %found = map { $_->{type} => $_->{objects} } @{ Heapsh::ask_json($file, 'count') };
    is_deeply { map { $_ => $found{$_} } keys %types }, \%types, 'objects by type';
    my @names = ('struct session', 'struct node', 'struct part', 'struct engine');
    my %text;
    @text{@names} = Heapsh::ask_lines($file, map { "types '$_'" } @names);
    like $text{'struct session'}, qr/\Astruct session \{
\tstruct session \*next; .*
\tstruct engine \*engine; .*
\tstruct part \*part; .*
\tchar name\[24\]; .*
\}; \/\* 48 bytes, \Q$line{session}\E; 7 objects/, 'a type with its members and place';
    for my $name ('struct node', 'struct session', 'struct part') {
        my @found = grep { /^\Q$name\E \{/ } split /\n/, $text{$name};
        is scalar(@found), 1, "one $name of several units";
    }
    my @engines = split /\n/, $text{'struct engine'};
    is scalar(grep { /^struct engine/ } @engines), 1, 'one type of what all units declare';
    ok scalar(grep { /double power;/ } @engines), 'defined in another module';
}

sub check_variables {
    my ($file) = @_;
    my %variable = map { $_->{root}{name} => $_ } grep { $_->{root} } @{ Heapsh::ask_json($file, 'roots', '--all') };
    for my $name (qw(sessions list options other_list other_options)) {
        my $root = $variable{$name}{root} // {};
        is $root->{kind}, 'global', "the variable $name";
    }
    like Heapsh::ask($file, 'show', '&sessions'),
        qr/^the global variable sessions \(\Q$line{sessions}\E, app\), struct session \* at/,
        'its place and type';
}

sub check_locals {
    my ($thread) = @_;
    my %locals;
    for my $frame (@{ $thread->{frames} }) {
        $locals{ $frame->{function} }{ $_->{name} } = $_->{type} for @{ $frame->{locals} || [] };
    }
    is $locals{other_wait}{spare}, 'struct part *', 'a local variable';
    is $locals{other_wait}{held}, 'struct session *', 'a parameter';
    is $locals{wait_for_the_end}{local}, "struct options ($line{'app options'}) *",
        'a local of the caller';
}

# All that a complete form must give.
sub check_all {
    my ($file) = @_;
    check_types($file);
    check_sites($file);
    check_variables($file);
    check_locals(check_frames($file));
    is note_of($file, $_), '', "nothing is missing of $_" for qw(app liblibrary.so);
}

sub form {
    my ($name, %form) = @_;
    for my $needed ((split ' ', $form{compiler})[0], @{ $form{needs} || [] }) {
        next if has($needed);
        diag("$name: no $needed");
        return;
    }
    $directory = tempdir(CLEANUP => 1);
    subtest $name => sub {
        ok build(%form), 'is built' or return;
        $form{before}->() if $form{before};
        my $file = capture();
        ($form{check} || \&check_all)->($file);
    };
}

1;
