#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# One small program (t/forms), with its debug information in each form that compilers, linkers
# and distributions give it. What is known of its heap is the same each time, or what is
# missing is said.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;
use Time::HiRes qw(sleep);

my $sources = abs_path('t/forms');
my @units = qw(app other library);
my $directory;    # where the form at hand is built

# Lines that the sources mark: "// site: NAME", "// type: NAME".
my %line;
for my $file (map({ "$_.c" } @units), 'shared.h') {
    open my $in, '<', "$sources/$file" or die "$file: $!";
    while (<$in>) { $line{$1} = "$file:$." if m{// (?:site|type): (.+)$} }
}

sub has { return system("command -v $_[0] >/dev/null 2>&1") == 0 }

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

# It is to be found where it waits for input, not on the way there.
sub wait_until_asleep {
    my ($pid) = @_;
    for (1 .. 1000) {
        open my $in, '<', "/proc/$pid/stat" or return;
        return if <$in> =~ /\) S /;
        sleep 0.01;
    }
}

sub capture {
    my $program = Heapsh->start("$directory/app", env => { XDG_CACHE_HOME => "$directory/cache" });
    wait_until_asleep($program->pid);
    my $file = $program->capture;
    $program->finish;
    return $file;
}

sub note_of {
    my ($file, $name) = @_;
    my ($module) = grep { $_->{path} =~ m{/$name$} } @{ Heapsh::ask_json($file, 'info')->{modules} };
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
    like Heapsh::ask($file, 'types', 'struct session'), qr/\Astruct session \{
\tstruct session \*next; .*
\tstruct engine \*engine; .*
\tstruct part \*part; .*
\tchar name\[24\]; .*
\}; \/\* 48 bytes, \Q$line{session}\E; 7 objects/, 'a type with its members and place';
    for my $name ('struct node', 'struct session', 'struct part') {
        my @found = grep { /^\Q$name\E \{/ } Heapsh::ask($file, 'types', $name);
        is scalar(@found), 1, "one $name of several units";
    }
    my @engines = Heapsh::ask($file, 'types', 'struct engine');
    is scalar(grep { /^struct engine/ } @engines), 1, 'one type of what all units declare';
    ok scalar(grep { /double power;/ } @engines), 'defined in another module';
}

sub check_variables {
    my ($file) = @_;
    my %variable = map { $_->{root}{name} => $_ } @{ Heapsh::ask_json($file, 'roots', '--all') };
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
        my $file = capture();
        ($form{check} || \&check_all)->($file);
    };
}

# --- DWARF 4 and 5, in the file itself -------------------------------------------------------

my $split = '-gsplit-dwarf';
for my $compiler (qw(gcc clang)) {
    for my $version (4, 5) {
        my $g = "-g -gdwarf-$version";
        my $name = "$compiler, DWARF $version";
        my @common = (compiler => $compiler);

        form($name, @common, flags => $g);
        form("$name, type units", @common, flags => "$g -fdebug-types-section");
        form("$name, compressed", @common, flags => "$g -gz=zlib", link => '-gz=zlib');
        form("$name, 64 bits", @common, flags => "$g -gdwarf64") if $compiler eq 'gcc';
        form("$name, split", @common, flags => "$g $split");
        form("$name, split, type units", @common, flags => "$g $split -fdebug-types-section");
        for my $dwp (qw(dwp llvm-dwp-14)) {
            # binutils' dwp knows GNU's extension alone.
            next if $version == 5 && $dwp eq 'dwp';
            for my $types ('', ' -fdebug-types-section') {
                form("$name, packed by $dwp$types", @common,
                    flags => "$g $split$types", needs => [$dwp],
                    after => "$dwp -e app -o app.dwp && "
                        . "$dwp -e liblibrary.so -o liblibrary.so.dwp && rm *.dwo");
            }
        }
    }
}
# --- what else compilers and linkers may do -----------------------------------------------------

form('gcc, with macros', compiler => 'gcc', flags => '-g3');
form('clang, with macros', compiler => 'clang', flags => '-g -fdebug-macro');
form('compressed the old way', compiler => 'gcc', flags => '-g -gdwarf-4',
    after => 'for f in app liblibrary.so; do objcopy --compress-debug-sections=zlib-gnu $f; done');
form('at a fixed address', compiler => 'gcc', flags => '-g -no-pie', link => '');
form('a section for each function', compiler => 'clang', needs => ['ld.lld'],
    flags => '-g -ffunction-sections -fdata-sections',
    link => '-fuse-ld=lld -Wl,--gc-sections,--icf=all');
form('linked by gold, with an index', compiler => 'gcc', needs => ['ld.gold'],
    flags => '-g -ggnu-pubnames', link => '-fuse-ld=gold -Wl,--gdb-index');
form('a frame pointer and no unwind tables', compiler => 'gcc',
    flags => '-g -fno-asynchronous-unwind-tables');

# --- in files of its own ---------------------------------------------------------------------

my $each = 'for f in app liblibrary.so; do';
my $separate = "$each objcopy --only-keep-debug \$f \$f.debug";
form('a separate file, by its name', compiler => 'gcc',
    after => "$separate && strip \$f && objcopy --add-gnu-debuglink=\$f.debug \$f; done");
form('a separate file, in .debug/', compiler => 'clang',
    after => "mkdir .debug; $separate && mv \$f.debug .debug && strip \$f && "
        . "objcopy --add-gnu-debuglink=.debug/\$f.debug \$f; done");
form('a separate file, compressed', compiler => 'gcc',
    after => "$separate && objcopy --compress-debug-sections=zlib \$f.debug && "
        . "strip \$f && objcopy --add-gnu-debuglink=\$f.debug \$f; done");
form('a separate file and split units', compiler => 'gcc', flags => '-g -gsplit-dwarf',
    after => "$separate && strip \$f && objcopy --add-gnu-debuglink=\$f.debug \$f; done");
form('a separate file and a package', compiler => 'clang', flags => '-g -gdwarf-5 -gsplit-dwarf',
    needs => ['llvm-dwp-14'],
    after => "$separate && llvm-dwp-14 -e \$f -o \$f.dwp && "
        . "strip \$f && objcopy --add-gnu-debuglink=\$f.debug \$f; done; rm *.dwo");
form('in objects, which have both', compiler => 'clang', flags => '-g -gdwarf-5 -gsplit-dwarf=single');
form('a separate file that is of another build', compiler => 'gcc',
    after => "$separate && strip \$f && objcopy --add-gnu-debuglink=\$f.debug \$f && "
        . "echo >>\$f.debug; done",
    check => sub { is note_of($_[0], 'app'), 'no debug information', 'is not believed' });

# --- what several units have in common, put together by dwz -----------------------------------

for my $version (4, 5) {
    my @common = (compiler => 'gcc', flags => "-g -gdwarf-$version", needs => ['dwz']);
    form("dwz, DWARF $version", @common, after => 'dwz app && dwz liblibrary.so');
    form("dwz -m, DWARF $version", @common, after => 'dwz -m common.debug app liblibrary.so');
    form("dwz -m, DWARF $version, clang", @common, compiler => 'clang',
        after => 'dwz -m common.debug app liblibrary.so') if $version == 4;
    form("dwz -m, DWARF $version, relative name", @common,
        after => 'dwz -r -m common.debug app liblibrary.so');
}
form('dwz --dwarf-5 -m', compiler => 'gcc', flags => '-g -gdwarf-5', needs => ['dwz'],
    after => 'dwz --dwarf-5 -m common.debug app liblibrary.so');

# As Debian packages it: what is common to all in a file of its own, and the rest apart.
form('dwz -m, in separate files', compiler => 'gcc', flags => '-g', needs => ['dwz'],
    after => "dwz -m common.debug app liblibrary.so && $separate && strip \$f && "
        . "objcopy --add-gnu-debuglink=\$f.debug \$f; done");

# --- optimized by the linker --------------------------------------------------------------------

form('gcc -flto', compiler => 'gcc', flags => '-g -flto', link => '-O2');
form('gcc -flto, DWARF 4', compiler => 'gcc', flags => '-g -gdwarf-4 -flto');
form('clang -flto', compiler => 'clang', needs => ['ld.lld'], flags => '-g -flto',
    link => '-fuse-ld=lld');
form('clang -flto=thin', compiler => 'clang', needs => ['ld.lld'], flags => '-g -flto=thin',
    link => '-fuse-ld=lld');

# --- less than all -------------------------------------------------------------------------------

sub check_lines {
    my ($file) = @_;
    check_sites($file);
    check_frames($file);
    is note_of($file, $_), 'lines only (no types)', "what is missing of $_" for qw(app liblibrary.so);
}

sub check_symbols {
    my ($file) = @_;
    my %found;
    for my $site (@{ Heapsh::ask_json($file, 'sites') }) {
        like $site->{site}, qr/^\w+\+0x[0-9a-f]+ \((app|liblibrary\.so)\)$/, 'function and offset';
        $found{ $site->{site} =~ s/\+.*//r } += $site->{objects};
    }
    is_deeply \%found, { session_new => 14, engine_new => 14, main => 22, other_fill => 7,
        other_wait => 1, wait_for_the_end => 1 }, 'sites by symbol';
    is note_of($file, $_), 'no debug information', "what is missing of $_" for qw(app liblibrary.so);
}

form('gcc -g1', compiler => 'gcc', flags => '-g1', check => \&check_lines);
form('gcc -g1, DWARF 4', compiler => 'gcc', flags => '-gdwarf-4 -g1', check => \&check_lines);
form('clang -gline-tables-only', compiler => 'clang', flags => '-gline-tables-only',
    check => \&check_lines);
form('clang -g1, DWARF 4', compiler => 'clang', flags => '-gdwarf-4 -g1', check => \&check_lines);
form('none', compiler => 'gcc', flags => '-g0', check => \&check_symbols);
form('stripped of it', compiler => 'gcc', after => 'strip -g app liblibrary.so',
    check => \&check_symbols);
form('dynamic symbols alone', compiler => 'gcc', flags => '-g0', link => '-rdynamic',
    after => 'strip app liblibrary.so', check => sub {
        my ($file) = @_;
        my %found = map { $_->{site} =~ s/\+.*//r => 1 } @{ Heapsh::ask_json($file, 'sites') };
        ok $found{session_new} && $found{engine_new}, 'sites by symbol';
        is note_of($file, 'app'), 'no debug information', 'what is missing';
    });
form('symbols that are packed', compiler => 'gcc', flags => '-g0',
    after => 'echo >packed && strip app && objcopy --add-section .gnu_debugdata=packed app',
    check => sub {
        is note_of($_[0], 'app'), 'no debug information (and .gnu_debugdata is not read)', 'are said';
        like $_->{site}, qr/^(engine_new\+0x|app\+0x|liblibrary)/, 'sites by module'
            for @{ Heapsh::ask_json($_[0], 'sites') };
    });
form('of one unit of several', compiler => 'gcc', flags_of => { app => '-g0' }, check => sub {
    my ($file) = @_;
    my %found = map { $_->{type} => $_->{objects} } @{ Heapsh::ask_json($file, 'count') };
    my $options = "struct options ($line{'other options'})";
    is $found{$options} // $found{'struct options'}, 4, 'types of the others';
    ok scalar(grep { $_->{site} =~ /^main\+0x/ } @{ Heapsh::ask_json($file, 'sites') }),
        'sites by symbol and by line';
    is note_of($file, 'app'), '', 'nothing is missing of what was written';
});

sub check_note {
    my ($expected) = @_;
    return sub {
        my ($file) = @_;
        is note_of($file, 'app'), $expected, 'what is missing';
        check_frames($file);
    };
}

form('split units that are not there', compiler => 'gcc', flags => '-g -gdwarf-5 -gsplit-dwarf',
    after => 'rm other.dwo',
    check => sub {
        is note_of($_[0], 'app'), 'split debug information: other.dwo not found', 'is said';
        my %found = map { $_->{type} => $_->{objects} } @{ Heapsh::ask_json($_[0], 'count') };
        is $found{'struct node'}, 20, 'types of the others';
    });
form('split units that are of another build', compiler => 'clang',
    flags => '-g -gdwarf-4 -gsplit-dwarf', after => 'cp other.dwo app.dwo; rm other.dwo',
    check => sub {
        is note_of($_[0], 'app'), 'split debug information: app.dwo and 1 more not found',
            'are not believed';
    });
form('an alternate file that is not there', compiler => 'gcc', needs => ['dwz'],
    after => 'dwz -m common.debug app liblibrary.so && rm common.debug',
    check => sub {
        like note_of($_[0], 'app'), qr/^alternate file \S*common\.debug not found$/, 'is said';
    });

# Nothing here writes zstd; a section that says it is needs not be so.
sub claim_zstd {
    my ($path) = @_;
    open my $file, '+<:raw', $path or die "$path: $!";
    local $/;
    my $bytes = <$file>;
    my ($headers, $size, $count) = unpack 'x40 Q x10 S S', $bytes;
    for my $i (0 .. $count - 1) {
        my ($flags, $offset) = unpack 'x8 Q x8 Q', substr $bytes, $headers + $i * $size, $size;
        substr($bytes, $offset, 4) = pack 'L', 2 if $flags & 0x800;
    }
    seek $file, 0, 0;
    print $file $bytes;
}

subtest 'compressed with zstd' => sub {
    $directory = tempdir(CLEANUP => 1);
    ok build(compiler => 'gcc', flags => '-g -gz=zlib', link => '-gz=zlib'), 'is built' or return;
    claim_zstd("$directory/app");
    my $file = capture();
    is note_of($file, 'app'), 'zstd-compressed sections cannot be read', 'is said';
    my %found = map { $_->{site} =~ s/\+.*//r => 1 } @{ Heapsh::ask_json($file, 'sites') };
    ok $found{session_new}, 'sites by symbol';
};
done_testing;
