-- mumps.bridge.locals: M's local variables for other languages in the process (bridge/locals.c).
--
--     get(name, ...)                the value as text, or nil
--     set(value, n, name, ...)      n subscripts follow the name; they are texts in all of these
--     kill(tree, n, name, ...)      tree: with all below it
--     seek(place, back, n, name, ...)
--         the first node with a value after a place, or the last one before it, of all variables: how many
--         texts its address has, and those; 0: there is none.  n is -1 for all variables, without a name
--
-- A place is just before an address (0), just after it, before what is below (1), or after that (2).  The
-- order is that of the tree, where the empty subscript is the first one.

local A = require "mumps.runtime.array"
local key = require "mumps.runtime.order".key
local str = require "mumps.values.number".str
local symbols = require "mumps.runtime.symbols"
local walk = require "mumps.runtime.walk"

local locals = {}

local S = symbols.table
local AT, BEYOND = 0, 2
local following, before_in_tree = A.following, A.before_in_tree
local first_value, last_value = walk.first_value, walk.last_value
local rawget, select, unpack = rawget, select, unpack

function locals.get(name, ...)
    local slot = rawget(S, name)
    local v = slot and A.peek[select("#", ...)](slot, ...)
    return v and str(v) or nil
end

function locals.set(value, n, name, a, ...)
    if n == 0 then return A.set[0](S[name], value) end
    if n == 1 then return A.set[1](S[name], a, value) end
    local list = {a, ...}
    list[n + 1] = value
    return A.set[n](S[name], unpack(list, 1, n + 1))
end

function locals.kill(tree, n, name, ...)
    local slot = rawget(S, name)
    if slot then (tree ~= 0 and A.kill or A.zkill)[n](slot, ...) end
end

-- -------------------------------------------------------------------- seek

-- t[i] is the array that has subs[i] as a key, perhaps; and the one below all of them.
local function arrays(slot, n, subs)
    local t, a = {}, slot.c.a
    for i = 1, n do
        t[i] = a
        local c = a and a.c
        a = c and c[subs[i]] or false
    end
    return t, a
end

local function has(slot, n, t, subs)
    if n == 0 then return symbols.peek(slot) ~= nil end
    return t[n] and t[n].k[subs[n]] ~= nil
end

local function forward(slot, n, subs, place)
    local t, below = arrays(slot, n, subs)
    if place == AT and has(slot, n, t, subs) then return n end
    if place ~= BEYOND and below then return first_value(below, subs, n) end
    for i = n, 1, -1 do
        local a = t[i]
        local s = a and following(a, subs[i])
        if s then
            subs[i] = s
            if a.k[s] ~= nil then return i end
            return first_value(a.c[s], subs, i)
        end
    end
end

local function backward(slot, n, subs, place)
    local t, below = arrays(slot, n, subs)
    if place == BEYOND and below then return last_value(below, subs, n) end
    if place ~= AT and has(slot, n, t, subs) then return n end
    for i = n, 1, -1 do
        local a, s = t[i], nil
        if a then s = before_in_tree(a, subs[i]) end
        if s ~= nil then
            subs[i] = s
            local under = a.c and a.c[s]
            return under and last_value(under, subs, i) or i
        end
        if has(slot, i - 1, t, subs) then return i - 1 end
    end
end

local function address(name, n, subs)
    for i = 1, n do subs[i] = str(subs[i]) end
    return n + 1, name, unpack(subs, 1, n)
end

function locals.seek(place, back, n, name, ...)
    local slot, subs, way = name and rawget(S, name), {...}, back ~= 0 and backward or forward
    for i = 1, n do subs[i] = key(subs[i]) end
    local found = slot and way(slot, n, subs, place)
    if found then return address(name, found, subs) end
    name = symbols.next_name(name or "", back ~= 0 and -1 or 1)
    if name == "" then return 0 end
    found = way(S[name], 0, subs, back ~= 0 and BEYOND or AT)
    return address(name, found, subs)
end

return locals
