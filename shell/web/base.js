// SPDX-License-Identifier: GPL-3.0-or-later
// Shared by both pages: the data, elements, numbers in heapsh's format, light and dark.
// All scripts of a page are in one function, in the order of its frame.

const data = JSON.parse(document.getElementById('data').textContent);

// element('td', { class: 'number', onclick }, 'text', another, null) makes an element.
function element(name, attributes, ...children) {
	return fill(document.createElement(name), attributes, children);
}

function svg(name, attributes, ...children) {
	return fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}

function fill(made, attributes, children) {
	for (const [key, value] of Object.entries(attributes || {})) {
		if (key.startsWith('on'))
			made.addEventListener(key.slice(2), value);
		else if (value === true)
			made.setAttribute(key, '');
		else if (value !== false && value !== null && value !== undefined)
			made.setAttribute(key, value);
	}
	made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
	return made;
}

// --- numbers --------------------------------------------------------------------------

function formatBytes(bytes) {
	const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
	let value = Math.abs(bytes), unit = 0;

	while (value >= 1024 && unit < units.length - 1) {
		value /= 1024;
		unit++;
	}
	return (bytes < 0 ? '−' : '') + (unit ? value.toFixed(1) : String(value)) + ' ' + units[unit];
}

function formatNumber(number) {
	return number.toLocaleString('en', { maximumFractionDigits: 0 }).replaceAll(',', ' ');
}

function formatShare(part, whole) {
	return (whole ? 100 * part / whole : 0).toFixed(1) + ' %';
}

function formatChange(from, to, format) {
	return to === from ? '±0' : (to > from ? '+' : '−') + format(Math.abs(to - from));
}

function formatTime(milliseconds) {
	const time = new Date(milliseconds);
	const two = (number) => String(number).padStart(2, '0');

	return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ` +
		`${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}

function formatDuration(milliseconds) {
	const steps = [[86400000, 'days'], [3600000, 'h'], [60000, 'min'], [1000, 's']];
	const [size, unit] = steps.find(([step]) => milliseconds >= 2 * step) || [1000, 's'];

	return `${(milliseconds / size).toFixed(1)} ${unit}`;
}

function plural(count, word) {
	return `${formatNumber(count)} ${word}${count === 1 ? '' : 's'}`;
}

// --- colours --------------------------------------------------------------------------

const COLOURS = 8;

// --- what hovers ----------------------------------------------------------------------

const tip = document.getElementById('tip');

function showTip(event, ...content) {
	tip.replaceChildren(...content);
	tip.hidden = false;

	const box = tip.getBoundingClientRect();
	const x = Math.min(event.clientX + 14, innerWidth - box.width - 8);
	const below = event.clientY + 18;
	const y = below + box.height > innerHeight ? event.clientY - box.height - 10 : below;

	tip.style.transform = `translate(${Math.max(4, x)}px, ${Math.max(4, y)}px)`;
}

function hideTip() {
	tip.hidden = true;
}

// A group of buttons, one of which is pressed.
function choice(label, names, chosen, choose) {
	const buttons = names.map((name) => element('button', {
		type: 'button',
		'aria-pressed': String(name === chosen),
		onclick() {
			for (const button of buttons)
				button.setAttribute('aria-pressed', String(button === this));
			choose(name);
		},
	}, name));

	return element('span', { class: 'choice', role: 'group', 'aria-label': label }, buttons);
}

// Round values for an axis: 1, 2 or 5 times a power of ten, or of two for bytes.
function ticks(most, count, bytes) {
	const base = bytes ? 2 : 10;
	let step = Math.pow(base, Math.floor(Math.log(most / count) / Math.log(base)));

	for (const factor of bytes ? [1, 2] : [1, 2, 5, 10]) {
		if (most / (step * factor) <= count) {
			step *= factor;
			break;
		}
	}
	step = Math.max(step, 1);
	return Array.from({ length: Math.floor(most / step) + 1 }, (unused, index) => index * step);
}

// --- light ----------------------------------------------------------------------------

function isDark() {
	return (document.documentElement.dataset.theme ||
		(matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
}

function switchLight() {
	document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
}

// --- keys -----------------------------------------------------------------------------

const helpDialog = document.getElementById('help');

// @param keys  [key, what it does]...
function showHelp(keys) {
	helpDialog.replaceChildren(element('h2', {}, 'Keys'), element('dl', {}, keys.flatMap(([key, what]) =>
		[element('dt', {}, element('kbd', {}, key)), element('dd', {}, what)])),
	element('form', { method: 'dialog' }, element('button', {}, 'Close')));
	helpDialog.showModal();
}
