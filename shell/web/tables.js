// SPDX-License-Identifier: GPL-3.0-or-later
// Tables that can be sorted, and whose rows open to show more.
//
// A column: { name, title, value: (row) => number or text, show: (row) => content,
// number: true, sort: false }.

function table(options) {
	const state = { by: options.by, down: true, all: false };
	const body = element('tbody');
	const more = element('button', { type: 'button', class: 'more', onclick: showAll });
	const shown = options.shown || 25;
	const heads = options.columns.map(makeHead);

	function makeHead(column, index) {
		const attributes = { class: column.number ? 'number' : null, title: column.title, scope: 'col' };

		if (column.sort === false)
			return element('th', attributes, column.name);
		return element('th', attributes,
			element('button', { type: 'button', onclick: () => sortBy(index) }, column.name));
	}

	function sortBy(index) {
		state.down = state.by === index ? !state.down : Boolean(options.columns[index].number);
		state.by = index;
		draw();
	}

	function showAll() {
		state.all = true;
		draw();
	}

	function compare(left, right) {
		const value = options.columns[state.by].value;
		const a = value(left), b = value(right);
		const order = typeof a === 'string' ? a.localeCompare(b) : a - b;

		return state.down ? -order : order;
	}

	function draw() {
		const rows = state.by === undefined ? options.rows : [...options.rows].sort(compare);
		const visible = state.all ? rows : rows.slice(0, shown);

		body.replaceChildren(...visible.flatMap((row) => makeRow(options, row)));
		more.hidden = visible.length === rows.length;
		more.textContent = `all ${formatNumber(rows.length)}`;
		heads.forEach((head, index) => head.setAttribute('aria-sort',
			index !== state.by ? 'none' : state.down ? 'descending' : 'ascending'));
	}

	draw();
	return element('div', { class: 'table' },
		element('table', { id: options.id },
			element('caption', { class: 'unseen' }, options.caption),
			element('thead', {}, element('tr', {}, heads)), body), more);
}

function makeRow(options, row) {
	const cells = options.columns.map((column) => element('td',
		{ class: [column.number ? 'number' : '', column.class || ''].join(' ').trim() || null },
		column.show ? column.show(row) : formatNumber(column.value(row))));
	const made = element('tr', options.attributes ? options.attributes(row) : {}, cells);

	if (!options.open || !options.canOpen(row))
		return [made];

	const opened = element('tr', { class: 'opened', hidden: true },
		element('td', { colspan: options.columns.length }));
	const button = element('button', { type: 'button', class: 'opener', 'aria-expanded': 'false',
		'aria-label': 'more', onclick: toggle });

	function toggle() {
		const open = opened.hidden;

		if (open)
			opened.firstChild.replaceChildren(options.open(row));
		opened.hidden = !open;
		button.setAttribute('aria-expanded', String(open));
	}
	made.addEventListener('click', (event) => {
		if (!event.target.closest('a, button'))
			toggle();
	});
	made.classList.add('opens');
	cells[options.columns.length - 1].prepend(button);
	return [made, opened];
}

// A bar of a share behind its number.
function shareBar(part, whole) {
	return element('span', { class: 'share', style: `--share: ${whole ? 100 * part / whole : 0}%` },
		formatShare(part, whole));
}

// Rows without the figure have an empty cell.
function bytesColumn(name, key, title) {
	return { name, title, number: true, value: (row) => row[key] || 0,
		show: (row) => row[key] === undefined ? '' : formatBytes(row[key]) };
}

function numberColumn(name, key, title) {
	return { name, title, number: true, value: (row) => row[key] || 0,
		show: (row) => row[key] === undefined ? '' : formatNumber(row[key]) };
}

// --- roots ----------------------------------------------------------------------------

function rootsTable() {
	return table({
		id: 'roots-table',
		caption: 'Roots by what they hold',
		rows: data.roots,
		columns: [
			bytesColumn('retained', 'retained', 'bytes that would be free without this root, or without these'),
			{ name: '%', number: true, value: (row) => row.retained,
				show: (row) => shareBar(row.retained, data.totals.bytes) },
			bytesColumn('reachable', 'reachable', 'bytes that it leads to'),
			numberColumn('objects', 'reachable_objects', 'objects that it leads to'),
			bytesColumn('exclusive', 'exclusive', 'bytes of the objects that it alone points to'),
			{ name: 'root', class: 'name', value: (row) => row.name, show: (row) => row.name },
		],
		attributes: (row) => ({ 'data-name': row.name }),
	});
}

