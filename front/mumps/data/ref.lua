-- ref.lua - a reference as a table, for what does not know at compile time what it refers to: indirection,
-- MERGE, LOCK, ZWRITE.
--
--     ref = {slot = X} or {env = environment or nil}, name = "X" or "^X", n = how many, [1..n] = subscripts
--
-- Globals have a place for each operation, name and number of subscripts.

local A = require "mumps.runtime.array"
require "mumps.runtime.walk"
local G = require "mumps.data.globals"
local report = require "mumps.data.report"
local key = require "mumps.runtime.order".key
local names = require "mumps.values.names"
local quote, checked = names.quote, names.checked

local R = {}

local type, unpack, select = type, unpack, select
local MOST = 31 -- subscripts

-- ------------------------------------------------------------------- making

-- Varargs in a table are not compiled: a few subscripts are parameters.
local function more(ref, n, ...)
    for i = 4, n do ref[i] = select(i - 3, ...) end
    return ref
end

function R.local_(slot, n, a, b, c, ...)
    local ref = {slot = slot, name = slot.name, n = n, a, b, c}
    if n > 3 then return more(ref, n, ...) end
    return ref
end

function R.global(name, env, n, a, b, c, ...)
    local ref = {name = name, env = env, n = n, a, b, c}
    if n > 3 then return more(ref, n, ...) end
    return ref
end

-- The naked indicator counts as it is now.
function R.naked(n, ...)
    local last = G.last_reference()
    if not last or last.n == 0 then return report.fail("GVNAKED") end
    last.n = last.n - 1
    if last.n + n > MOST then G.restore_naked(false) end -- an error below, after which there is none
    return R.extend(last, n, ...)
end

-- The same of a naked reference that is made later, by now().
function R.late(n, ...) return {late = true, n = n, ...} end

-- A reference, which may have been late.
function R.now(ref)
    if not ref.late then return ref end
    return R.naked(ref.n, unpack(ref, 1, ref.n))
end

-- The same with room for n more.
local function longer(ref, n)
    local m = ref.n
    if m + n > MOST then return report.fail("MAXNRSUBSCRIPTS") end
    local new = {slot = ref.slot, name = ref.name, env = ref.env, n = m + n, ref[1], ref[2], ref[3],
        ref[4], nil}
    new.bracket, new.late = ref.bracket, ref.late
    for i = 5, m do new[i] = ref[i] end
    return new
end

-- One that may be changed.
function R.copy(ref) return longer(ref, 0) end

function R.extend(ref, n, ...)
    local new, m = longer(ref, n), ref.n
    for i = 1, n do new[m + i] = select(i, ...) end
    return new
end

function R.extend_by_one(ref, a)
    local new = longer(ref, 1)
    new[new.n] = a
    return new
end

-- With fewer subscripts.
function R.first(ref, n)
    local less = {slot = ref.slot, name = ref.name, env = ref.env, n = n}
    for i = 1, n do less[i] = ref[i] end
    return less
end

-- --------------------------------------------------------------- operations

local function new_place(ref)
    if ref.env then return G.extended(ref.name, {}) end
    return G.place(ref.name, {})
end

-- The place of a reference's name for n subscripts: places[n][name]; those with environments are in
-- places[-n - 1].
local function place_for(places, ref, n)
    local named = places[n]
    if not named then
        named = {}
        places[n] = named
    end
    local P = named[ref.name]
    if not P then
        P = new_place(ref)
        named[ref.name] = P
    end
    return P
end

local function place_in(places, ref)
    if ref.env then return G.at(place_for(places, ref, -ref.n - 1), ref.env) end
    return place_for(places, ref, ref.n)
end

R.place_in = place_in

local function call(f, on, ref, v)
    local n = ref.n
    if n == 0 then return f(on, v) end
    if n == 1 then return f(on, ref[1], v) end
    if n == 2 then return f(on, ref[1], ref[2], v) end
    if n == 3 then return f(on, ref[1], ref[2], ref[3], v) end
    if n == 4 then return f(on, ref[1], ref[2], ref[3], ref[4], v) end
    ref[n + 1] = v
    local a = f(on, unpack(ref, 1, n + 1))
    ref[n + 1] = nil
    return a
end

