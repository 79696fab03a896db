// SPDX-License-Identifier: GPL-3.0-or-later
// When samples were allocated, and how long they lived. A queue whose consumer is too slow is a
// slope: the later in, the longer there. Blocks that leak lie on the line to the end.

const SCATTER = { width: 1150, height: 330, left: 84, right: 130, top: 10, bottom: 28 };

SCATTER.inner = SCATTER.width - SCATTER.left - SCATTER.right;
SCATTER.rows = SCATTER.height - SCATTER.top - SCATTER.bottom;

function lifetimeTicks() {
	if (!lifetimeScale.logarithmic)
		return ticks(END * TICK, 6).map((us) => us / TICK);

	const found = [];

	for (let us = 1; us <= END * TICK; us *= 10) {
		if (us >= TICK)
			found.push(us / TICK);
	}
	return found.length > 7 ? found.filter((tick, index) => index % 2 === 0) : found;
}

function colourOf(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// The darker, the more bytes.
function paint(canvas, grid, colour, most) {
	const context = canvas.getContext('2d');
	const width = SCATTER.inner / COLUMNS, height = SCATTER.rows / ROWS;

	context.fillStyle = colour;
	for (let row = 0; row < ROWS; row++) {
		for (let column = 0; column < COLUMNS; column++) {
			const bytes = grid[row * COLUMNS + column];

			if (bytes > 0) {
				context.globalAlpha = Math.min(1, 0.35 + 0.65 * Math.log1p(bytes) / Math.log1p(most));
				context.fillRect(column * width, SCATTER.rows - (row + 1) * height, width, height);
			}
		}
	}
}

function rowSums(grid) {
	return Array.from({ length: ROWS }, (unused, row) => {
		let sum = 0;

		for (let column = 0; column < COLUMNS; column++)
			sum += grid[row * COLUMNS + column];
		return sum;
	});
}

// At the side: the bytes by lifetime alone.
function drawHistogram(histogram) {
	const freed = rowSums(chosen.freed), alive = rowSums(chosen.alive);
	const most = Math.max(1, ...freed.map((bytes, row) => bytes + alive[row]));
	const left = SCATTER.width - SCATTER.right + 10, width = SCATTER.right - 20, height = SCATTER.rows / ROWS;

	histogram.replaceChildren(...freed.flatMap((bytes, row) => {
		const y = SCATTER.top + SCATTER.rows - (row + 1) * height;
		const bar = (x, value, name) => value ? [svg('rect', { class: name, x: left + x / most * width, y,
			width: Math.max(0.5, value / most * width), height })] : [];

		return [...bar(0, bytes, 'freed'), ...bar(bytes, alive[row], 'alive')];
	}));
}

function lifetimes() {
	const { width, height, left, top, inner, rows } = SCATTER;
	const ratio = Math.max(1, window.devicePixelRatio || 1);
	const canvas = element('canvas', { width: inner * ratio, height: rows * ratio, 'aria-hidden': 'true' });
	const axes = svg('g', {}), histogram = svg('g', { class: 'histogram' });
	const box = svg('rect', { class: 'range allocated', visibility: 'hidden' });
	const picture = svg('svg', { class: 'areas scatter', id: 'scatter', viewBox: `0 0 ${width} ${height}`, role: 'img',
		'aria-label': 'Lifetime by time of allocation' }, axes,
	svg('foreignObject', { x: left, y: top, width: inner, height: rows }, canvas), histogram, box);
	const yOf = (lived) => top + rows - lifetimeToShare(lived) * rows;

	function drawAxes() {
		axes.replaceChildren(
			...lifetimeTicks().map((lived) => svg('g', { class: 'tick' },
				svg('line', { x1: left, x2: left + inner, y1: yOf(lived), y2: yOf(lived) }),
				svg('text', { x: left - 8, y: yOf(lived) + 4, 'text-anchor': 'end' }, formatTicks(lived)))),
			...timeTicks().map((at) => svg('text', { x: left + at / END * inner, y: height - 8,
				'text-anchor': anchorOf(at) }, formatTicks(at))),
			svg('text', { x: width - 10, y: height - 8, 'text-anchor': 'end' }, 'bytes'));
	}

	function drawBox() {
		const range = filter.lifetime || [0, Infinity];
		const [from, to] = filter.allocated || [0, END];
		const low = yOf(range[0]), high = range[1] === Infinity ? top : yOf(range[1]);

		box.setAttribute('visibility', filter.lifetime ? 'visible' : 'hidden');
		for (const [name, value] of [['x', left + from / END * inner], ['width', Math.max(1, (to - from) / END * inner)],
			['y', high], ['height', Math.max(1, low - high)]])
			box.setAttribute(name, value);
	}

	function draw() {
		const context = canvas.getContext('2d');
		let most = 1;

		for (const grid of [chosen.freed, chosen.alive]) {
			for (const bytes of grid)
				most = bytes > most ? bytes : most;
		}
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.clearRect(0, 0, inner, rows);
		paint(canvas, chosen.freed, colourOf('--colour-0'), most);
		paint(canvas, chosen.alive, colourOf('--colour-1'), most);
		drawAxes();
		drawBox();
		drawHistogram(histogram);
	}

	// A rectangle is a range of both.
	function placeOf(event) {
		const bounds = picture.getBoundingClientRect();
		const x = (event.clientX - bounds.left) / bounds.width * width;
		const y = (event.clientY - bounds.top) / bounds.height * height;
		const share = (value) => Math.min(1, Math.max(0, value));

		return { at: Math.round(share((x - left) / inner) * END), share: share((top + rows - y) / rows) };
	}

	let start = null;

	picture.addEventListener('pointerdown', (event) => {
		if (event.button !== 0)
			return;
		picture.setPointerCapture(event.pointerId);
		start = placeOf(event);
		event.preventDefault();
	});
	picture.addEventListener('pointermove', (event) => {
		const now = placeOf(event);

		showTip(event, element('div', {}, `allocated at ${formatTicks(now.at)}`),
			element('div', {}, `lived ${formatTicks(shareToLifetime(now.share))}`));
		if (!start || (now.at === start.at && now.share === start.share))
			return;
		filter.allocated = [Math.min(start.at, now.at), Math.max(start.at, now.at)];
		filter.lifetime = [start.share, now.share].sort((a, b) => a - b)
			.map((share, end) => end && share === 1 ? Infinity : share === 0 ? 0 : Math.round(shareToLifetime(share)));
		refilterSoon();
	});
	for (const name of ['pointerup', 'pointercancel']) {
		picture.addEventListener(name, () => {
			start = null;
		});
	}
	picture.addEventListener('pointerleave', hideTip);
	picture.addEventListener('dblclick', () => {
		filter.allocated = filter.lifetime = null;
		refilter();
	});

	const scales = choice('Scale of lifetimes', ['logarithmic', 'linear'], 'logarithmic', (name) => {
		lifetimeScale.logarithmic = name === 'logarithmic';
		refilter();
	});

	views.push(draw);
	new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ['data-theme'] });
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
	return [element('p', { class: 'choices' }, scales,
		element('span', { class: 'legend' },
			element('i', { class: 'swatch', style: '--colour: var(--colour-0)' }), 'freed, or moved by realloc'),
		element('span', { class: 'legend' }, element('i', { class: 'swatch', style: '--colour: var(--colour-1)' }),
			'still alive at the end, where its lifetime is at least that')), picture,
	element('p', { class: 'note' }, 'Drag a rectangle to choose what was allocated then and lived that long; ' +
		'a double click lets all through again.')];
}
