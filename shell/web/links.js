// SPDX-License-Identifier: GPL-3.0-or-later
// Types by their colours, and texts with objects in them.

// The largest types have a colour of their own, which is theirs all over the page.
const typeColours = new Map(data.types.filter((type) => type.name && type.name !== 'untyped')
	.slice(0, COLOURS).map((type, index) => [type.name, `var(--colour-${index})`]));

function colourOfType(name) {
	return name === 'untyped' ? 'var(--colour-untyped)' : typeColours.get(name) || 'var(--colour-other)';
}

// --- texts with objects in them -------------------------------------------------------

const numberByAddress = new Map(data.objects.map((object, index) => [object.address, index]));

// @param text  what is shown instead of its name: words, or its address
function objectLink(number, text) {
	const isWord = text && !text.startsWith('0x');

	return element('a', { href: `#object-${number}`, class: isWord ? 'object word' : 'object' },
		text || data.objects[number].name);
}

// Addresses of objects that the page knows become links, text between backticks code.
function linked(text) {
	return text.split(/(`[^`]*`|0x[0-9a-f]+)/).map((part) => {
		if (part.startsWith('`'))
			return element('code', {}, part.slice(1, -1));
		return numberByAddress.has(part) ? objectLink(numberByAddress.get(part), part) : part;
	});
}
