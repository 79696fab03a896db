#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The traces of trace.t, of programs whose blocks have no headers.
use strict;
use warnings;

our @options = '--no-snapshots';
do './t/capture/trace.t' or die $@ || $!;
