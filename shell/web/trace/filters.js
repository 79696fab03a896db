// SPDX-License-Identifier: GPL-3.0-or-later
// The filters as fields, as what they have chosen, and as a command.

const units = { '': 1e6, s: 1e6, ms: 1e3, us: 1, 'µs': 1, m: 60e6, h: 3600e6 };

// As heapsh-trace takes it: "1.5s", "20ms"; a number alone is seconds. @return ticks, or NaN
function parseTime(text) {
	const found = /^(\d+(?:\.\d*)?|\.\d+)\s*(s|ms|us|µs|m|h|)$/.exec(text.trim());

	return found ? Number(found[1]) * units[found[2]] / TICK : NaN;
}

// To the µs, so that a command says the same.
function writeTime(ticks) {
	const us = Math.round(ticks * TICK);
	const unit = us < 1000 ? 'us' : us < 1000000 ? 'ms' : 's';

	return `${Number((us / units[unit]).toFixed(6))}${unit}`;
}

// "100", "4K", "2M". @return bytes, or NaN
function parseSize(text) {
	const found = /^(\d+(?:\.\d+)?)\s*([KMG]?)(?:i?B)?$/i.exec(text.trim());

	return found ? Math.round(Number(found[1]) * 1024 ** ' KMG'.indexOf(found[2].toUpperCase() || ' ')) : NaN;
}

// Two fields; an empty one is no bound. They follow what brushes do.
function rangeFields(name, label, most, parse, write) {
	const fields = ['from', 'to'].map((end) => element('input', { type: 'text', size: 8, id: `${name}-${end}`,
		'aria-label': `${name} ${end}`, autocomplete: 'off', spellcheck: 'false', onchange: take,
		placeholder: end === 'from' ? '0' : 'end' }));

	function take() {
		const [from, to] = fields.map((field) => field.value.trim() === '' ? null : parse(field.value));

		fields.forEach((field, index) => field.setAttribute('aria-invalid', String(Number.isNaN([from, to][index]))));
		if (Number.isNaN(from) || Number.isNaN(to))
			return;
		filter[name] = from === null && to === null ? null : [from ?? 0, to ?? most];
		refilter();
	}

	views.push(() => fields.forEach((field, index) => {
		const value = filter[name] && filter[name][index];

		if (document.activeElement !== field || !filter[name])
			field.value = value === null || value === (index ? most : 0) ? '' : write(value);
	}));
	return element('span', { class: 'range' }, element('span', { class: 'label' }, label), fields[0], ' – ', fields[1]);
}

function secondLabel() {
	const select = element('select', { id: 'second-kind', 'aria-label': 'What the second range is of',
		onchange() {
			filter.kind = select.value;
			refilter();
		} },
	element('option', { value: 'live' }, 'live between'),
	element('option', { value: 'freed' }, 'freed between'));

	views.push(() => {
		select.value = filter.kind;
	});
	return select;
}

function threadField() {
	const select = element('select', { id: 'thread', 'aria-label': 'Thread', onchange() {
		filter.thread = select.value === '' ? null : Number(select.value);
		refilter();
	} }, element('option', { value: '' }, 'any thread'),
	data.threads.map((thread, index) => element('option', { value: index }, `thread ${thread}`)));

	views.push(() => {
		select.value = filter.thread ?? '';
	});
	return data.threads.length > 1 ? select : null;
}

// --- calls ----------------------------------------------------------------------------

function addFrame(text, exact, without) {
	if (filter.frames.some((frame) => frame.text === text && frame.without === without))
		return;
	filter.frames.push({ text, exact, without });
	chooseWays();
	refilter();
}

function chip(frame) {
	return element('button', { type: 'button', class: frame.without ? 'chip without' : 'chip',
		title: 'Click to drop', onclick() {
			filter.frames.splice(filter.frames.indexOf(frame), 1);
			chooseWays();
			refilter();
		} }, frame.without ? 'without ' : 'with ', element('code', {}, frame.text), ' ×');
}

