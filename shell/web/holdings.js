// SPDX-License-Identifier: GPL-3.0-or-later
// The holdings: the dominator tree merged by type, as a treemap or an icicle that one
// can go into, and what is directly below as a table.

const holdingTree = buildHoldings();
const holdingView = { shape: 'treemap', at: holdingTree, focused: null };

function buildHoldings() {
	const nodes = data.holdings.map((holding) => ({ ...holding, children: [], above: null }));

	nodes.forEach((node, index) => {
		if (index > 0) {
			node.above = nodes[node.parent];
			node.above.children.push(node);
		}
	});
	for (const node of nodes)
		addUnshown(node);
	return nodes[0];
}

// The rest of a holding, without the children that the page contains.
function addUnshown(node) {
	const known = node.children.reduce((sum, child) => sum + child.bytes, 0);
	const rest = node.bytes - node.own - known;

	node.known = node.children.length;
	if (node.known === 0)
		return;
	if (node.own > 0)
		node.children.push({ name: `${node.name} itself`, kind: 'itself', objects: node.objects,
			own: node.own, bytes: node.own, children: [], above: node, known: 0, example: node.example,
			colour: node.kind === 'type' ? node.name : 'untyped' });
	if (rest > 0)
		node.children.push({ name: 'smaller ones', kind: 'rest', objects: 0, own: rest, bytes: rest,
			children: [], above: node, known: 0 });
}

function holdingColour(node) {
	if (node.kind === 'type' || (node.kind === 'itself' && node.colour))
		return colourOfType(node.colour || node.name);
	if (node.kind === 'site')
		return 'var(--colour-untyped)';
	return node.kind === 'unreachable' ? 'var(--bad)' : 'var(--colour-other)';
}

// Without the place of its declaration: a cell has little room.
function holdingLabel(node) {
	const name = node.kind === 'root' ? node.name.replace(/^the /, '').replace(/ \([^)]*\)$/, '') : node.name;

	return node.objects > 1 && node.kind !== 'itself' ? `${formatNumber(node.objects)} × ${name}` : name;
}

function holdingPath(node) {
	return node.above ? [...holdingPath(node.above), node] : [node];
}

function holdingFacts(node) {
	const facts = [`${formatBytes(node.bytes)}, ${formatShare(node.bytes, data.totals.bytes)} of the heap`];

	if (node.objects)
		facts.push(`${plural(node.objects, 'object')} of ${formatBytes(node.own)}`);
	if (node.known)
		facts.push(`${plural(node.known, 'holding')} below`);
	return facts.join('; ');
}

// --- cells ----------------------------------------------------------------------------

const LEVELS = { treemap: 3, icicle: 14 };
const ROW = 24; // pixels of a level of the icicle
const HEAD = 17; // and of a treemap's cell above what is in it

function layOut(node, width, height) {
	const levels = LEVELS[holdingView.shape];
	const depth = holdingPath(node).length;
	const root = d3.hierarchy(node, (one) => holdingPath(one).length - depth < levels ? one.children : null)
		.sum((one) => one.children.length && holdingPath(one).length - depth < levels ? 0 : one.bytes)
		.sort((a, b) => b.value - a.value);

	if (holdingView.shape === 'icicle')
		return d3.partition().size([width, (root.height + 1) * ROW]).padding(1)(root);
	return d3.treemap().size([width, height]).round(true).paddingInner(2).paddingOuter(2)
		.paddingTop((one) => one.children ? HEAD : 0)(root);
}

function drawCell(place, whole) {
	const node = place.data;
	const width = place.x1 - place.x0, height = place.y1 - place.y0;

	if (width < 2 || height < 2)
		return null;
	return element('div', {
		class: `cell ${node.kind}`,
		role: 'treeitem',
		tabindex: '-1',
		'aria-label': `${holdingLabel(node)}: ${holdingFacts(node)}`,
		'aria-level': place.depth + 1,
		'data-name': node.name,
		'data-bytes': node.bytes,
		// Percentages of the width, so that paper may be narrower.
		style: `left: ${100 * place.x0 / whole}%; width: ${100 * width / whole}%; ` +
			`top: ${place.y0}px; height: ${height}px; ` +
			`--colour: ${holdingColour(node)}; --depth: ${place.depth}`,
		onclick: (event) => {
			event.stopPropagation();
			enter(node);
		},
		onpointermove: (event) => {
			event.stopPropagation();
			showTip(event, element('b', {}, node.name), element('div', {}, holdingFacts(node)));
		},
		onfocus: (event) => tellHolding(event.currentTarget.node),
	}, width > 34 && height > 13 ? element('span', {}, holdingLabel(node)) : null);
}

