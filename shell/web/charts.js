// SPDX-License-Identifier: GPL-3.0-or-later
// Development over time: stacked areas over the series, and small lines in tables.

const times = data.snapshots.map((snapshot) => snapshot.time_ms);

function sparkline(values) {
	const width = 110, height = 22, most = Math.max(...values, 1);
	const span = times[times.length - 1] - times[0] || 1;
	const line = d3.line()
		.x((value, index) => 2 + (times[index] - times[0]) / span * (width - 6))
		.y((value) => height - 2 - value / most * (height - 5));
	const last = values[values.length - 1];

	return svg('svg', { class: 'spark', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img',
		'aria-label': `${values[0]} at first, ${last} at last` },
		svg('path', { d: line(values) }),
		svg('circle', { cx: width - 4, cy: height - 2 - last / most * (height - 5), r: 2 }));
}

// The largest of all series, and the sum of the others up to the whole.
function seriesOf(what, measure) {
	const found = data.evolution[what].filter((series) => series[measure]).slice(0, COLOURS)
		.map((series, index) => ({ name: series.name, values: series[measure],
			colour: what === 'types' ? colourOfType(series.name) : `var(--colour-${index})` }));
	const used = new Set();

	// A type that was large only once has no colour yet.
	for (const series of found) {
		if (used.has(series.colour) || series.colour === 'var(--colour-other)')
			series.colour = null;
		used.add(series.colour);
	}
	for (const series of found)
		series.colour = series.colour || freeColour(used);

	const rest = data.snapshots.map((snapshot, index) => Math.max(0, snapshot[measure] -
		found.reduce((sum, series) => sum + series.values[index], 0)));

	if (rest.some((value) => value > 0))
		found.push({ name: what === 'roots' ? 'other roots, several roots, or none' : `other ${what}`,
			values: rest, colour: 'var(--colour-other)' });
	return found;
}

function freeColour(used) {
	for (let index = 0; index < COLOURS; index++) {
		const colour = `var(--colour-${index})`;

		if (!used.has(colour)) {
			used.add(colour);
			return colour;
		}
	}
	return 'var(--colour-other)';
}

const WIDTH = 960, HEIGHT = 320, LEFT = 72, RIGHT = 12, TOP = 10, BOTTOM = 26;

function areaChart(series, measure) {
	const span = times[times.length - 1] - times[0] || 1;
	const totals = times.map((time, index) => series.reduce((sum, one) => sum + one.values[index], 0));
	const most = Math.max(...totals, 1);
	const x = (index) => LEFT + (times[index] - times[0]) / span * (WIDTH - LEFT - RIGHT);
	const y = (value) => HEIGHT - BOTTOM - value / most * (HEIGHT - TOP - BOTTOM);
	const format = measure === 'bytes' ? formatBytes : formatNumber;
	const stacked = d3.stack().keys(series.keys()).value((index, key) => series[key].values[index])(
		[...times.keys()]);
	const area = d3.area().x((point, index) => x(index)).y0((point) => y(point[0]))
		.y1((point) => y(point[1]));
	const cursor = svg('line', { class: 'cursor', y1: TOP, y2: HEIGHT - BOTTOM, visibility: 'hidden' });

	function nearest(event) {
		const box = picture.getBoundingClientRect();
		const at = (event.clientX - box.left) / box.width * WIDTH;

		return times.reduce((best, time, index) =>
			Math.abs(x(index) - at) < Math.abs(x(best) - at) ? index : best, 0);
	}

	function point(event) {
		const index = nearest(event);

		cursor.setAttribute('x1', x(index));
		cursor.setAttribute('x2', x(index));
		cursor.setAttribute('visibility', 'visible');
		showTip(event, element('b', {}, data.snapshots[index].file),
			element('div', {}, formatTime(times[index])),
			element('table', {}, series.map((one) => element('tr', {},
				element('td', {}, element('i', { class: 'swatch', style: `--colour: ${one.colour}` }), one.name),
				element('td', { class: 'number' }, format(one.values[index])))).reverse(),
			element('tr', { class: 'sum' }, element('td', {}, 'together'),
				element('td', { class: 'number' }, format(totals[index])))));
	}

	function leave() {
		cursor.setAttribute('visibility', 'hidden');
		hideTip();
	}

	const picture = svg('svg', { class: 'areas', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img',
		'aria-label': `${measure} over time; the table below has the numbers`,
		onpointermove: point, onpointerleave: leave },
		ticks(most, 5, measure === 'bytes').map((value) => svg('g', { class: 'tick' },
			svg('line', { x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }),
			svg('text', { x: LEFT - 8, y: y(value) + 4, 'text-anchor': 'end' }, format(value)))),
		stacked.map((points, index) => svg('path', { d: area(points), class: 'area',
			style: `--colour: ${series[index].colour}` })),
		times.map((time, index) => svg('line', { class: 'when', x1: x(index), x2: x(index),
			y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM + 5 })),
		svg('text', { class: 'time', x: LEFT, y: HEIGHT - 6 }, formatTime(times[0])),
		svg('text', { class: 'time', x: WIDTH - RIGHT, y: HEIGHT - 6, 'text-anchor': 'end' },
			`${formatTime(times[times.length - 1])}, ${formatDuration(span)} later`),
		cursor);

	return picture;
}

function evolutionTable(series, what, measure) {
	const format = measure === 'bytes' ? formatBytes : formatNumber;
	const rows = series.map((one, index) => ({ ...one, index, first: one.values[0],
		last: one.values[one.values.length - 1] }));

	return table({
		id: 'evolution-table',
		caption: `Evolution of ${what} in ${measure}`,
		rows,
		columns: [
			{ name: what, class: 'name', value: (row) => row.name,
				show: (row) => [element('i', { class: 'swatch', style: `--colour: ${row.colour}` }), row.name] },
			{ name: 'first', number: true, value: (row) => row.first, show: (row) => format(row.first) },
			{ name: 'last', number: true, value: (row) => row.last, show: (row) => format(row.last) },
			{ name: 'change', number: true, value: (row) => row.last - row.first,
				show: (row) => formatChange(row.first, row.last, format) },
			{ name: 'over time', sort: false, value: () => 0, show: (row) => sparkline(row.values) },
		],
		attributes: (row) => ({ 'data-name': row.name }),
	});
}

function evolution() {
	const place = element('div', { class: 'evolution' });
	const chosen = { what: 'types', measure: 'bytes' };

	function draw() {
		const measure = chosen.what === 'roots' ? 'bytes' : chosen.measure;
		const series = seriesOf(chosen.what, measure);

		measures.hidden = chosen.what === 'roots';
		place.replaceChildren(areaChart(series, measure), evolutionTable(series, chosen.what, measure));
	}

	const measures = choice('Measure', ['bytes', 'objects'], 'bytes', (measure) => {
		chosen.measure = measure;
		draw();
	});
	const whats = choice('Evolution of', ['types', 'sites', 'roots'], 'types', (what) => {
		chosen.what = what;
		draw();
	});

	draw();
	return [element('p', { class: 'choices' }, whats, ' ', measures), place];
}
