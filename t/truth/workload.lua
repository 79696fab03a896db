-- SPDX-License-Identifier: GPL-3.0-or-later
-- Work for Lua: objects with metatables, closures, coroutines, long strings, a queue, code
-- loaded from text, weak tables, userdata; captured inside a coroutine, in the middle of it.

local Account = {}
Account.__index = Account

function Account.new(owner, cents)
	return setmetatable({owner = owner, cents = cents, log = {}}, Account)
end

function Account:deposit(cents, why)
	self.cents = self.cents + cents
	self.log[#self.log + 1] = {cents = cents, why = why, at = #self.log}
end

local function counter(step)
	local count = 0
	return function()
		count = count + step
		return count
	end, function() count = 0 end
end


local accounts, counters, threads, documents = {}, {}, {}, {}
local cache = setmetatable({}, {__mode = "v"})

for i = 1, 3000 do
	local account = Account.new("owner number " .. i, i * 100)
	for j = 1, i % 4 do
		account:deposit(j, j % 2 == 0 and "salary" or "gift of " .. i)
	end
	accounts[i] = account
	cache[account.owner] = account
end

for i = 1, 2000 do
	local step, reset = counter(i)
	counters["counter" .. i] = {step = step, reset = reset, last = step()}
end

for i = 1, 200 do
	threads[i] = coroutine.create(function(first)
		local sum, seen = first, {}
		while true do
			local got = coroutine.yield(sum)
			seen[#seen + 1] = got
			sum = sum + got
		end
	end)
	for j = 1, i % 10 + 1 do
		coroutine.resume(threads[i], j)
	end
end

for i = 1, 300 do
	local lines = {}
	for j = 1, 20 do
		lines[j] = ("line %d of document %d"):format(j, i)
	end
	documents[i] = {text = table.concat(lines, "\n"), lines = lines, words = {}}
	for word in documents[i].text:gmatch("%a+") do
		documents[i].words[word] = (documents[i].words[word] or 0) + 1
	end
end

local functions = {}
for i = 1, 150 do
	functions[i] = assert(load(([[
		local limit, names = %d, {...}
		local function outer(a, b)
			local sum = a
			local function inner(c)
				sum = sum + c * %d
				return sum, names, "constant %d"
			end
			for k = 1, limit do b = inner(k) end
			return b
		end
		return outer(1, 2)
	]]):format(i, i, i)))
	functions[i]("x", "y")
end

local particles = {}
for i = 1, 500 do
	particles[i] = particle(i % 3)
end

local Queue = {first = 1, last = 0, items = {}}
function Queue:push(item)
	self.last = self.last + 1
	self.items[self.last] = item
end
function Queue:pop()
	local item = self.items[self.first]
	self.items[self.first] = nil
	self.first = self.first + 1
	return item
end
for i = 1, 6000 do
	Queue:push({kind = i % 2 == 0 and "even" or "odd", value = i, next = i > 1 and accounts[i % 3000 + 1]})
	if i % 3 == 0 then Queue:pop() end
end

local function tree(depth)
	if depth == 0 then return {leaf = true} end
	return {left = tree(depth - 1), right = tree(depth - 1), depth = depth}
end

local forest = {}
for i = 1, 8 do forest[i] = tree(8) end

local worker = coroutine.wrap(function()
	local function deep(n)
		if n > 0 then return 1 + deep(n - 1) end
		capture()
		return 0
	end
	return deep(30)
end)
assert(worker() == 30)
assert(#accounts + #forest + particles[2]:charge() == 3010)
