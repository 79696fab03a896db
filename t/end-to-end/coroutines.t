#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Frames of C++ coroutines: objects on the heap that hold a function's parameters and variables.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;

my $source = <<'END';
#include "dumper/heapsnap.h"
#include <coroutine>
#include <string>
#include <vector>

struct task {
	struct promise_type {
		task get_return_object() { return { std::coroutine_handle<promise_type>::from_promise(*this) }; }
		std::suspend_never initial_suspend() { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() {}
		int step = 7;
	};
	std::coroutine_handle<promise_type> handle;
};

namespace server {
task answer(std::string question, int size)
{
	std::vector<int> numbers(size);
	co_await std::suspend_always{};
	numbers.push_back(question.size());
}
}

task listen(int port)
{
	long accepted = port;
	co_await std::suspend_always{};
	accepted++;
}

std::vector<task> tasks;

int main(int, char **argv)
{
	for (int i = 0; i < 100; i++)
		tasks.push_back(server::answer("a question that is too long for the object", 10));
	tasks.push_back(listen(8080));
	return heapsnap_dump(argv[1]) || heapsnap_wait();
}
END

my $directory = tempdir(CLEANUP => 1);
my $file = Heapsh::capture_source("$directory/coroutines.cc", 'g++ -std=c++20 -O1', text => $source);

like scalar(Heapsh::ask($file, 'find', '--count', 'type', 'answer.Frame')), qr/^Total: 100 objects,/,
    'frames have the name of their function';
like scalar(Heapsh::ask($file, 'find', '--count', 'type', 'listen.Frame')), qr/^Total: 1 object,/, 'each its own';
my $shown = Heapsh::ask($file, 'show', 'tasks[3].handle._M_fr_ptr');
like $shown, qr/^  question = "a question that is too long for the object"$/m, 'parameters are members';
like $shown, qr/^  numbers\w* = std::vector of 10 /m, 'and so are variables';
like $shown, qr/^  _Coro_resume_fn = answer \(coroutines\.cc:19\)$/m, 'and its code';
like scalar(Heapsh::ask($file, 'find', '--count', 'untyped')), qr/^Total: [01] objects?,/,
    'what frames hold is typed'; # libstdc++ has one block
done_testing;
