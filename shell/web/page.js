// SPDX-License-Identifier: GPL-3.0-or-later
// The page's sections from top to bottom, its keys, and its light.

// --- summary --------------------------------------------------------------------------

function tile(name, value, ...notes) {
	return element('div', { class: 'tile' }, element('h3', {}, name), element('strong', {}, value),
		notes.filter(Boolean).map((note) => element('p', {}, note)));
}

function changeNote(measure, format) {
	const values = data.snapshots.map((snapshot) => snapshot[measure]);

	if (values.length < 2)
		return null;
	return [`${formatChange(values[0], values[values.length - 1], format)} in ${plural(data.files, 'snapshot')} `,
		sparkline(values)];
}

function tiles() {
	const { totals, program } = data;
	const root = data.roots.find((row) => !row.rest);

	return element('div', { class: 'tiles' },
		tile('heap', element('span', { id: 'total-bytes', 'data-bytes': totals.bytes }, formatBytes(totals.bytes)),
			changeNote('bytes', formatBytes)),
		tile('objects', element('span', { id: 'total-objects', 'data-objects': totals.objects },
			formatNumber(totals.objects)), changeNote('objects', formatNumber)),
		tile('typed', formatShare(totals.typed_objects, totals.objects),
			`${formatShare(totals.typed_bytes, totals.bytes)} of the bytes`),
		tile('unreachable', formatBytes(totals.unreachable_bytes),
			totals.unreachable_objects ? `${plural(totals.unreachable_objects, 'object')} that no root leads to` :
				'a root leads to every object'),
		root ? tile('largest root', formatShare(root.retained, totals.bytes), root.name) : null,
		program.damages ? tile('overwritten headers', formatNumber(program.damages),
			linked('blocks before them were overrun: `info` names them')) : null);
}

function processFacts() {
	const { program, snapshots, totals } = data;
	const last = snapshots[snapshots.length - 1];
	const facts = [
		['program', `${program.name}, pid ${program.pid}, on ${program.host}`],
		['command', program.command],
		['captured', `${formatTime(program.time_ms)}, ${formatDuration(program.time_ms - program.start_ms)} after its start; ` +
			`it stood still for ${(program.stop_us / 1000).toFixed(1)} ms`],
		['snapshot', `${last.file}, by ${program.maker}, id ${program.id}`],
		['graph', `${plural(totals.pointers, 'pointer')}, ${plural(totals.roots, 'root')}, ` +
			plural(program.threads, 'thread')],
	];

	return element('details', {}, element('summary', {}, 'The process and its snapshots'),
		element('dl', {}, facts.flatMap(([name, text]) =>
			[element('dt', {}, name), element('dd', {}, text)])),
		snapshots.length > 1 ? element('ol', { start: 0 }, snapshots.map((snapshot) => element('li', {},
			`${snapshot.file}: ${formatTime(snapshot.time_ms)}, ${plural(snapshot.objects, 'object')}, ` +
			formatBytes(snapshot.bytes)))) : null);
}

// --- suspects, leaks ------------------------------------------------------------------

function suspectCard(suspect, index) {
	return element('article', { class: 'suspect', id: `suspect-${index}`, 'data-bytes': suspect.bytes },
		element('div', { class: 'amount' }, element('strong', {}, `${suspect.per_cent.toFixed(1)} %`),
			formatBytes(suspect.bytes)),
		element('div', {}, element('h3', {}, linked(suspect.text)),
			element('p', {}, `Allocated by ${suspect.site}. `, linked(suspect.advice)),
			element('p', { class: 'ways' },
				suspect.example === undefined ? null : objectLink(suspect.example,
					suspect.kind === 'leaked' ? 'One of them' :
					suspect.members > 1 ? 'The largest of them, and the way to it' : 'The object, and the way to it'),
				suspect.place === undefined ? null : [' ', objectLink(suspect.place, 'What holds them')])));
}

function suspects() {
	if (data.suspects.length === 0)
		return element('p', { class: 'note' }, 'Nothing holds 10 % of the heap or more of one kind.');
	return data.suspects.map(suspectCard);
}

function cameAndStayed() {
	if (!data.leaks)
		return element('p', { class: 'note' }, 'To tell what came and stayed, it takes three snapshots or more of one ' +
			'process: heapsh-report app-*.snap');
	if (data.leaks.groups.length === 0)
		return element('p', { class: 'note' }, 'What came after the first snapshot did not stay.');
	return [element('p', {}, `${plural(data.leaks.objects, 'object')} came after the first snapshot and stayed: ` +
		'candidates for leaks, as entries of a cache are. What grows steadily is first.'), leaksTable()];
}

