-- order.lua - the order of an array's keys.
--
-- A key is a Lua number, which is an integer, or a string. Order: the empty string, numbers by value, other
-- strings by bytes. Strings that are canonical numbers (".5", "1" and 20 zeros) are among the numbers.
--
-- An index has the keys of one kind in order, in chunks of at most SIZE keys; a chunk has them at
-- first..last, so that what is taken from its front costs nothing. It is made when order is first asked for,
-- and kept up to date then. The place of the last step is remembered: the next step from there looks at
-- nothing else.
--
--     index = {chunk..., n = how many, kind = type of the keys, mixed = are there strings among numbers,
--              at = chunk, pos = place in it}

local host = require "mumps.host"

local order = {}

local byte, find, format, tonumber, type = string.byte, string.find, string.format, tonumber, type
local floor, sort = math.floor, table.sort
local SIZE = 256 -- keys of a chunk
local KNOWN = 4096 -- texts that are remembered
local EXACT = 9007199254740992

-- ------------------------------------------------------------------- keys

local canonical, compare = host.caret_mumps__is_number, host.caret_mumps__key_compare
local known, count = {}, 0

local function remember(text, key)
    if count >= KNOWN then known, count = {}, 0 end
    known[text] = key
    count = count + 1
    return key
end

local function key_slowly(text)
    local key = text
    if #text <= 17 and find(text, "^%-?[1-9]%d*$") or text == "0" then
        local n = tonumber(text)
        if n > -EXACT and n < EXACT then key = n end
    end
    return remember(text, key)
end

-- The function that gives the key that a subscript's text stands for; empty() gives that of the empty text.
function order.keys(empty)
    return function(text)
        local first = byte(text)
        if not first then return empty() end
        if first > 57 or first < 45 then return text end
        local k = known[text]
        if k ~= nil then return k end
        return key_slowly(text)
    end
end

local key = order.keys(function() return "" end)
order.key = key

