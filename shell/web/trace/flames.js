// SPDX-License-Identifier: GPL-3.0-or-later
// The calls as an icicle that one can go into: from the sites up to their callers, or from main
// down. The table below is of the same tree.

const FLAME_ROW = 22, NARROWEST = 2; // pixels
const flames = { map: null, trail: null, facts: null, cells: [], width: 0 };

// The files, or where they are not known the modules, with most bytes have a colour of their own.
// Where one or two of them have nearly all, that would tell nothing: there functions have colours.
const sourceColours = new Map();
const FEWEST_SOURCES = 3, SMALLEST_SOURCE = 0.05; // of the bytes

function sourceOf(place) {
	return place.file || place.module || '';
}

function colourSources() {
	const bytes = new Map();

	for (let way = 0; way < WAYS; way++) {
		const seen = new Set();

		for (let index = wayBegins[way]; index < wayBegins[way + 1]; index++)
			seen.add(sourceOf(places[wayPlaces[index]]));
		for (const source of seen)
			bytes.set(source, (bytes.get(source) || 0) + chosen.ways.bytes[way]);
	}
	if ([...bytes.values()].filter((one) => one >= SMALLEST_SOURCE * chosen.bytes).length < FEWEST_SOURCES)
		return;
	[...bytes.keys()].sort((a, b) => bytes.get(b) - bytes.get(a) || (a < b ? -1 : 1)).slice(0, COLOURS)
		.forEach((source, index) => sourceColours.set(source, `var(--colour-${index})`));
}

function nodeText(tree, node) {
	return node ? places[tree.place[node]].text : calls.upwards ? 'all sites' : 'all calls';
}

function nodeColour(tree, node) {
	if (node === 0)
		return 'var(--colour-other)';

	const place = places[tree.place[node]];

	return sourceColours.size ? sourceColours.get(sourceOf(place)) || 'var(--colour-other)' :
		functionColour(place.function || place.text);
}

function functionColour(name) {
	let hash = 0;

	for (const character of name)
		hash = (hash * 31 + character.codePointAt(0)) >>> 0;
	return `var(--colour-${hash % COLOURS})`;
}

function nodeFacts(tree, node) {
	const { bytes, variance, objects, samples, lived } = tree.sums;

	return `${formatSum(bytes[node], variance[node])}, ${formatShare(bytes[node], chosen.bytes)} of the chosen; ` +
		`${plural(Math.round(objects[node]), 'object')} (${plural(samples[node], 'sample')})` +
		(objects[node] ? `, which lived ${formatTicks(lived[node] / objects[node])} on average` : '');
}

// --- cells ----------------------------------------------------------------------------

// Calls that are too narrow to be seen get no element.
function layOutCalls(tree, at, width) {
	const least = tree.sums.bytes[at] * NARROWEST / width;
	const root = d3.hierarchy(at, (node) => childrenOf(tree, node).filter((child) => tree.sums.bytes[child] >= least));

	root.each((place) => {
		place.value = tree.sums.bytes[place.data];
	});
	return d3.partition().size([width, (root.height + 1) * FLAME_ROW]).padding(1)(root);
}

function isFound(tree, node) {
	return calls.search !== '' && node !== 0 && matchesPlace(places[tree.place[node]], calls.search);
}

function drawCall(tree, place, whole) {
	const node = place.data, width = place.x1 - place.x0;
	const text = nodeText(tree, node);

	return Object.assign(element('div', {
		class: isFound(tree, node) ? 'cell found' : 'cell',
		role: 'treeitem',
		tabindex: '-1',
		'aria-label': `${text}: ${nodeFacts(tree, node)}`,
		'aria-level': place.depth + 1,
		'data-text': text,
		'data-bytes': tree.sums.bytes[node],
		style: `left: ${100 * place.x0 / whole}%; width: ${100 * width / whole}%; top: ${place.y0}px; ` +
			`height: ${place.y1 - place.y0}px; --colour: ${nodeColour(tree, node)}; --depth: 2`,
		onclick: () => goInto(node),
		onpointermove: (event) => showTip(event, element('b', {}, text), element('div', {}, nodeFacts(tree, node))),
		onfocus: () => tellCall(node),
	}, width > 30 ? element('span', {}, text) : null), { node, depth: place.depth, above: place.parent });
}

function drawFlames() {
	const tree = currentTree();
	const width = flames.map.clientWidth || 1100;

	sumTree(tree);

	const root = layOutCalls(tree, calls.at, width);

	flames.width = flames.map.clientWidth;
	flames.map.style.height = `${(root.height + 1) * FLAME_ROW}px`;
	flames.cells = [];
	root.eachBefore((place) => flames.cells.push(drawCall(tree, place, width)));
	flames.map.replaceChildren(...flames.cells);
	flames.cells[0].tabIndex = 0;
	flames.map.classList.toggle('searching', calls.search !== '');
	flames.trail.replaceChildren(...wayTo(tree, calls.at).flatMap((node, index) => [index ? ' › ' : '',
		node === calls.at ? element('b', {}, nodeText(tree, node)) :
			element('button', { type: 'button', onclick: () => goInto(node) }, nodeText(tree, node))]));
	tellCall(calls.at);
}

