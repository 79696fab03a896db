// SPDX-License-Identifier: GPL-3.0-or-later
// One object beside the rest: what it is, what is in it, what holds it. And the search.

const panel = document.getElementById('object');
const searchField = document.getElementById('search');
const foundList = document.getElementById('found');

// --- an object ------------------------------------------------------------------------

// "  name = value" in two columns, deeper ones indented; what is no field goes across both.
function fieldLine(line) {
	const depth = line.search(/\S/) / 2 - 1;
	const field = line.match(/^\s*([\w.$[\]<>:"* +-]+?) = (.*)$/);

	if (!field)
		return element('tr', {}, element('td', { colspan: 2, style: `--depth: ${depth}` },
			linked(line.trim())));
	// Indentation shows the structure that a brace opens.
	return element('tr', {}, element('th', { scope: 'row', style: `--depth: ${depth}` }, field[1]),
		element('td', {}, linked(field[2].replace(/ ?\{$/, ''))));
}

// The texts of `show`: where it comes from, the calls that led there, and its fields.
function shownParts(object) {
	const lines = object.show.split('\n').filter((line) => line.trim());
	const isCall = (line) => /^ {4}#\d/.test(line);
	const isOrigin = (line) => /^ {2}(allocated by |backtrace.*:$|part of )/.test(line);

	return {
		origin: lines.filter((line) => isOrigin(line) && !/^ {2}backtrace/.test(line)),
		backtrace: lines.find((line) => /^ {2}backtrace.*:$/.test(line)),
		calls: lines.filter(isCall),
		fields: lines.filter((line) => !isCall(line) && !isOrigin(line) && line.trim() !== '}'),
	};
}

function backtraceList(shown) {
	return [element('h3', {}, shown.backtrace.includes('first') ?
		'The calls that made the first of its site and size' : 'The calls that made it'),
	element('ol', { class: 'calls', start: 0 }, shown.calls.map((line) =>
		element('li', {}, line.replace(/^ *#\d+ */, ''))))];
}

function shownContent(object) {
	const shown = shownParts(object);

	return [
		shown.origin.map((line) => element('p', { class: 'origin' }, linked(line.trim()))),
		shown.fields.length ? element('table', { class: 'fields' },
			element('caption', {}, 'What is in it'), shown.fields.map(fieldLine)) : null,
		shown.calls.length ? backtraceList(shown) : null,
	];
}

function pathList(object) {
	return [element('h3', {}, object.paths.length > 1 ? 'Ways from roots to it, each by another holder' :
		'A way from a root to it'),
	object.paths.map((path) => element('ol', { class: 'path' }, path.trimEnd().split('\n')
		.map((line) => element('li', {}, linked(line.trim())))))];
}

function objectContent(number) {
	const object = data.objects[number];
	const command = `heapsh ${data.snapshots[data.snapshots.length - 1].file} identify ${object.address}`;

	return [
		element('button', { type: 'button', class: 'close', 'aria-label': 'Close (Escape)',
			title: 'Close (Escape)', onclick: closeObject }, '×'),
		element('h2', {}, object.name),
		element('dl', {},
			element('dt', {}, 'own'), element('dd', {}, formatBytes(object.size)),
			element('dt', {}, 'retained'), element('dd', { 'data-bytes': object.retained },
				`${formatBytes(object.retained)}, ${formatShare(object.retained, data.totals.bytes)} of the heap`),
			element('dt', {}, 'held by'), element('dd', {}, linked(object.held_by))),
		object.paths && object.paths.length ? pathList(object) : null,
		object.show ? shownContent(object) : element('p', { class: 'note' }, 'The page had no room for more.'),
		element('p', { class: 'note' }, 'To go on: ', element('code', {}, command)),
	].flat(Infinity).filter(Boolean);
}

let beforeObject = null;

function openObject(number) {
	if (panel.hidden)
		beforeObject = document.activeElement;
	panel.replaceChildren(...objectContent(number));
	panel.hidden = false;
	panel.scrollTop = 0;
	document.body.classList.add('beside');
	panel.focus({ preventScroll: true });
}

function hideObject() {
	if (panel.hidden)
		return;
	panel.hidden = true;
	document.body.classList.remove('beside');
	if (beforeObject && beforeObject.isConnected)
		beforeObject.focus({ preventScroll: true });
}

function closeObject() {
	history.pushState(null, '', location.pathname + location.search);
	hideObject();
}

function followHash() {
	const found = location.hash.match(/^#object-(\d+)$/);

	if (found && data.objects[Number(found[1])])
		openObject(Number(found[1]));
	else
		hideObject();
}

// --- search ---------------------------------------------------------------------------

const FOUND_SHOWN = 12; // of each

function goToRow(section, name) {
	const row = document.querySelector(`#${section}-table tr[data-name="${CSS.escape(name)}"]`);

	document.getElementById(section === 'roots' ? 'roots' : 'types').scrollIntoView();
	if (!row)
		return;
	row.scrollIntoView({ block: 'center' });
	row.classList.add('flash');
	setTimeout(() => row.classList.remove('flash'), 1600);

	const opener = row.querySelector('.opener[aria-expanded=false]');

	if (opener)
		opener.click();
}

function showKind(what, name) {
	const button = [...document.querySelectorAll('#types .choice button')]
		.find((one) => one.textContent === what);

	button.click();
	for (const more of document.querySelectorAll('#types .more:not([hidden])'))
		more.click();
	goToRow(what, name);
}

function searchAll(words) {
	const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
	const matches = (text) => wanted.every((word) => text.toLowerCase().includes(word));
	const take = (rows, make) => rows.filter((row) => row.name && matches(row.name))
		.slice(0, FOUND_SHOWN).map(make);

	if (wanted.length === 0)
		return [];
	return [
		...take(data.types, (row) => ({ what: 'type', row, go: () => showKind('types', row.name) })),
		...take(data.roots, (row) => ({ what: 'root', row: { ...row, bytes: row.retained },
			go: () => goToRow('roots', row.name) })),
		...take(data.sites, (row) => ({ what: 'site', row, go: () => showKind('sites', row.name) })),
		...data.objects.map((object, number) => ({ object, number }))
			.filter(({ object }) => matches(`${object.name} ${object.show || ''}`)).slice(0, 2 * FOUND_SHOWN)
			.map(({ object, number }) => ({ what: 'object',
				row: { name: object.name, bytes: object.retained },
				go: () => { location.hash = `#object-${number}`; } })),
	];
}

function showFound() {
	const found = searchAll(searchField.value);
	const asked = searchField.value.trim() !== '';

	foundList.replaceChildren(...found.map((one, index) => element('li', {
		role: 'option', id: `found-${index}`, 'aria-selected': String(index === 0),
		onpointerdown: (event) => {
			event.preventDefault();
			choose(one);
		},
	}, element('small', {}, one.what), element('span', {}, one.row.name),
	element('span', { class: 'number' }, formatBytes(one.row.bytes)))));
	if (asked && found.length === 0)
		foundList.append(element('li', { class: 'none' }, 'Nothing that this page knows. The shell knows all: find, show.'));
	foundList.found = found;
	foundList.hidden = !asked;
	searchField.setAttribute('aria-expanded', String(asked));
	markFound(0);
}

function choose(one) {
	searchField.blur();
	foundList.hidden = true;
	searchField.setAttribute('aria-expanded', 'false');
	one.go();
}

function markFound(index) {
	const options = foundList.querySelectorAll('[role=option]');

	options.forEach((option, at) => option.setAttribute('aria-selected', String(at === index)));
	if (options[index])
		options[index].scrollIntoView({ block: 'nearest' });
	searchField.setAttribute('aria-activedescendant', options[index] ? `found-${index}` : '');
	foundList.at = index;
}

function searchKey(event) {
	const found = foundList.found || [];

	if (event.key === 'Escape') {
		searchField.value = '';
		foundList.hidden = true;
		searchField.blur();
	} else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
		const step = event.key === 'ArrowDown' ? 1 : found.length - 1;

		if (found.length)
			markFound((foundList.at + step) % found.length);
	} else if (event.key === 'Enter' && found.length) {
		choose(found[foundList.at]);
	} else {
		return;
	}
	event.preventDefault();
	event.stopPropagation();
}

function startSearch() {
	searchField.addEventListener('input', showFound);
	searchField.addEventListener('focus', showFound);
	searchField.addEventListener('blur', () => { foundList.hidden = true; });
	searchField.addEventListener('keydown', searchKey);
}
