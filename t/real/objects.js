// SPDX-License-Identifier: GPL-3.0-or-later
// Objects of many kinds, for runtimes.t.
import * as std from "std";

class Node {
	constructor(i) {
		this.id = i;
		this.name = "node " + i;
		this.children = [];
	}
	touch() {
		return this.id;
	}
}

function* countFrom(i) {
	while (true)
		yield i++;
}

const number = 10000, few = number / 10;
const all = (count, make) => Array.from({ length: count }, (_, i) => make(i));
const nodes = all(number, i => new Node(i));
const map = new Map(nodes.map(node => ["key" + node.id, { value: node, text: "text number " + node.id }]));
const set = new Set(all(number, i => i * 1.5));
const weak = new WeakMap(nodes.slice(0, few).map(node => [node, { id: node.id }]));
const kept = [
	nodes.slice(0, few).map(node => node.touch.bind(node)),
	all(few, i => new Float64Array(i % 50)),
	all(few, i => new Date(i * 1e9)),
	all(few, i => new RegExp("a" + i % 20 + "(b|c)*")),
	all(few, i => BigInt(i) ** 20n),
	all(number, i => ("s" + i).repeat(i % 10 + 1)),
	all(number, i => "\u4e2d" + i),
	all(few, i => Symbol("symbol " + i)),
	JSON.parse(JSON.stringify(all(number / 2, i => ({ id: i, tags: ["a" + i, "b"], nested: { third: i / 3 } })))),
];
for (const one of kept[kept.push(all(few, countFrom)) - 1])
	one.next();
print("ready");
std.out.flush();
std.in.getline();
print(map.size + set.size + kept.length + (weak.has(nodes[0]) ? 1 : 0));