// --- what has been chosen -------------------------------------------------------------

function clearFilters() {
	Object.assign(filter, { allocated: null, second: null, kind: 'live', lifetime: null, size: null, thread: null,
		frames: [] });
	chooseWays();
	refilter();
}

function liveAt(ticks) {
	filter.kind = 'live';
	filter.second = [ticks, ticks];
	refilter();
}

function quoted(text) {
	return /^[\w.:,\/=+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

// A frame as heapsh-trace takes it: by function, or where that is not known by module.
function framePattern(frame) {
	if (!frame.exact)
		return `*${frame.text}*`;

	const place = places.find((one) => one.text === frame.text);

	return place.line ? `${place.file}:${place.line}` : place.function || place.module;
}

// The same samples in a terminal, where that can be said.
function command() {
	if (filter.second && filter.kind === 'freed')
		return null;

	const words = [calls.upwards ? '--callers' : '--tree'];
	const range = ([from, to]) => `${writeTime(from)},${to >= END ? '' : writeTime(to)}`;

	if (filter.allocated)
		words.push('--between', range(filter.allocated));
	if (filter.second)
		words.push('--live', filter.second[0] >= END ? `${writeTime(END)},` : range(filter.second));
	if (filter.lifetime && filter.lifetime[0] > 0)
		words.push('--longer', writeTime(filter.lifetime[0]));
	if (filter.lifetime && filter.lifetime[1] !== Infinity)
		words.push('--shorter', writeTime(filter.lifetime[1]));
	if (filter.thread !== null)
		words.push('--thread', String(data.threads[filter.thread]));
	for (const frame of filter.frames)
		words.push(frame.without ? '--not-frame' : '--frame', framePattern(frame));
	return ['heapsh-trace', ...words, data.file].map(quoted).join(' ');
}

function isFiltered() {
	return filter.frames.length > 0 || ['allocated', 'second', 'lifetime', 'size', 'thread']
		.some((name) => filter[name] !== null);
}

function filterFields() {
	const chips = element('span', { class: 'chips' });
	const sum = element('p', { class: 'facts', id: 'chosen', 'aria-live': 'polite' });
	const clearing = element('button', { type: 'button', class: 'more', id: 'clear', title: 'Key 0', onclick: clearFilters },
		'no filters');

	views.push(() => {
		const text = command();

		chips.replaceChildren(...filter.frames.map(chip));
		clearing.disabled = !isFiltered();
		sum.dataset.bytes = chosen.bytes;
		sum.dataset.samples = chosen.samples;
		sum.replaceChildren(element('b', {}, formatSum(chosen.bytes, chosen.variance)), ' in ',
			`${plural(Math.round(chosen.objects), 'object')}: ${formatNumber(chosen.samples)} of ` +
			`${plural(COUNT, 'sample')}, filtered in ${chosen.took.toFixed(1)} ms`,
			text && !filter.size ? element('span', { class: 'command' }, element('code', { id: 'command' }, text)) : '');
	});
	return [
		element('div', { class: 'filters' },
			rangeFields('allocated', 'allocated between', END, parseTime, writeTime),
			rangeFields('second', secondLabel(), END, parseTime, writeTime),
			rangeFields('lifetime', 'lived', Infinity, parseTime, writeTime),
			rangeFields('size', 'size', Infinity, parseSize, String),
			threadField()),
		element('div', { class: 'filters' },
			element('button', { type: 'button', class: 'more', id: 'at-peak', title: 'Key p',
				onclick: () => liveAt(Math.floor(data.peak_us / TICK)) }, 'live at the peak'),
			element('button', { type: 'button', class: 'more', id: 'at-end', title: 'Key e',
				onclick: () => liveAt(END) }, 'live at the end'),
			clearing, chips),
		sum,
	];
}
