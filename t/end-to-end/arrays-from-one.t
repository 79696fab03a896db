#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Known heaps of Fortran and Ada, whose arrays begin at 1 and may have their elements elsewhere.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Tools;
use File::Temp qw(tempdir);
use Test::More;

my $directory = tempdir(CLEANUP => 1);

# Builds a program, and captures it. Their runtimes have handlers of their own for SIGQUIT.
sub capture_of {
    my ($command, $name, $text) = @_;
    Heapsh::write_file("$directory/$name", $text);
    system("cd $directory && $command $name >output 2>&1") == 0 or die "$command $name";
    my $program = Heapsh->start("$directory/program", run => [ '--signal', 'USR2' ]);
    $program->await_sleep;
    my $file = $program->capture('USR2');
    $program->finish;
    return $file;
}

sub show_without_addresses { return Heapsh::ask(@_) =~ s/0x[0-9a-f]+/X/gr }

SKIP: {
    skip 'no gfortran', 3 unless has('gfortran');

    my $file = capture_of('gfortran -g -o program', 'shelves.f90', <<'END');
module shelves
  type book
    integer :: number
    real(8), allocatable :: pages(:)
    integer :: tail
  end type
  type entry
    type(book), pointer :: book => null()
  end type
  type(entry), save :: table(3), given(-2:1)
  type(book), pointer :: last => null()
end module
program p
  use shelves
  integer :: i
  do i = 1, 3
    allocate(table(i)%book); table(i)%book%number = i; table(i)%book%tail = 99
    allocate(table(i)%book%pages(20)); table(i)%book%pages = 3.5d0
  end do
  do i = -2, 1
    allocate(given(i)%book); given(i)%book%number = i
  end do
  allocate(last)
  print '(a)', 'ready'
  flush(6)
  read *
end program
END
    my $elements = join '', map "    [$_] = {\n      book = struct shelves::book at X\n    }\n", 0 .. 2;

    like show_without_addresses($file, 'show', 'table'), qr/struct shelves::entry\[3\] at X, 24 B\n  value = \{\n\Q$elements\E  \}\n/,
        'an array of Fortran begins at 1';
    like show_without_addresses($file, 'show', 'table[0].book'),
        qr/\n  number = 1\n  pages = real\(kind=8\)\[20\] at X\n  tail = 99\n/, 'an allocatable component leads to its elements';
    is Heapsh::ask($file, 'find', '--count', 'type', 'real(kind=8)'), "Total: 3 objects, 480 B\n",
        'which have their type';
}

# Strings have no zero at their end.
SKIP: {
    skip 'no gfortran', 2 unless has('gfortran');

    my $file = capture_of('gfortran -g -o program', 'people.f90', <<'END');
module people
  type person
    character(len=:), allocatable :: name
    character(len=12) :: code
  end type
  type(person), allocatable, save :: all(:)
end module
program p
  use people
  character(len=20) :: text
  integer :: i
  allocate(all(100))
  do i = 1, 100
    write (text, '(a,i0)') 'person ', i
    all(i)%name = trim(text); all(i)%code = 'code'
  end do
  print '(a)', 'ready'
  flush(6)
  read *
end program
END
    is Heapsh::ask($file, 'find', '--count', 'type', 'character'), "Total: 100 objects, 892 B\n",
        'strings of any length are texts';
    like show_without_addresses($file, 'show', 'all[1]'),
        qr/  name = character\[8\] "person 2" at X\n  code = "code        "\n/, 'and so are those of one length';
}

SKIP: {
    skip 'no gnatmake', 2 unless has('gnatmake');

    my $file = capture_of('gnatmake -g -o program', 'lists.adb', <<'END');
with Ada.Text_IO; use Ada.Text_IO;
procedure Lists is
   type R is record A, B : Integer; end record; type P is access R;
   type Q_Rec is record C, D, E : Integer; end record; type Q is access Q_Rec;
   type Arr is array (1 .. 3) of P;
   type Both is record X : Arr; Y : Q; end record; type BP is access Both;
   B : BP := new Both;
begin
   for I in 1 .. 3 loop B.X (I) := new R'(I, 0); end loop;
   B.Y := new Q_Rec'(7, 8, 9);
   Put_Line ("ready"); Flush;
   Put_Line (Get_Line);
end Lists;
END
    is Heapsh::ask($file, 'find', '--count', 'type', 'lists__r'), "Total: 3 objects, 24 B\n",
        'an array of Ada is no longer than it is';
    is Heapsh::ask($file, 'find', '--count', 'type', 'lists__q_rec'), "Total: 1 object, 12 B\n",
        'what follows it has its own type';
}

done_testing;
