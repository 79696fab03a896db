// SPDX-License-Identifier: GPL-3.0-or-later
// Live bytes over time, of all samples and of the chosen ones, and below it a lane for each of
// the two ranges: drag in a lane to set its range, its ends or its middle to move it.

const TIMELINE = { width: 1150, left: 84, right: 12, top: 10, chart: 170, lane: 24, gap: 6 };

TIMELINE.inner = TIMELINE.width - TIMELINE.left - TIMELINE.right;
TIMELINE.bottom = TIMELINE.top + TIMELINE.chart;
TIMELINE.height = TIMELINE.bottom + 22 + 2 * (TIMELINE.lane + TIMELINE.gap);

const timeToX = (ticks) => TIMELINE.left + Math.min(1, ticks / END) * TIMELINE.inner;

function xToTime(x) {
	return Math.round(Math.min(1, Math.max(0, (x - TIMELINE.left) / TIMELINE.inner)) * END);
}

function timeTicks() {
	return ticks(END * TICK, 10).map((us) => us / TICK);
}

// The first and the last stay within the picture.
function anchorOf(at) {
	return at < END / 20 ? 'start' : at > END * 0.97 ? 'end' : 'middle';
}

// --- a lane ---------------------------------------------------------------------------

function makeLane(name, label, top, picture) {
	const { left, inner, lane, bottom } = TIMELINE;
	const range = svg('rect', { class: `range ${name}`, y: top, height: lane });
	const shade = svg('rect', { class: `shade ${name}`, y: TIMELINE.top, height: TIMELINE.chart });
	const title = svg('text', { x: left - 8, y: top + 16, 'text-anchor': 'end' }, label());
	const handles = [0, 1].map((end) => svg('rect', { class: `handle ${name}`, y: top - 1, width: 7, height: lane + 2,
		rx: 2, role: 'slider', tabindex: 0, 'aria-valuemin': 0, 'aria-valuemax': END,
		'data-range': name, 'data-end': end, onkeydown: (event) => moveByKey(event, end) }));

	function value() {
		return filter[name] || [0, END];
	}

	function set(from, to) {
		const range = [Math.max(0, Math.min(from, to)), Math.min(END, Math.max(from, to))];

		filter[name] = range[0] === 0 && range[1] === END ? null : range;
		refilterSoon();
	}

	function moveByKey(event, end) {
		const step = Math.max(1, Math.round(END / (event.shiftKey ? 1000 : 100)));
		const now = value();
		const to = { ArrowLeft: now[end] - step, ArrowDown: now[end] - step, ArrowRight: now[end] + step,
			ArrowUp: now[end] + step, Home: end ? now[0] : 0, End: end ? END : now[1] }[event.key];

		if (event.key === 'Delete' || event.key === 'Backspace')
			set(0, END);
		else if (to === undefined)
			return;
		else if (end)
			set(now[0], Math.max(now[0], to));
		else
			set(Math.min(now[1], to), now[1]);
		event.preventDefault();
		event.stopPropagation();
	}

	function draw() {
		const [from, to] = value().map(timeToX);

		for (const rect of [range, shade]) {
			rect.setAttribute('x', from);
			rect.setAttribute('width', Math.max(1.5, to - from));
		}
		range.classList.toggle('unset', !filter[name]);
		shade.setAttribute('visibility', filter[name] ? 'visible' : 'hidden');
		title.textContent = label();
		handles.forEach((handle, end) => {
			handle.setAttribute('x', (end ? to : from) - 3.5);
			handle.setAttribute('aria-label', `${label()} ${end ? 'to' : 'from'}`);
			handle.setAttribute('aria-valuenow', value()[end]);
			handle.setAttribute('aria-valuetext', formatTicks(value()[end]));
		});
	}

	picture.append(shade, svg('rect', { class: 'lane', 'data-range': name, x: left, y: top, width: inner, height: lane }),
		range, ...handles, title);
	views.push(draw);
	return { name, top, bottom: bottom + lane, set, value, handles };
}

// --- dragging -------------------------------------------------------------------------

// A press moves an end of the range, moves the range, or begins a new one, depending on its place.
function beginDrag(lane, at) {
	const [from, to] = lane.value();
	const near = 8 / TIMELINE.inner * END;

	if (filter[lane.name]) {
		if (Math.abs(at - to) < near && Math.abs(at - to) <= Math.abs(at - from))
			return (now) => lane.set(from, now);
		if (Math.abs(at - from) < near)
			return (now) => lane.set(now, to);
		if (at > from && at < to)
			return (now) => {
				const by = Math.max(-from, Math.min(END - to, now - at));

				lane.set(from + by, to + by);
			};
	}
	return (now) => lane.set(at, now);
}

