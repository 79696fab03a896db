// SPDX-License-Identifier: GPL-3.0-or-later
// The same calls as a table whose rows unfold: by default the sites with their callers.

const MOST_ROWS = 40; // below one
const opened = new Set(); // nodes
const wide = new Set(); // those of which all rows are shown
const sites = { body: null, head: null, none: null, focused: null };


function siteRow(tree, node, depth) {
	const { bytes, variance, objects, lived } = tree.sums;
	const children = childrenOf(tree, node);
	const canOpen = children.length > 0;

	return Object.assign(element('tr', { role: 'row', tabindex: '-1', 'aria-level': depth + 1,
		'aria-expanded': canOpen ? String(opened.has(node)) : null, class: isFound(tree, node) ? 'found' : null,
		'data-text': nodeText(tree, node), 'data-bytes': bytes[node], 'data-objects': objects[node] },
	element('td', { class: 'number' }, formatBytes(Math.round(bytes[node]))),
	element('td', { class: 'number' }, `±${formatBytes(Math.round(2 * Math.sqrt(variance[node])))}`),
	element('td', { class: 'number' }, element('span', { class: 'share',
		style: `--share: ${chosen.bytes ? 100 * bytes[node] / chosen.bytes : 0}%` }, formatShare(bytes[node], chosen.bytes))),
	element('td', { class: 'number' }, formatNumber(objects[node])),
	element('td', { class: 'number' }, formatTicks(lived[node] / objects[node])),
	element('td', { class: 'name', style: `padding-left: ${10 + depth * 18}px` },
		canOpen ? element('button', { type: 'button', class: 'opener', tabindex: '-1', 'aria-label': 'callers',
			'aria-expanded': String(opened.has(node)), onclick: () => toggleSite(node) }) :
			element('span', { class: 'opener none' }),
		element('i', { class: 'swatch', style: `--colour: ${nodeColour(tree, node)}` }), nodeText(tree, node))),
	{ node, canOpen, depth });
}

// A chain of single callers unfolds at once: there is nothing to choose.
function toggleSite(node) {
	const tree = currentTree();

	sites.focused = node;
	if (opened.has(node)) {
		opened.delete(node);
		drawSites();
		return;
	}
	for (let children = [node]; children.length === 1; children = childrenOf(tree, children[0]))
		opened.add(children[0]);
	drawSites();
}

function rowsBelow(tree, node, depth) {
	const children = childrenOf(tree, node);
	const shown = wide.has(node) ? children : children.slice(0, MOST_ROWS);
	const rows = shown.flatMap((child) => [siteRow(tree, child, depth),
		...opened.has(child) ? rowsBelow(tree, child, depth + 1) : []]);

	if (shown.length < children.length)
		rows.push(element('tr', {}, element('td', { colspan: 6 },
			element('button', { type: 'button', class: 'plain', onclick() {
				wide.add(node);
				drawSites();
			} }, `all ${formatNumber(children.length)}`))));
	return rows;
}

function drawSites() {
	const tree = currentTree();
	const hadFocus = sites.body.contains(document.activeElement);
	const rows = rowsBelow(tree, calls.at, 0);

	sites.head.textContent = calls.at ? `below ${nodeText(tree, calls.at)}` : calls.upwards ? 'site, and its callers' :
		'call, and what it calls';
	sites.body.replaceChildren(...rows);
	sites.none.hidden = chosen.samples > 0;

	const focus = rows.find((row) => row.node === sites.focused) || rows[0];

	if (focus)
		focus.tabIndex = 0;
	if (focus && hadFocus)
		focus.focus({ preventScroll: true });
}

function moveAmongSites(event) {
	const row = event.target.closest('tr');

	if (!row || row.node === undefined || event.ctrlKey || event.metaKey || event.altKey)
		return;

	const rows = [...sites.body.children].filter((one) => one.node !== undefined);
	const go = (to) => {
		if (to) {
			row.tabIndex = -1;
			to.tabIndex = 0;
			sites.focused = to.node;
			to.focus();
		}
	};

	switch (event.key) {
	case 'ArrowDown':
		go(rows[rows.indexOf(row) + 1]);
		break;
	case 'ArrowUp':
		go(rows[rows.indexOf(row) - 1]);
		break;
	case 'ArrowRight':
		if (row.canOpen && !opened.has(row.node))
			toggleSite(row.node);
		else
			go(rows[rows.indexOf(row) + 1]);
		break;
	case 'ArrowLeft':
		if (opened.has(row.node))
			toggleSite(row.node);
		else
			go(rows.find((one) => one.node === currentTree().parent[row.node]));
		break;
	case 'Enter':
		goInto(row.node);
		break;
	case 'i':
	case 'x':
		addFrame(nodeText(currentTree(), row.node), true, event.key === 'x');
		break;
	default:
		return;
	}
	event.preventDefault();
	event.stopPropagation();
}

function siteTable() {
	sites.body = element('tbody', { onkeydown: moveAmongSites });
	sites.head = element('th', { scope: 'col' });
	sites.none = element('p', { class: 'note', id: 'none' }, 'No sample is left by these filters; key 0 drops them.');
	views.push(drawSites);
	return element('div', { class: 'table' }, element('table', { id: 'sites-table', role: 'treegrid' },
		element('caption', { class: 'unseen' }, 'Calls by bytes'),
		element('thead', {}, element('tr', {},
			element('th', { class: 'number', scope: 'col' }, 'bytes'),
			element('th', { class: 'number', scope: 'col', title: 'two standard deviations' }, '±'),
			element('th', { class: 'number', scope: 'col' }, '%'),
			element('th', { class: 'number', scope: 'col' }, 'objects'),
			element('th', { class: 'number', scope: 'col', title: 'on average; of what is alive at the end: until then' },
				'lived'),
			sites.head)), sites.body), sites.none);
}