local function operation(name)
    local locals, globals, places = A[name], G[name], {}
    R[name] = function(ref, v)
        if ref.slot then return call(locals[ref.n], ref.slot, ref, v) end
        return call(globals[ref.n], place_in(places, ref), ref, v)
    end
end
for _, name in ipairs {"get", "peek", "set", "kill", "zkill", "data", "next", "prev", "query", "queryback",
                       "incr"} do
    operation(name)
end

function R.set_late(ref, v) return R.set(R.now(ref), v) end

-- What walks a tree by @A@(X) does: the same for a reference and one subscript more, below[op](ref, a, v),
-- without a table for the two.  Long ones take the long way.  What is done, and where, is kept in ref, which
-- is changed by nobody.
R.below = {}

local function with_one_more(name)
    local locals, globals, places, whole = A[name], G[name], {}, R[name]
    local how, where = name .. "_how", name .. "_where"

    local function keep(ref, n)
        ref[how] = ref.slot and locals[n] or globals[n]
        ref[where] = ref.slot or place_for(places, ref, n)
        if name == "next" and not ref.slot and n > 1 then ref.above = place_for(places, ref, n - 1) end
    end

    return function(ref, a, v)
        local n = ref.n
        if ref.env or n > 5 then return whole(R.extend_by_one(ref, a), v) end
        if not ref[how] then keep(ref, n + 1) end
        local f, on = ref[how], ref[where]
        if n == 0 then return f(on, a, v) end
        if n == 1 then return f(on, ref[1], a, v) end
        if n == 2 then return f(on, ref[1], ref[2], a, v) end
        if n == 3 then return f(on, ref[1], ref[2], ref[3], a, v) end
        if n == 4 then return f(on, ref[1], ref[2], ref[3], ref[4], a, v) end
        return f(on, ref[1], ref[2], ref[3], ref[4], ref[5], a, v)
    end
end
for _, name in ipairs {"get", "peek", "set", "kill", "data", "next", "prev", "incr"} do
    R.below[name] = with_one_more(name)
end

-- A walk of a tree of a global steps to ref, and then asks for the first one below.
local next_below, first_of = R.below.next, G.first_of

local function first_below(ref)
    local n, P, Q = ref.n, ref.next_where, ref.above
    local f = first_of[n]
    if n == 1 then return f(P, Q, ref[1]) end
    if n == 2 then return f(P, Q, ref[1], ref[2]) end
    if n == 3 then return f(P, Q, ref[1], ref[2], ref[3]) end
    if n == 4 then return f(P, Q, ref[1], ref[2], ref[3], ref[4]) end
    return f(P, Q, ref[1], ref[2], ref[3], ref[4], ref[5])
end

function R.below.next(ref, a)
    if a == "" and ref.above then return first_below(ref) end
    return next_below(ref, a)
end

local MOST_KEPT = 16 -- names below a reference; arbitrary

-- The newest name that was made so, of a number: its reference, and that number.
R.newest = {name = false, of = false, sub = false}
local newest = R.newest

local function make_name(ref, a)
    local n = ref.n
    if ref.env or n > 30 then return checked(R.name(R.extend_by_one(ref, a))) end
    local open = ref.open
    if not open then
        local text = report.name(ref.name, n, ref)
        open = n == 0 and text .. "(" or text:sub(1, -2) .. ","
        ref.open, ref.below, ref.kept = open, {}, 0
    end
    local name = checked(open .. quote(a) .. ")")
    if ref.kept < MOST_KEPT then
        ref.kept = ref.kept + 1
        ref.below[a] = name
    end
    if type(a) == "number" then newest.name, newest.of, newest.sub = name, ref, a end
    return name
end

-- The name of a reference and one subscript more.  What is before the subscript is kept, and some names.
function R.below.name(ref, a)
    local below = ref.below
    return below and below[a] or make_name(ref, a)
end

-- ^[e]A and ^[e,second]A, which are told as they were written; second: false if there is none.
function R.bracket(ref, second)
    ref.bracket = "[" .. quote(ref.env) .. (second and "," .. quote(second) or "") .. "]"
    return ref
end

function R.name(ref, depth)
    local n = depth and depth < ref.n and depth or ref.n
    if not ref.bracket then return report.name(ref.name, n, ref, ref.env) end
    return "^" .. ref.bracket .. report.name(ref.name, n, ref):sub(2)