function drawHoldings() {
	const { map, trail, below } = holdingView;
	const width = map.clientWidth || 1000;
	const height = Math.max(320, Math.min(560, Math.round(width * 0.5)));
	const root = layOut(holdingView.at, width, height);

	map.style.height = `${holdingView.shape === 'icicle' ? (root.height + 1) * ROW : height}px`;
	map.className = `map ${holdingView.shape}`;
	holdingView.width = map.clientWidth;
	holdingView.cells = [];
	root.eachBefore((place) => {
		const cell = drawCell(place, width);

		if (cell) {
			cell.node = place.data;
			holdingView.cells.push(cell);
		}
	});
	map.replaceChildren(...holdingView.cells);
	holdingView.cells[0].tabIndex = 0;
	trail.replaceChildren(...holdingPath(holdingView.at).flatMap((node, index) =>
		[index ? ' › ' : '', node === holdingView.at ? element('b', {}, holdingLabel(node)) :
			element('button', { type: 'button', onclick: () => goTo(node) }, holdingLabel(node))]));
	below.replaceChildren(belowTable(holdingView.at));
	tellHolding(holdingView.at);
}

function belowTable(node) {
	return table({
		id: 'holdings-table',
		caption: `What is below ${node.name}`,
		rows: node.children,
		by: 0,
		shown: 12,
		columns: [
			bytesColumn('bytes', 'bytes', 'with all that they hold'),
			{ name: '%', number: true, value: (row) => row.bytes,
				show: (row) => shareBar(row.bytes, data.totals.bytes) },
			{ ...bytesColumn('own', 'own', 'of the objects themselves'),
				show: (row) => row.objects ? formatBytes(row.own) : '' },
			{ ...numberColumn('objects', 'objects'),
				show: (row) => row.objects ? formatNumber(row.objects) : '' },
			{ name: 'held', class: 'name', value: (row) => row.name,
				show: (row) => [element('i', { class: 'swatch', style: `--colour: ${holdingColour(row)}` }),
					row.known ? element('button', { type: 'button', class: 'plain', onclick: () => goTo(row) },
						row.name) : row.name,
					row.example === undefined ? '' : [' ', objectLink(row.example,
						row.objects === 1 ? 'object' : 'largest')]] },
		],
		attributes: (row) => ({ 'data-name': row.name }),
	});
}

function tellHolding(node) {
	holdingView.focused = node;
	holdingView.facts.replaceChildren(element('b', {}, holdingLabel(node)), ': ', holdingFacts(node), ' ',
		node.example === undefined ? '' : objectLink(node.example,
			node.objects === 1 ? 'the object' : 'the largest of them'));
}

// --- going about ----------------------------------------------------------------------

function enter(node) {
	if (node === holdingView.at)
		leave(node);
	else if (node.known)
		goTo(node);
	else if (node.example !== undefined)
		location.hash = `#object-${node.example}`;
}

function leave(node) {
	if (node.above)
		goTo(node.above, node);
}

// @param from  the cell to be at in the new picture
function goTo(node, from) {
	const hadFocus = holdingView.map.contains(document.activeElement);

	hideTip();
	holdingView.at = node;
	drawHoldings();
	if (hadFocus)
		focusCell(holdingView.cells.find((cell) => cell.node === (from || node)) || holdingView.cells[0]);
}

function focusCell(cell) {
	if (!cell)
		return;
	for (const one of holdingView.cells)
		one.tabIndex = one === cell ? 0 : -1;
	cell.focus({ preventScroll: true });
}

function cellBeside(cell, step) {
	const siblings = holdingView.cells.filter((one) => one.node.above === cell.node.above);

	return siblings[siblings.indexOf(cell) + step];
}

function moveAmongCells(event) {
	const cell = event.target.closest('.cell');

	if (!cell || event.ctrlKey || event.metaKey || event.altKey)
		return;
	switch (event.key) {
	case 'ArrowRight':
		focusCell(cellBeside(cell, 1));
		break;
	case 'ArrowLeft':
		focusCell(cellBeside(cell, -1));
		break;
	case 'ArrowDown':
		focusCell(holdingView.cells.find((one) => one.node.above === cell.node));
		break;
	case 'ArrowUp':
		if (cell.node !== holdingView.at)
			focusCell(holdingView.cells.find((one) => one.node === cell.node.above));
		break;
	case 'Enter':
	case ' ':
		enter(cell.node);
		break;
	case 'Backspace':
		leave(holdingView.at);
		break;
	default:
		return;
	}
	event.preventDefault();
	event.stopPropagation();
}

// It needs to know how wide it is.
function drawIfWidthChanged() {
	if (holdingView.map.clientWidth !== holdingView.width)
		drawHoldings();
}

function holdings() {
	holdingView.trail = element('nav', { class: 'trail', 'aria-label': 'Where in the tree' });
	holdingView.facts = element('p', { class: 'facts', id: 'holding-facts' });
	holdingView.map = element('div', { role: 'tree', id: 'map', 'aria-label': 'Who holds how much',
		onkeydown: moveAmongCells, onpointerleave: hideTip });
	holdingView.below = element('div');

	const shapes = choice('Drawn as', ['treemap', 'icicle'], 'treemap', (shape) => {
		holdingView.shape = shape;
		drawHoldings();
	});

	new ResizeObserver(drawIfWidthChanged).observe(holdingView.map);
	return [element('p', { class: 'choices' }, shapes, holdingView.trail), holdingView.map,
		holdingView.facts, holdingView.below];
}
