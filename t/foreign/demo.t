#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `make demo`'s script as a test, for machines that t/foreign starts.
echo 1..1
if scripts/demo >out/demo.log 2>&1; then
	echo 'ok 1 - the demo'
else
	echo 'not ok 1 - the demo'
	tail -n 20 out/demo.log | sed 's/^/# /'
fi
