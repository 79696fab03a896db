// SPDX-License-Identifier: GPL-3.0-or-later
// The page of a trace from top to bottom, and its keys.

const searchField = document.getElementById('search');

function summary() {
	const peak = sumLiveAt(Math.floor(data.peak_us / TICK)), end = sumLiveAt(END);
	const tile = (id, name, sum, ...notes) => element('div', { class: 'tile', id, 'data-bytes': sum.bytes },
		element('h3', {}, name), element('strong', {}, formatBytes(Math.round(sum.bytes))),
		element('p', {}, `±${formatBytes(Math.round(2 * Math.sqrt(sum.variance)))}`, notes));

	return [
		element('p', { class: 'note' }, `${data.program}, pid ${data.pid}, ${formatTime(data.start_ms)}, for ` +
			`${formatTicks(END)}; 1 sample in ${formatBytes(data.mean)}. Sums are estimates from ` +
			`${plural(COUNT, 'sample')}; behind ± is what 19 of 20 are not further off by.`,
		data.ended ? '' : ' The trace is cut off: the program did not end it.'),
		data.dropped ? element('p', { class: 'badge bad' },
			`${plural(data.dropped, 'event')} missing: sums are too low`) : null,
		element('div', { class: 'tiles' },
			tile('total-allocated', 'allocated', chosen, `, ${plural(Math.round(chosen.objects), 'object')}`),
			tile('total-peak', 'live at the peak', peak, `, at ${formatTicks(data.peak_us / TICK)}`),
			tile('total-end', 'live at the end', end)),
	];
}

function sumLiveAt(at) {
	const sum = { bytes: 0, variance: 0 };

	for (let index = 0; index < COUNT; index++) {
		if (born[index] <= at && died[index] > at) {
			sum.bytes += weight.bytes[sizeOf[index]];
			sum.variance += weight.variance[sizeOf[index]];
		}
	}
	return sum;
}

// --- the page -------------------------------------------------------------------------

const sections = [
	['summary', 'Summary', '', summary],
	['time', 'Over time', 'Live bytes: all, and the chosen', () => [timeline(), filterFields()]],
	['lifetimes', 'Lifetimes', 'When it was allocated, and how long it lived', lifetimes],
	['calls', 'Calls', 'Who allocated it', () => [flameGraph(), siteTable()]],
];

function drawSections() {
	document.getElementById('title').textContent = `Allocations of ${data.program}`;
	document.getElementById('sections').append(...sections.map(([id, name], index) =>
		element('a', { href: `#${id}`, title: `Key ${index + 1}` }, name)));
	document.getElementById('main').append(...sections.map(([id, name, title, content]) =>
		element('section', { id, 'aria-labelledby': `${id}-title` },
			element('h2', { id: `${id}-title` }, name, title ? element('small', {}, title) : null),
			[content()].flat(Infinity).filter(Boolean))));
	document.getElementById('main').append(element('footer', {},
		`Made by heapsh-trace ${data.heapsh} of ${data.file}. Charts: D3, © Mike Bostock, ISC licence.`));
}

// --- keys -----------------------------------------------------------------------------

const keys = [
	['/', 'search calls; Enter chooses those that fit, Escape lets go'],
	[`1 … ${sections.length}`, 'sections'],
	['a', 'the range of allocation: arrows move its ends, with Shift by little, Delete lets go'],
	['l', 'the range in which it was live, or freed'],
	['p, e', 'what was live at the peak, at the end'],
	['d', 'direction of calls'],
	['f', 'the calls: arrows go about, Enter goes in, Backspace out, i chooses with this call, x without'],
	['s', 'the table: arrows go about and unfold; Enter, i, x as above'],
	['0', 'no filters'],
	['t', 'light or dark'],
	['?', 'this'],
];

function focusRange(name) {
	document.querySelector(`.handle[data-range=${name}]`).focus();
	document.getElementById('time').scrollIntoView();
}

const byKey = {
	'/': () => searchField.focus(),
	'?': () => showHelp(keys),
	t: switchLight,
	a: () => focusRange('allocated'),
	l: () => focusRange('second'),
	p: () => document.getElementById('at-peak').click(),
	e: () => document.getElementById('at-end').click(),
	d: () => document.querySelector('#calls .choice [aria-pressed=false]').click(),
	f() {
		document.getElementById('calls').scrollIntoView();
		focusCall(flames.cells[0]);
	},
	s() {
		const row = sites.body.querySelector('tr[tabindex="0"]');

		if (row)
			row.focus();
	},
	0: clearFilters,
};

function pressed(event) {
	if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, select, dialog'))
		return;
	if (byKey[event.key])
		byKey[event.key]();
	else if (sections[event.key - 1])
		document.getElementById(sections[event.key - 1][0]).scrollIntoView();
	else
		return;
	event.preventDefault();
}

function pressedInSearch(event) {
	if (event.key === 'Escape') {
		searchField.value = '';
		searchCalls('');
		searchField.blur();
	} else if (event.key === 'Enter' && calls.search !== '') {
		addFrame(calls.search, false, false);
		document.getElementById('calls').scrollIntoView();
	}
}

refilter();
drawSections();
refilter();
document.getElementById('theme').addEventListener('click', switchLight);
document.getElementById('keys').addEventListener('click', () => showHelp(keys));
searchField.addEventListener('input', () => searchCalls(searchField.value));
searchField.addEventListener('keydown', pressedInSearch);
addEventListener('keydown', pressed);
addEventListener('scroll', hideTip, { passive: true });
document.documentElement.dataset.drawn = 'yes';
