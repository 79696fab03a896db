// SPDX-License-Identifier: GPL-3.0-or-later
// The samples, as columns; the filters; and in one pass over all samples what the views show of
// those that the filters let through.

const ALIVE = 0xffffffff;
const TICK = data.tick_us; // µs of the unit of all times here

function takeColumn(name) {
	const text = atob(data[name]);
	const bytes = new Uint8Array(text.length);

	for (let index = 0; index < text.length; index++)
		bytes[index] = text.charCodeAt(index);
	delete data[name];
	return new Uint32Array(bytes.buffer);
}

const born = takeColumn('born'), died = takeColumn('died');
const sizeOf = takeColumn('size'), wayOf = takeColumn('way'), threadOf = takeColumn('thread');
const wayBegins = takeColumn('way_begins'), wayPlaces = takeColumn('way_places');
const COUNT = born.length, WAYS = wayBegins.length - 1;
const END = Math.max(1, Math.ceil(data.end_us / TICK));

// How many allocations a sample of a size stands for; 0 if that size is never sampled.
const standsFor = (size) => size.probability > 0 ? 1 / size.probability : 0;
const weight = {
	objects: Float64Array.from(data.sizes, standsFor),
	bytes: Float64Array.from(data.sizes, (size) => size.bytes * standsFor(size)),
	variance: Float64Array.from(data.sizes, (size) =>
		size.bytes * size.bytes * (1 - size.probability) * standsFor(size) ** 2),
};

// --- places: one for each text --------------------------------------------------------

const places = [];

(() => {
	const numbers = new Map();
	const numberOf = data.places.map((place) => {
		if (!numbers.has(place.text)) {
			numbers.set(place.text, places.length);
			places.push(place);
		}
		return numbers.get(place.text);
	});

	wayPlaces.forEach((place, index) => {
		wayPlaces[index] = numberOf[place];
	});
	delete data.places;
})();

// "enqueue" is in "enqueue (queue.c:12)", in its file's name, and in its module's.
function matchesPlace(place, text) {
	return `${place.text}\n${place.module}`.toLowerCase().includes(text.toLowerCase());
}

// Marks the ways with a place that passes the test. @return [WAYS] 0 or 1
function waysWith(test) {
	const passes = Uint8Array.from(places, (place) => test(place) ? 1 : 0);
	const found = new Uint8Array(WAYS);

	for (let way = 0; way < WAYS; way++) {
		for (let index = wayBegins[way]; index < wayBegins[way + 1] && !found[way]; index++)
			found[way] = passes[wayPlaces[index]];
	}
	return found;
}

// --- filters --------------------------------------------------------------------------

// Ranges are of ticks, or of bytes; null demands nothing.
const filter = {
	allocated: null,
	second: null, // the lower brush: live at some time between, or freed between
	kind: 'live',
	lifetime: null,
	size: null,
	thread: null, // index
	frames: [], // { text, exact, without }: with or without such a call
};

let passingWays = new Uint8Array(WAYS).fill(1);

function chooseWays() {
	passingWays = new Uint8Array(WAYS).fill(1);
	for (const frame of filter.frames) {
		const found = waysWith((place) => frame.exact ? place.text === frame.text :
			matchesPlace(place, frame.text));

		for (let way = 0; way < WAYS; way++)
			passingWays[way] &= found[way] ^ (frame.without ? 1 : 0);
	}
}

// --- the pass -------------------------------------------------------------------------

const BINS = 600; // of time
const COLUMNS = 300, ROWS = 110; // of births, and of lifetimes

const chosen = {
	samples: 0,
	objects: 0,
	bytes: 0,
	variance: 0,
	took: 0, // ms
	// [WAYS]
	ways: { samples: null, objects: null, bytes: null, variance: null, lived: null },
	live: new Float64Array(BINS + 1), // bytes at the end of each bin
	freed: new Float64Array(COLUMNS * ROWS), // bytes, by birth and lifetime
	alive: new Float64Array(COLUMNS * ROWS), // the same of what has not died
};

const lifetimeScale = { logarithmic: true };

// From 1 tick to the end. @return 0 to 1
function lifetimeToShare(lived) {
	return lifetimeScale.logarithmic ? Math.log(Math.max(1, lived)) / Math.log(END + 1) : lived / END;
}

function shareToLifetime(share) {
	return lifetimeScale.logarithmic ? Math.exp(share * Math.log(END + 1)) : share * END;
}

function clear() {
	chosen.samples = chosen.objects = chosen.bytes = chosen.variance = 0;
	for (const name of Object.keys(chosen.ways))
		chosen.ways[name] = new Float64Array(WAYS);
	for (const name of ['live', 'freed', 'alive'])
		chosen[name].fill(0);
}

