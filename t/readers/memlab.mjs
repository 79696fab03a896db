// SPDX-License-Identifier: GPL-3.0-or-later
// Reads a .heapsnapshot by memlab:
//
//	node memlab.mjs DIRECTORY-OF-NODE_MODULES FILE
import { createRequire } from 'node:module'

const [modules, file] = process.argv.slice(2)
const require = createRequire(`${modules}/`)
const { getFullHeapFromFile } = require('@memlab/heap-analysis')

// It says what it does on standard output.
const write = process.stdout.write
process.stdout.write = () => true
const heap = await getFullHeapFromFile(file)
const nodes = {}
heap.nodes.forEach(node => {
	nodes[node.id] = { name: node.name, size: node.self_size, retained: node.retainedSize,
		dominator: node.dominatorNode?.id, fields: node.references.map(edge => `${edge.name_or_index}`) }
})
process.stdout.write = write
console.log(JSON.stringify(nodes))
