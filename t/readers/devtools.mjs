// SPDX-License-Identifier: GPL-3.0-or-later
// Reads a .heapsnapshot by the code of Chrome's DevTools:
//
//	node devtools.mjs DIRECTORY-OF-NODE_MODULES FILE
import { createReadStream } from 'node:fs'
import { pathToFileURL } from 'node:url'

// Newer than node 20, which has all else that they need.
Promise.withResolvers ??= () => {
	const result = {}
	result.promise = new Promise((resolve, reject) => Object.assign(result, { resolve, reject }))
	return result
}

const [modules, file] = process.argv.slice(2)
const { parse } = await import(pathToFileURL(`${modules}/heap-snapshot-toolkit/index.js`))
const snapshot = await parse(createReadStream(file, 'utf-8'))

const classes = {}
for (const { name, count, self } of Object.values(snapshot.aggregatesWithFilter({})))
	classes[name] = [count, self]

const retained = {}, distance = {}, stacks = {}
for (const walk = snapshot.allNodes(); walk.hasNext(); walk.next()) {
	const node = walk.item()
	retained[node.id()] = node.retainedSize()
	distance[node.id()] = node.distance()
	const stack = snapshot.allocationStack(node.nodeIndex)
	if (stack)
		stacks[node.id()] = stack.map(frame => frame.functionName)
}
console.log(JSON.stringify({ statistics: snapshot.getStatistics(), classes, retained, distance, stacks }))