// Conditions have become numbers by now, so a million samples take milliseconds.
function pass() {
	const [firstBorn, lastBorn] = filter.allocated || [0, ALIVE];
	const [from, to] = filter.second || [0, ALIVE];
	const asksForFreed = filter.second !== null && filter.kind === 'freed';
	const asksForLive = filter.second !== null && filter.kind === 'live';
	const [shortest, longest] = filter.lifetime || [0, Infinity];
	const above = shortest > 0 ? shortest : -1;
	const [smallest, largest] = filter.size || [0, Infinity];
	const sizes = Uint8Array.from(data.sizes, (size) => size.bytes >= smallest && size.bytes <= largest ? 1 : 0);
	const { samples, objects, bytes, variance, lived: livedOf } = chosen.ways;
	const { live, freed, alive } = chosen;
	const toBin = BINS / END, toColumn = COLUMNS / (END + 1);
	const toRow = lifetimeScale.logarithmic ? (ROWS - 1e-9) / Math.log(END + 1) : (ROWS - 1e-9) / END;

	for (let index = 0; index < COUNT; index++) {
		const way = wayOf[index], size = sizeOf[index], from0 = born[index], death = died[index];

		if (!passingWays[way] || !sizes[size] || from0 < firstBorn || from0 > lastBorn ||
			(filter.thread !== null && threadOf[index] !== filter.thread))
			continue;

		const isAlive = death === ALIVE;
		// The lifetime of a live block is unknown; it lasts at least until the end.
		const lived = Math.max(0, (isAlive ? END : death) - from0);

		if (lived <= above || lived >= longest || (isAlive && longest !== Infinity) ||
			(asksForLive && (from0 > to || death <= from)) ||
			(asksForFreed && (isAlive || death < from || death > to)))
			continue;

		const stands = weight.bytes[size];
		const row = (lifetimeScale.logarithmic ? Math.log(lived < 1 ? 1 : lived) : lived) * toRow | 0;

		samples[way]++;
		objects[way] += weight.objects[size];
		bytes[way] += stands;
		variance[way] += weight.variance[size];
		livedOf[way] += lived * weight.objects[size];
		live[Math.min(BINS, Math.ceil(from0 * toBin))] += stands;
		if (isAlive) {
			alive[row * COLUMNS + (from0 * toColumn | 0)] += stands;
		} else {
			live[Math.min(BINS, Math.ceil(death * toBin))] -= stands;
			freed[row * COLUMNS + (from0 * toColumn | 0)] += stands;
		}
	}
	for (let bin = 1; bin <= BINS; bin++)
		live[bin] += live[bin - 1];
}

const views = []; // functions that draw the selection

function refilter() {
	const start = performance.now();

	clear();
	pass();
	for (let way = 0; way < WAYS; way++) {
		for (const name of ['samples', 'objects', 'bytes', 'variance'])
			chosen[name] += chosen.ways[name][way];
	}
	chosen.took = performance.now() - start;
	for (const draw of views)
		draw();
	document.documentElement.dataset.filtered = chosen.took.toFixed(1);
	document.documentElement.dataset.drawnIn = (performance.now() - start).toFixed(1);
}

let isWaiting = false;

// Brushes move more often than the screen shows.
function refilterSoon() {
	if (isWaiting)
		return;
	isWaiting = true;
	requestAnimationFrame(() => {
		isWaiting = false;
		refilter();
	});
}

// --- trees of calls -------------------------------------------------------------------

// Nodes are numbers, parents lower than children; 0 is above all. From the sites up to their
// callers, or from main down.
function buildTree(upwards) {
	const place = [0], parent = [0], first = [0], next = [0];
	const leaf = new Uint32Array(WAYS);
	const numbers = new Map();

	for (let way = 0; way < WAYS; way++) {
		const begin = wayBegins[way], length = wayBegins[way + 1] - begin;
		let node = 0;

		for (let step = 0; step < length; step++) {
			const at = wayPlaces[begin + (upwards ? step : length - 1 - step)];
			const key = node * places.length + at;
			let child = numbers.get(key);

			if (child === undefined) {
				child = place.length;
				numbers.set(key, child);
				place.push(at);
				parent.push(node);
				next.push(first[node]);
				first.push(0);
				first[node] = child;
			}
			node = child;
		}
		leaf[way] = node;
	}
	return { upwards, place, parent, first, next, leaf, sums: null };
}

function sumTree(tree) {
	const names = Object.keys(chosen.ways);

	tree.sums = Object.fromEntries(names.map((name) => [name, new Float64Array(tree.place.length)]));
	for (const name of names) {
		const sums = tree.sums[name], ways = chosen.ways[name];

		for (let way = 0; way < WAYS; way++)
			sums[tree.leaf[way]] += ways[way];
		for (let node = sums.length - 1; node > 0; node--)
			sums[tree.parent[node]] += sums[node];
	}
}

// The children with selected samples, the most bytes first.
function childrenOf(tree, node) {
	const found = [];

	for (let child = tree.first[node]; child; child = tree.next[child]) {
		if (tree.sums.samples[child] > 0)
			found.push(child);
	}
	return found.sort((a, b) => tree.sums.bytes[b] - tree.sums.bytes[a] || a - b);
}

function wayTo(tree, node) {
	return node ? [...wayTo(tree, tree.parent[node]), node] : [0];
}

const trees = {};
const calls = { upwards: true, at: 0, focused: 0, search: '' };

function currentTree() {
	const name = calls.upwards ? 'up' : 'down';

	trees[name] = trees[name] || buildTree(calls.upwards);
	return trees[name];
}

// --- texts ----------------------------------------------------------------------------

function formatTicks(ticks) {
	const us = ticks * TICK;

	if (us === 0)
		return '0';
	if (us < 1000)
		return `${us.toFixed(0)} µs`;
	return us < 1000000 ? `${(us / 1000).toFixed(1)} ms` : `${(us / 1000000).toFixed(2)} s`;
}

function formatSum(bytes, variance) {
	return `${formatBytes(Math.round(bytes))} ±${formatBytes(Math.round(2 * Math.sqrt(variance)))}`;
}