function makeDraggable(picture, laneAt) {
	let drag = null, start = 0;

	function timeAt(event) {
		const box = picture.getBoundingClientRect();

		return xToTime((event.clientX - box.left) / box.width * TIMELINE.width);
	}

	picture.addEventListener('pointerdown', (event) => {
		const lane = event.button === 0 && laneAt(event);

		if (!lane)
			return;
		picture.setPointerCapture(event.pointerId);
		start = timeAt(event);
		drag = beginDrag(lane, start);
		event.preventDefault();
	});
	picture.addEventListener('pointermove', (event) => {
		if (drag)
			drag(timeAt(event));
	});
	picture.addEventListener('pointerup', () => {
		drag = null;
	});
	picture.addEventListener('pointercancel', () => {
		drag = null;
	});
	picture.addEventListener('dblclick', (event) => {
		const lane = laneAt(event);

		if (lane)
			lane.set(0, END);
	});
	return timeAt;
}

// --- the picture ----------------------------------------------------------------------

function timeline() {
	const { width, height, left, right, top, bottom, chart, lane, gap } = TIMELINE;
	const whole = Float64Array.from(chosen.live);
	const most = Math.max(1, ...whole) * 1.12;
	const y = (bytes) => bottom - Math.max(0, bytes) / most * chart;
	const area = d3.area().x((value, bin) => timeToX(bin * END / BINS)).y0(bottom).y1(y);
	const line = d3.line().x((value, bin) => timeToX(bin * END / BINS)).y(y);
	const part = svg('path', { class: 'part', id: 'timeline-chosen' });
	const cursor = svg('line', { class: 'cursor', y1: top, y2: bottom, visibility: 'hidden' });
	const peak = timeToX(data.peak_us / TICK);
	const picture = svg('svg', { class: 'areas timeline', id: 'timeline', viewBox: `0 0 ${width} ${height}`, role: 'group',
		'aria-label': 'Live bytes over time' },
	ticks(most, 5, true).map((value) => svg('g', { class: 'tick' },
		svg('line', { x1: left, x2: width - right, y1: y(value), y2: y(value) }),
		svg('text', { x: left - 8, y: y(value) + 4, 'text-anchor': 'end' }, formatBytes(value)))),
	svg('path', { class: 'whole', d: area(whole) }), part, svg('path', { class: 'outline', d: line(whole) }),
	svg('g', { class: 'peak' }, svg('line', { x1: peak, x2: peak, y1: top, y2: bottom }),
		svg('text', { x: peak + (peak > width / 2 ? -5 : 5), y: top + 11,
			'text-anchor': peak > width / 2 ? 'end' : 'start' }, 'peak')),
	timeTicks().map((at) => svg('g', { class: 'tick' },
		svg('line', { x1: timeToX(at), x2: timeToX(at), y1: bottom, y2: bottom + 5 }),
		svg('text', { x: timeToX(at), y: bottom + 17, 'text-anchor': anchorOf(at) }, formatTicks(at)))),
	cursor);
	const first = bottom + 24;
	const lanes = [
		makeLane('allocated', () => 'allocated', first, picture),
		makeLane('second', () => filter.kind, first + lane + gap, picture),
	];

	function laneAt(event) {
		const box = picture.getBoundingClientRect();
		const at = (event.clientY - box.top) / box.height * height;

		if (at < bottom + 4)
			return lanes[event.shiftKey ? 1 : 0];
		return lanes.find((one) => at >= one.top - 3 && at <= one.top + lane + 3);
	}

	const timeAt = makeDraggable(picture, laneAt);

	picture.addEventListener('pointermove', (event) => {
		const at = timeAt(event), bin = Math.round(at / END * BINS);

		cursor.setAttribute('x1', timeToX(at));
		cursor.setAttribute('x2', timeToX(at));
		cursor.setAttribute('visibility', 'visible');
		showTip(event, element('b', {}, formatTicks(at)), element('div', {}, `live: ${formatBytes(Math.round(whole[bin]))}`),
			isFiltered() ? element('div', {}, `of the chosen: ${formatBytes(Math.round(Math.max(0, chosen.live[bin])))}`) : '');
	});
	picture.addEventListener('pointerleave', () => {
		cursor.setAttribute('visibility', 'hidden');
		hideTip();
	});
	views.push(() => part.setAttribute('d', area(chosen.live)));
	return [picture, element('p', { class: 'note' }, 'Drag in a lane, or in the chart for the upper one, with Shift for the ' +
		'lower one; the ends take arrow keys, with Shift for small steps. A double click lets all through again.')];
}
