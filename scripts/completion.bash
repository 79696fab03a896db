# SPDX-License-Identifier: GPL-3.0-or-later
# Bash completion for heapsnap, heapsh and the batch tools.

_heapsnap()
{
	local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	if [ "$COMP_CWORD" = 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W 'run capture attach watch core list --help --version' -- "$word")
	elif [ "${COMP_WORDS[1]}" = capture ] && [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '--timeout --verbose' -- "$word")
	elif [ "${COMP_WORDS[1]}" = capture ]; then
		mapfile -t COMPREPLY < <(compgen -W "$(heapsnap list 2>/dev/null | awk '{ print $1 }')" -- "$word")
	elif [[ ${COMP_WORDS[1]} == @(attach|watch|core) && $previous == --types ]]; then
		mapfile -t COMPREPLY < <(compgen -W 'all none' -- "$word")
	elif [[ ${COMP_WORDS[1]} == @(attach|core) && $previous == --sysroot ]]; then
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
	elif [[ ${COMP_WORDS[1]} == @(attach|watch|core) && $previous == --@(file|exe) ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	elif [ "${COMP_WORDS[1]}" = attach ] && [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '--file --content --types --debuginfod --writer-time --' -- "$word")
	elif [ "${COMP_WORDS[1]}" = watch ] && [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '--before-oom --file --content --types --debuginfod --writer-time --' -- "$word")
	elif [ "${COMP_WORDS[1]}" = core ] && [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '--file --content --types --debuginfod --writer-time --sysroot --exe --' -- "$word")
	elif [[ ${COMP_WORDS[1]} == @(attach|watch) ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(heapsnap list --all 2>/dev/null | awk '{ print $1 }')" -- "$word")
	elif [ "${COMP_WORDS[1]}" = core ]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	elif [ "${COMP_WORDS[1]}" = list ]; then
		mapfile -t COMPREPLY < <(compgen -W '--all' -- "$word")
	elif [ "${COMP_WORDS[1]}" = run ] && [[ $previous == --signal || $previous == --trace-signal ]]; then
		mapfile -t COMPREPLY < <(compgen -A signal -- "$word")
	elif [ "${COMP_WORDS[1]}" = run ] && [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '--file --signal --content --types --stacks --trace --trace-signal --no-snapshots --oldest --rate --wrappers --every --growth
			--min-interval --before-oom --at-exit --at-exit=signals --at-exit=all --report-at-exit --report-limit
			--report-type --writer-time --debuginfod --keep --verbose --' -- "$word")
	elif [ "${COMP_WORDS[1]}" = run ]; then
		mapfile -t COMPREPLY < <(compgen -A command -A file -- "$word")
	fi
}

_heapsh()
{
	local word=${COMP_WORDS[COMP_CWORD]} file='' i
	for ((i = 1; i < COMP_CWORD; i++)); do
		# The word behind one of these is its value.
		[[ ${COMP_WORDS[i]} == --@(by|sort|memory|debug) ]] && { ((++i)); continue; }
		[[ ${COMP_WORDS[i]} == -* ]] || { file=${COMP_WORDS[i]}; break; }
	done
	local previous=${COMP_WORDS[COMP_CWORD - 1]}
	if [[ " ${COMP_WORDS[*]} " == *' --follow '* && $previous == --by ]]; then
		mapfile -t COMPREPLY < <(compgen -W 'kind type site' -- "$word")
	elif [[ " ${COMP_WORDS[*]} " == *' --follow '* && $previous == --sort ]]; then
		mapfile -t COMPREPLY < <(compgen -W 'growth last bytes objects name' -- "$word")
	elif [[ " ${COMP_WORDS[*]} " == *' --follow '* && $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '--by --sort --quiet --json --debug --memory' -- "$word")
	elif [ -n "$file" ] && [[ " ${COMP_WORDS[*]} " != *' --follow '* ]]; then
		mapfile -t COMPREPLY < <(compgen -W 'help info summary show identify find count largest roots
			callstack callers stack symbols inrefs outrefs path dominators retained sizes shared suspects leaks dangling reachability
			types sites strings waste sql report export last alias unalias source time snapshots go next previous compare
			history' -- "$word"; compgen -f -X '!*.snap' -- "$word")
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '--quiet --json --follow --color=auto --color=always
			--color=never --memory --debug --help --version' -- "$word")
	else
		mapfile -t COMPREPLY < <(compgen -f -X '!*.snap' -- "$word"; compgen -d -- "$word")
	fi
}

_heapsh_leakreport()
{
	local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	if [ "$previous" = --by ]; then
		mapfile -t COMPREPLY < <(compgen -W 'kind type site backtrace dominator' -- "$word")
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '-1 --quiet --json --html --summary --by --type --site --min
			--limit --conservative
			' -- "$word")
	else
		mapfile -t COMPREPLY < <(compgen -f -X '!*.snap' -- "$word"; compgen -d -- "$word")
	fi
}

_heapsh_check()
{
	local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	if [ "$previous" = --format ]; then
		mapfile -t COMPREPLY < <(compgen -W 'text json junit sarif' -- "$word")
	elif [[ $previous == --rules || $previous == --suppressions || $previous == -- ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	elif [[ $previous == --@(keep|source-root) ]]; then
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '--rules --rule --max-leaked --suppressions --warmup
			--strict --source-root --loops --keep --format --name --help --version' -- "$word")
	else
		mapfile -t COMPREPLY < <(compgen -f -X '!*.snap' -- "$word"; compgen -d -- "$word")
	fi
}

_heapsh_diff()
{
	local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	if [ "$previous" = --by ]; then
		mapfile -t COMPREPLY < <(compgen -W 'kind type site module' -- "$word")
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '--quiet --json --by --limit --all --retained --conservative' -- "$word")
	else
		mapfile -t COMPREPLY < <(compgen -f -X '!*.snap' -- "$word"; compgen -d -- "$word")
	fi
}

_heapsh_evolution()
{
	local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	if [ "$previous" = --by ]; then
		mapfile -t COMPREPLY < <(compgen -W 'type site module kind root' -- "$word")
	elif [ "$previous" = --x ]; then
		mapfile -t COMPREPLY < <(compgen -W 'time number' -- "$word")
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '--quiet --by --objects --retained --top --x --width
			--svg --png --csv --json --color=auto --color=always --color=never' -- "$word")
	else
		mapfile -t COMPREPLY < <(compgen -f -X '!*.snap' -- "$word"; compgen -d -- "$word")
	fi
}

_heapsh_report()
{
	local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	if [[ $previous == -o || $previous == --output ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '--quiet --output' -- "$word")
	else
		mapfile -t COMPREPLY < <(compgen -f -X '!*.snap' -- "$word"; compgen -d -- "$word")
	fi
}

_heapsh_export()
{
	local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	if [ "$previous" = --format ]; then
		mapfile -t COMPREPLY < <(compgen -W 'heapsnapshot pprof perfetto hprof collapsed speedscope dot graphml
			csv sqlite' -- "$word")
	elif [ "$previous" = --by ]; then
		mapfile -t COMPREPLY < <(compgen -W 'sites owners' -- "$word")
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '--format --output --by --object --depth --limit --min
			--quiet --help --version' -- "$word")
	else
		mapfile -t COMPREPLY < <(compgen -f -X '!*.snap' -- "$word"; compgen -d -- "$word")
	fi
}

_heapsh_unfreed()
{
	local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	if [ "$previous" = --by ]; then
		mapfile -t COMPREPLY < <(compgen -W 'kind type site module' -- "$word")
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '--json --by --limit --type --all' -- "$word")
	else
		mapfile -t COMPREPLY < <(compgen -f -X '!*.snap' -- "$word"; compgen -d -- "$word")
	fi
}

_heapsh_trace()
{
	local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	if [ "$previous" = --by ]; then
		mapfile -t COMPREPLY < <(compgen -W 'allocated peak end' -- "$word")
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W '--json --sites --tree --callers --timeline --lifetimes
			--collapsed --pprof --html --holders --oldest --snapshot --wrappers --output --by --limit --between --live --at --longer --shorter --size
			--site --frame --not-frame --thread' -- "$word")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	fi
}

complete -o filenames -F _heapsnap heapsnap
complete -o filenames -F _heapsh heapsh
complete -o filenames -F _heapsh_leakreport heapsh-leakreport
complete -o filenames -F _heapsh_check heapsh-check
complete -o filenames -F _heapsh_diff heapsh-diff
complete -o filenames -F _heapsh_unfreed heapsh-unfreed
complete -o filenames -F _heapsh_trace heapsh-trace
complete -o filenames -F _heapsh_evolution heapsh-evolution
complete -o filenames -F _heapsh_export heapsh-export
complete -o filenames -F _heapsh_report heapsh-report