-- Is a key that is a string a canonical number?
local function numeric(text)
    local first = byte(text)
    return first ~= nil and first <= 57 and first >= 45 and canonical(text, #text) ~= 0
end
order.numeric = numeric

local function text_of(k)
    return type(k) == "number" and format("%.0f", k) or k
end

-- Is number a before number b, be they numbers or strings that are some?
local function before(a, b)
    local x, y = tonumber(a), tonumber(b)
    if x ~= y then return x < y end
    if a == b then return false end
    a, b = text_of(a), text_of(b)
    return compare(a, #a, b, #b) < 0
end

-- ------------------------------------------------------------------ indexes

-- First place in 1..n (or first..last) of t whose key is not before k.
local function place_plain(t, first, last, k)
    while first <= last do
        local middle = floor((first + last) / 2)
        if t[middle] < k then first = middle + 1 else last = middle - 1 end
    end
    return first
end

local function place_mixed(t, first, last, k)
    while first <= last do
        local middle = floor((first + last) / 2)
        if before(t[middle], k) then first = middle + 1 else last = middle - 1 end
    end
    return first
end

-- The first chunk whose last key is not before k; n + 1: there is none.
local function chunk_of(index, k)
    local first, last, mixed = 1, index.n, index.mixed or type(k) ~= index.kind
    while first <= last do
        local middle = floor((first + last) / 2)
        local chunk = index[middle]
        local greatest = chunk[chunk.last]
        local less
        if mixed then less = before(greatest, k) else less = greatest < k end
        if less then first = middle + 1 else last = middle - 1 end
    end
    return first
end

local function place(index, chunk, k)
    if index.mixed or type(k) ~= index.kind then
        return place_mixed(chunk, chunk.first, chunk.last, k)
    end
    return place_plain(chunk, chunk.first, chunk.last, k)
end

-- An index of keys in any order; the list is sorted in place. kind: "number", or "string" for what is not
-- one. mixed: some of the numbers are strings.
function order.make(keys, kind, mixed)
    if mixed then sort(keys, before) else sort(keys) end
    local index = {n = 0, kind = kind, mixed = mixed, at = 0, pos = 0}
    for from = 1, #keys, SIZE do
        local chunk, n = {first = 1, last = 0}, 0
        for i = from, math.min(from + SIZE - 1, #keys) do
            n = n + 1
            chunk[n] = keys[i]
        end
        chunk.last = n
        index.n = index.n + 1
        index[index.n] = chunk
    end
    return index
end

local function insert_chunk(index, at, chunk)
    for i = index.n, at, -1 do index[i + 1] = index[i] end
    index[at] = chunk
    index.n = index.n + 1
    index.at = 0
end

local function remove_chunk(index, at)
    for i = at, index.n do index[i] = index[i + 1] end
    index.n = index.n - 1
    index.at = 0
end

-- A full chunk becomes two, the first of which keeps half, or nearly all where keys are appended.
local function split(index, at, pos)
    local chunk, keep = index[at], floor((index[at].first + index[at].last) / 2)
    if at == index.n and pos > chunk.last then keep = chunk.last end
    local other, n = {first = 1, last = 0}, 0
    for i = keep + 1, chunk.last do
        n = n + 1
        other[n] = chunk[i]
        chunk[i] = nil
    end
    other.last, chunk.last = n, keep
    insert_chunk(index, at + 1, other)
end

local function put(index, chunk, pos, k)
    if chunk.first > 1 and pos - chunk.first < chunk.last - pos then
        chunk.first = chunk.first - 1
        for i = chunk.first, pos - 2 do chunk[i] = chunk[i + 1] end
        chunk[pos - 1] = k
        if chunk == index[index.at] and index.pos < pos then index.at = 0 end
        return
    end
    for i = chunk.last, pos, -1 do chunk[i + 1] = chunk[i] end
    chunk[pos] = k
    chunk.last = chunk.last + 1
    if chunk == index[index.at] and index.pos >= pos then index.at = 0 end
end

-- Move the keys of a chunk to its beginning.
local function close_up(index, chunk)
    local n = chunk.last - chunk.first + 1
    for i = 1, n do chunk[i] = chunk[chunk.first + i - 1] end
    for i = n + 1, chunk.last do chunk[i] = nil end
    chunk.first, chunk.last, index.at = 1, n, 0
end

-- Add a key that is not in it.
function order.insert(index, k)
    if type(k) ~= index.kind then index.mixed = true end
    local at = chunk_of(index, k)
    if at > index.n then
        if index.n == 0 then insert_chunk(index, 1, {first = 1, last = 0}) end
        at = index.n
    end
    local chunk = index[at]
    if chunk.last >= SIZE and chunk.first > SIZE / 2 then close_up(index, chunk) end
    local pos = chunk.last < chunk.first and chunk.first or place(index, chunk, k)
    if chunk.last >= SIZE then
        split(index, at, pos)
        if pos > chunk.last then
            pos, chunk = pos - chunk.last, index[at + 1]
        end
    end
    put(index, chunk, pos, k)
end

-- Remove a key that is in it.
function order.remove(index, k)
    local at = chunk_of(index, k)
    local chunk = index[at]
    local pos = place(index, chunk, k)
    if pos == chunk.first then
        chunk[pos] = nil
        chunk.first = pos + 1
    else
        for i = pos, chunk.last do chunk[i] = chunk[i + 1] end
        chunk.last = chunk.last - 1
        if index.at == at and index.pos >= pos then index.at = 0 end
    end
    if chunk.last < chunk.first then remove_chunk(index, at) end
end

-- Remember a place, and say which key is there.
local function stay(index, at, pos)
    index.at, index.pos = at, pos
    return index[at][pos]
end

local function first(index)
    if index.n == 0 then return nil end
    return stay(index, 1, index[1].first)
end
order.first = first

local function last(index)
    if index.n == 0 then return nil end
    return stay(index, index.n, index[index.n].last)
end
order.last = last

local function after_slowly(index, k)
    local at = chunk_of(index, k)
    if at > index.n then return nil end
    local chunk = index[at]
    local pos = place(index, chunk, k)
    if chunk[pos] == k then pos = pos + 1 end
    if pos <= chunk.last then return stay(index, at, pos) end
    if at == index.n then return nil end
    return stay(index, at + 1, index[at + 1].first)
end

-- The key after k, which need not be in it; nil: there is none.
function order.after(index, k)
    local chunk, pos = index[index.at], index.pos
    if chunk and chunk[pos] == k and pos < chunk.last then
        index.pos = pos + 1
        return chunk[pos + 1]
    end
    return after_slowly(index, k)
end

function order.before(index, k)
    local at = chunk_of(index, k)
    local chunk = index[at]
    if chunk then
        local pos = place(index, chunk, k) - 1
        if pos >= chunk.first then return stay(index, at, pos) end
    end
    if at <= 1 then return nil end
    return stay(index, at - 1, index[at - 1].last)
end

order.numbers_before = before

return order
