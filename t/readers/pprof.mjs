// SPDX-License-Identifier: GPL-3.0-or-later
// Reads a profile by a decoder of pprof's:
//
//	node pprof.mjs DIRECTORY-OF-NODE_MODULES FILE
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { gunzipSync } from 'node:zlib'

const [modules, file] = process.argv.slice(2)
const { Profile } = createRequire(`${modules}/`)('pprof-format')
const profile = Profile.decode(gunzipSync(readFileSync(file)))
const text = number => profile.stringTable.strings[Number(number)]
const functions = new Map(profile.function.map(it => [it.id, text(it.name)]))
const locations = new Map(profile.location.map(it => [it.id, functions.get(it.line[0].functionId)]))
const samples = {}
for (const sample of profile.sample) {
	const stack = sample.locationId.map(id => locations.get(id)).reverse()
	samples[[...stack, text(sample.label[0].str)].join(';')] = sample.value.map(Number)
}
console.log(JSON.stringify({ types: profile.sampleType.map(it => `${text(it.type)}/${text(it.unit)}`), samples }))