// --- histograms -----------------------------------------------------------------------

function examplesOf(row) {
	return element('div', { class: 'examples' },
		element('p', {}, 'Of these the largest, by what they retain:'),
		element('ul', {}, row.examples.map((number) => element('li', {}, objectLink(number),
			` ${formatBytes(data.objects[number].retained)} retained, `,
			`held by `, linked(data.objects[number].held_by)))));
}

function histogram(rows, what) {
	return table({
		id: `${what}-table`,
		caption: `Objects and bytes by ${what}`,
		rows: rows.filter((row) => row.name),
		by: 1,
		shown: 40,
		columns: [
			numberColumn('objects', 'objects'),
			bytesColumn('bytes', 'bytes'),
			{ name: '%', number: true, value: (row) => row.bytes,
				show: (row) => shareBar(row.bytes, data.totals.bytes) },
			bytesColumn('retained', 'retained', 'bytes of these that a root leads to, and of all that one of them alone holds'),
			{ name: what, class: 'name', value: (row) => row.name,
				show: (row) => what === 'types' ?
					[element('i', { class: 'swatch', style: `--colour: ${colourOfType(row.name)}` }), row.name] :
					row.name },
		],
		attributes: (row) => ({ 'data-name': row.name, 'data-bytes': row.bytes,
			'data-objects': row.objects }),
		canOpen: (row) => row.examples.length > 0,
		open: examplesOf,
	});
}

function histograms() {
	const place = element('div');
	const draw = (what) => {
		const rows = what === 'types' ? data.types : data.sites;
		const rest = rows.find((row) => row.more);

		place.replaceChildren(histogram(rows, what), rest ? element('p', { class: 'note' },
			`${formatNumber(rest.more)} more: ${plural(rest.objects, 'object')}, ${formatBytes(rest.bytes)}`) : '');
	};

	draw('types');
	return [element('p', { class: 'choices' }, choice('Histogram by', ['types', 'sites'], 'types', draw)), place];
}

// --- what came and stayed -------------------------------------------------------------

const trends = {
	steady: 'bad',
	slowing: 'doubtful',
	unclear: 'doubtful',
	settled: 'good',
	none: 'good',
};

function leaksTable() {
	return table({
		id: 'leaks-table',
		caption: 'What came and stayed',
		rows: data.leaks.groups,
		columns: [
			numberColumn('objects', 'objects', 'that came after the first snapshot, and stayed'),
			bytesColumn('bytes', 'bytes', 'of these'),
			{ name: 'type, site', class: 'name', value: (row) => row.name,
				show: (row) => [row.name, row.example === undefined ? '' :
					[' ', objectLink(row.example, 'example')]] },
			{ name: 'growth', value: (row) => row.objects_per_hour, class: 'words',
				show: (row) => [element('span', { class: `badge ${trends[row.trend]}` }, row.judgement),
					row.verdict.slice(row.verdict.indexOf(row.judgement) + row.judgement.length).replace(/^: /, ' ')] },
			{ name: 'over time', sort: false, value: () => 0,
				show: (row) => sparkline(row.objects ? row.objects_then : row.bytes_then) },
		],
		attributes: (row) => ({ 'data-name': row.name }),
	});
}

// --- what no root leads to ------------------------------------------------------------

function unreachableTable() {
	const total = (row) => row.direct_bytes + row.indirect_bytes;

	return table({
		id: 'unreachable-table',
		caption: 'What no root leads to',
		rows: data.unreachable,
		shown: 10,
		columns: [
			{ name: 'bytes', number: true, title: 'of the leaked objects and of all that they alone lead to',
				value: total, show: (row) => formatBytes(total(row)) },
			numberColumn('direct', 'direct_objects', 'objects that no leaked one points to'),
			bytesColumn('bytes of these', 'direct_bytes'),
			numberColumn('indirect', 'indirect_objects', 'objects that are lost with these'),
			bytesColumn('bytes of those', 'indirect_bytes'),
			{ name: 'type, site', class: 'name', value: (row) => row.name,
				show: (row) => [row.name, row.circles ? ', in cycles' : '',
					row.example === undefined ? '' : [' ', objectLink(row.example, 'example')]] },
		],
		attributes: (row) => ({ 'data-name': row.name }),
	});
}