function unreachable() {
	const { unreachable_objects: objects, unreachable_bytes: bytes } = data.totals;
	const held = data.perhaps_held;

	if (objects === 0)
		return null;
	return [element('p', { class: 'apart' }, `No root leads to ${plural(objects, 'object')}, ${formatBytes(bytes)}: leaked` +
			(held.objects ? `, but for ${plural(held.objects, 'object')}, ${formatBytes(held.bytes)}, that ` +
				(held.by_memory ? 'memory may hold that the core file lacks. ' : 'a register may hold of ' +
					`${plural(held.threads, 'thread')} whose registers are not known. `) +
				'Those are not in the table.' : '.')),
		unreachableTable()];
}

function leaks() {
	return [cameAndStayed(), unreachable()];
}

function largest() {
	return table({
		id: 'largest-table',
		caption: 'The objects that retain most',
		rows: data.largest.map((number) => ({ ...data.objects[number], number })),
		by: 0,
		shown: 10,
		columns: [
			bytesColumn('retained', 'retained', 'bytes that would be free without it'),
			{ name: '%', number: true, value: (row) => row.retained,
				show: (row) => shareBar(row.retained, data.totals.bytes) },
			bytesColumn('own', 'size'),
			{ name: 'object', class: 'name', value: (row) => row.name, show: (row) => objectLink(row.number) },
			{ name: 'held by', class: 'name', value: (row) => row.held_by, show: (row) => linked(row.held_by) },
		],
	});
}

// --- the page -------------------------------------------------------------------------

const sections = [
	['summary', 'Summary', '', () => [tiles(), processFacts()]],
	['suspects', 'Suspects', 'Where most of the heap gathers', suspects],
	['leaks', 'Leaks', 'What came and stayed, and what no root leads to', leaks],
	['evolution', 'Evolution', 'How the heap has grown', evolution],
	['roots', 'Roots', 'What variables, stacks and registers keep alive', rootsTable],
	['holdings', 'Holdings', 'Who holds how much: the dominator tree, merged by type', holdings],
	['largest', 'Largest', 'The objects that retain most', largest],
	['types', 'Types', 'What there is, by type and by site', histograms],
].filter(([id]) => id !== 'evolution' || data.snapshots.length > 1);

function drawSections() {
	document.getElementById('title').textContent = `The heap of ${data.program.name}`;
	document.getElementById('sections').append(...sections.map(([id, name], index) =>
		element('a', { href: `#${id}`, title: `Key ${index + 1}` }, name)));
	document.getElementById('main').append(...sections.map(([id, name, title, content]) =>
		element('section', { id, 'aria-labelledby': `${id}-title` },
			element('h2', { id: `${id}-title` }, name, title ? element('small', {}, title) : null), [content()].flat(Infinity).filter(Boolean))));
	document.getElementById('main').append(element('footer', {},
		`Made by heapsh ${data.heapsh}; ${formatTime(data.program.time_ms)}. Charts: D3, © Mike Bostock, ISC licence.`));
}

// --- keys -----------------------------------------------------------------------------

const keys = [
	['/', 'search; arrows and Enter choose'],
	[`1 … ${sections.length}`, 'sections'],
	['t', 'light or dark'],
	['m', 'the map of holdings: arrows go about in it, Enter goes in, Backspace out'],
	['Escape', 'closes what is open'],
	['Alt ←', 'the object before'],
	['?', 'this'],
];

function goToSection(number) {
	const section = sections[number - 1];

	if (section)
		document.getElementById(section[0]).scrollIntoView();
}

function pressed(event) {
	if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, dialog'))
		return;
	if (event.key === '/')
		searchField.focus();
	else if (event.key === '?')
		showHelp(keys);
	else if (event.key === 't')
		switchLight();
	else if (event.key === 'm')
		goToMap();
	else if (event.key === 'Escape' && !panel.hidden)
		closeObject();
	else if (event.key >= '1' && event.key <= '9')
		goToSection(Number(event.key));
	else
		return;
	event.preventDefault();
}

function goToMap() {
	document.getElementById('holdings').scrollIntoView();
	drawIfWidthChanged();
	focusCell(holdingView.cells[0]);
}

// On paper nothing can be opened.
function openAll() {
	for (const details of document.querySelectorAll('details'))
		details.open = true;
}

drawSections();
startSearch();
document.getElementById('theme').addEventListener('click', switchLight);
document.getElementById('keys').addEventListener('click', () => showHelp(keys));
addEventListener('keydown', pressed);
addEventListener('hashchange', followHash);
addEventListener('popstate', followHash);
addEventListener('beforeprint', openAll);
addEventListener('scroll', hideTip, { passive: true });
followHash();
document.documentElement.dataset.drawn = 'yes';