end

-- A place that stands there.
local function place_of(ref, empty)
    local P = new_place(ref)
    if ref.env then G.at(P, ref.env) end
    return G.stand(P, ref, empty), P
end
R.place_of = place_of

-- ------------------------------------------------------------------- MERGE

local function session_of(ref) return G.session(ref.env and report.text(ref.env) or G.default) end

local function same_variable(a, b)
    if a.slot or b.slot then return a.slot ~= nil and b.slot ~= nil and a.slot.c == b.slot.c end
    return a.name == b.name and session_of(a) == session_of(b)
end

local function same_key(a, b)
    if type(a) == "string" then a = key(a) end
    if type(b) == "string" then b = key(b) end
    return a == b
end

-- Is one of them below the other, or both the same?
local function related(a, b)
    if not same_variable(a, b) then return false end
    for i = 1, math.min(a.n, b.n) do
        if not same_key(a[i], b[i]) then return false end
    end
    return true
end

local function local_to_local(to, from)
    local array = A.below(from.slot, from.n, from)
    local v = R.peek(from)
    if v ~= nil then R.set(to, v) end
    if array then A.merge_at(to.slot, to.n, to, array) end
end

-- Values below a local array, each with its subscripts: f(v, subs, n).
local function each_local(a, subs, n, f)
    local s = A.first_of(a)
    while s ~= nil do
        subs[n + 1] = s
        local v = a.k[s]
        if v ~= nil then f(v, subs, n + 1) end
        local below = a.c and a.c[s]
        if below then each_local(below, subs, n + 1, f) end
        s = A.following(a, s)
    end
end
R.each_local = each_local

-- The same of a global.
local function each_global(from, f)
    local p, P = place_of(from)
    local root = G.copy(p)
    local subs = {}
    for i = 1, from.n do subs[i] = from[i] end
    while true do
        local v = G.step(P, p, root)
        if v == nil then return end
        local n = G.read_subs(p, subs, from.n)
        f(v, subs, n)
    end
end
R.each_global = each_global

local function set_below(to, from)
    return function(v, subs, n)
        local target = R.first(to, to.n)
        local empty = false
        for i = from.n + 1, n do
            target[to.n + i - from.n] = subs[i]
            empty = empty or subs[i] == ""
        end
        target.n = to.n + n - from.n
        if target.n > MOST then return report.fail("MAXNRSUBSCRIPTS") end
        if empty and not to.slot then
            G.restore_naked(false)
            return report.empty_merged(R.name(target))
        end
        R.set(target, v)
    end
end

local function value_to(to, from)
    local v = R.peek(from)
    if v ~= nil then R.set(to, v) end
end

local function merge_kinds(to, from)
    if from.slot and to.slot then return local_to_local(to, from) end
    if not from.slot and not to.slot and session_of(to) == session_of(from) then
        local p, P = place_of(to)
        if from[from.n] == "" then return end -- no such node: it is not looked for
        return G.merge(P, p, place_of(from))
    end
    value_to(to, from)
    if not from.slot then return each_global(from, set_below(to, from)) end
    local array, subs = A.below(from.slot, from.n, from), {}
    for i = 1, from.n do subs[i] = from[i] end
    if array then each_local(array, subs, from.n, set_below(to, from)) end
end

local function shown(ref)
    if ref.slot then return A.plain_name(ref.name, ref.n, ref) end
    return R.name(ref)
end

-- The reference; the naked indicator is that of it now.
function R.noted(ref)
    if not ref.slot then G.note(place_of(ref), ref) end
    return ref
end

function R.merge(to, from)
    local akin = related(to, from)
    if to.slot then require("mumps.runtime.alias").end_at(to.slot, to.n, to) end
    local nothing = (akin or to.slot and not from.slot) and R.data(from) == 0
    if akin and not nothing then
        if to.n == from.n then return end
        local low, high = to, from
        if to.n < from.n then low, high = from, to end
        return report.fail("MERGEDESC", shown(low), shown(high))
    end
    if not nothing then merge_kinds(to, from) end
    local last = not to.slot and to or not from.slot and from
    if last then G.note(place_of(last, "last"), last) end -- empty at its end only if nothing was set
end

return R