function tellCall(node) {
	const tree = currentTree();
	const text = nodeText(tree, node);

	calls.focused = node;
	flames.facts.replaceChildren(element('b', {}, text), ': ', nodeFacts(tree, node), ' ',
		...node === 0 ? [] : [
			element('button', { type: 'button', class: 'plain', id: 'only', title: 'Key i',
				onclick: () => addFrame(text, true, false) }, 'only with this call'), ' · ',
			element('button', { type: 'button', class: 'plain', id: 'without', title: 'Key x',
				onclick: () => addFrame(text, true, true) }, 'without it'),
		]);
}

// --- going about ----------------------------------------------------------------------

function goInto(node, from) {
	const hadFocus = flames.map.contains(document.activeElement);

	hideTip();
	calls.at = node;
	drawFlames();
	drawSites();
	if (hadFocus)
		focusCall(flames.cells.find((cell) => cell.node === (from ?? node)) || flames.cells[0]);
}

function goOut() {
	if (calls.at)
		goInto(currentTree().parent[calls.at], calls.at);
}

function focusCall(cell) {
	if (!cell)
		return;
	for (const one of flames.cells)
		one.tabIndex = one === cell ? 0 : -1;
	cell.focus({ preventScroll: true });
}

function callBeside(cell, step) {
	const level = flames.cells.filter((one) => one.depth === cell.depth);

	return level[level.indexOf(cell) + step];
}

function moveAmongCalls(event) {
	const cell = event.target.closest('.cell');

	if (!cell || event.ctrlKey || event.metaKey || event.altKey)
		return;
	switch (event.key) {
	case 'ArrowRight':
		focusCall(callBeside(cell, 1));
		break;
	case 'ArrowLeft':
		focusCall(callBeside(cell, -1));
		break;
	case 'ArrowDown':
		focusCall(flames.cells.find((one) => one.above && one.above.data === cell.node));
		break;
	case 'ArrowUp':
		if (cell.above)
			focusCall(flames.cells.find((one) => one.node === cell.above.data));
		break;
	case 'Enter':
	case ' ':
		goInto(cell.node);
		break;
	case 'Backspace':
		goOut();
		break;
	case 'i':
	case 'x':
		if (cell.node)
			addFrame(nodeText(currentTree(), cell.node), true, event.key === 'x');
		break;
	default:
		return;
	}
	event.preventDefault();
	event.stopPropagation();
}

// --- direction, search ----------------------------------------------------------------

function turn(upwards) {
	calls.upwards = upwards;
	calls.at = 0;
	opened.clear();
	refilter();
}

function searchCalls(text) {
	calls.search = text.trim();
	drawFlames();
	drawSites();
	tellFound();
}

// The share of the selection whose calls fit.
function tellFound() {
	if (calls.search === '') {
		flames.found.replaceChildren();
		return;
	}

	const found = waysWith((place) => matchesPlace(place, calls.search));
	const bytes = found.reduce((sum, yes, way) => yes ? sum + chosen.ways.bytes[way] : sum, 0);
	const text = calls.search;

	flames.found.replaceChildren('calls with ', element('code', {}, text), ': ',
		element('b', { id: 'found-bytes', 'data-bytes': bytes }, formatBytes(Math.round(bytes))),
		`, ${formatShare(bytes, chosen.bytes)} `, ...bytes === 0 ? [] : [
			element('button', { type: 'button', class: 'plain', onclick: () => addFrame(text, false, false) }, 'only these'),
			' · ',
			element('button', { type: 'button', class: 'plain', onclick: () => addFrame(text, false, true) }, 'without them')]);
}

function flameGraph() {
	flames.trail = element('nav', { class: 'trail', 'aria-label': 'Where in the calls' });
	flames.facts = element('p', { class: 'facts', id: 'call-facts' });
	flames.found = element('p', { class: 'facts found', id: 'found' });
	flames.map = element('div', { class: 'map icicle', role: 'tree', id: 'flames', 'aria-label': 'Calls by bytes',
		onkeydown: moveAmongCalls, onpointerleave: hideTip });

	const directions = choice('Direction', ['callers of sites', 'down from main'], 'callers of sites',
		(name) => turn(name === 'callers of sites'));

	colourSources();
	views.push(drawFlames, tellFound);
	new ResizeObserver(() => {
		if (flames.map.clientWidth !== flames.width)
			drawFlames();
	}).observe(flames.map);
	return [element('p', { class: 'choices' }, directions, flames.trail), flames.map, flames.found, flames.facts];
}
