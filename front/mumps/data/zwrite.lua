-- zwrite.lua - ZWRITE and ZSHOW "V": variables as lines that SET @ takes.
--
--     target = {kind = "local" | "global" | "naked" | "svn", name = "X", or pattern = pattern of names,
--               env = environment or nil, [1..n] = subscripts, n = how many; nil: all of the variable}
--     subscript = {"e", value} | {"any"} (a * at the end) | {"range", from or nil, to or nil} | {"pat",
--     pattern}
--
-- Of variables that share their contents the first one's name has them: the others are written as *B=A. What
-- only an alias container has goes by the name $ZWRTAC1 and so on.

local A = require "mumps.runtime.array"
local G = require "mumps.data.globals"
local R = require "mumps.data.ref"
local alias = require "mumps.runtime.alias"
local order = require "mumps.runtime.order"
local report = require "mumps.data.report"

local zwrite = {}

local key, numeric = order.key, order.numeric

local function names() return require "mumps.values.names" end
local function slots() return require "mumps.runtime.symbols".table end
local function is_match(v, p) return require "mumps.values.pattern".is_match(v, p) end

function zwrite.value(v) return names().quote(v) end

-- ---------------------------------------------------------------- subscripts

local function rank(s)
    if s == "" then return 0 end
    return (type(s) == "number" or numeric(s)) and 1 or 2
end

-- Does key a come before key b?
local function before(a, b)
    local x, y = rank(a), rank(b)
    if x ~= y then return x < y end
    if x == 1 then return order.numbers_before(a, b) end
    return x == 2 and a < b
end

local function as_key(v) return type(v) == "string" and key(v) or v end

local function in_range(s, from, to)
    if from ~= nil and from ~= "" and before(s, as_key(from)) then return false end
    return to == nil or to == "" or not before(as_key(to), s)
end

local function fits(s, spec)
    s = as_key(s)
    if spec[1] == "e" then return s == as_key(spec[2]) end
    if spec[1] == "range" then return in_range(s, spec[2], spec[3]) end
    return spec[1] == "any" or is_match(s, spec[2])
end

local function is_open(spec) return spec[1] == "range" and spec[2] == nil and spec[3] == nil end

-- How many subscripts a wanted node has: at least, which leaves out those at the end that may be anything,
-- and at most, nil after a *.
local function depths(t)
    local star = t[t.n][1] == "any"
    local named = star and t.n - 1 or t.n
    local least = named
    while least > 1 and is_open(t[least]) do least = least - 1 end
    return least, not star and named or nil
end

-- Is a node one of those that are wanted?
local function is_wanted(t, subs, n)
    if not t.n or t.n == 0 then return true end
    local least, most = depths(t)
    if n < least or most and n > most then return false end
    for i = 1, math.min(n, most or t.n - 1) do
        if not fits(subs[i], t[i]) then return false end
    end
    return true
end

-- The subscripts at the beginning that are values.
local function prefix(t, ref)
    ref.n = 0
    for i = 1, t.n or 0 do
        if t[i][1] ~= "e" then return ref end
        ref.n = i
        ref[i] = t[i][2]
    end
    return ref
end

-- ------------------------------------------------------------------- locals

-- Names of containers, and what was written of them: for one ZWRITE argument.
local function new_writer(out)
    return {out = out, name = alias.names(slots()), written = {}, anonymous = 0}
end

local write_container

local function write_link(w, text, container)
    local name = w.name[container]
    if name then return w.out("*" .. text .. "=" .. name) end
    if w.anonymous == 0 then w.out '$ZWRTAC=""' end
    w.anonymous = w.anonymous + 1
    name = "$ZWRTAC" .. w.anonymous
    w.name[container] = name
    w.out("*" .. text .. "=" .. name)
    write_container(w, name, container, {})
end

local function write_node(w, name, a, t, subs, n)
    local s = subs[n]
    local v = a.k[s]
    if v == nil or not is_wanted(t, subs, n) then return false end
    local text = names().name(name, n, subs)
    local linked = alias.at(a, s)
    if linked then
        write_link(w, text, linked)
    else
        w.out(text .. "=" .. names().quote(v))
    end
    return true
end

-- All wanted nodes below an array; was there any?
local function write_array(w, name, a, t, subs, n)
    local any = false
    local s = A.first_of(a)
    while s ~= nil do
        subs[n + 1] = s
        any = write_node(w, name, a, t, subs, n + 1) or any
        local below = a.c and a.c[s]
        if below then any = write_array(w, name, below, t, subs, n + 1) or any end
        s = A.following(a, s)
    end
    return any
end

function write_container(w, name, container, t)
    local any = false
    local slot = {name = name, c = container}
    local v = A.peek[0](slot)
    if v ~= nil and is_wanted(t, {}, 0) then
        local tag = (alias.is_shared(container) or name:byte() == 36) and " ;*" or ""
        w.out(name .. "=" .. names().quote(v) .. tag)
        any = true
    end
    local from = prefix(t, {slot = slot})
    local array, subs = A.below(slot, from.n, from), {}
    for i = 1, from.n do subs[i] = as_key(from[i]) end
    if from.n > 0 then
        local above = A.below(slot, from.n - 1, from)
        if above then any = write_node(w, name, above, t, subs, from.n) or any end
    end
    if array then any = write_array(w, name, array, t, subs, from.n) or any end
    return any
end

local function write_slot(w, slot, t)
    local first = w.written[slot.c]
    if first then
        w.out("*" .. slot.name .. "=" .. first)
        return true
    end
    w.written[slot.c] = slot.name
    w.name[slot.c] = slot.name
    return write_container(w, slot.name, slot.c, t)
end

local function finish(w)
    if w.anonymous > 0 then w.out '$ZWRTAC=""' end
end

-- Slots with data, or with an alias, by name, that match the pattern if there is one.
local function sorted(S, pattern)
    local all = {}
    for name, slot in pairs(S) do
        local c = slot.c
        local there = c.v ~= nil or c.a or c.b or alias.is_shared(c)
        if there and (not pattern or is_match(name, pattern)) then all[#all + 1] = slot end
    end
    table.sort(all, function(a, b) return a.name < b.name end)
    return all
end

-- One node was asked for, and nothing is there: the error tells the first of those above it that is missing.
-- is_there(i): is there anything at the first i of its subscripts?
local function undefined(mnemonic, name, t, is_there)
    if require "mumps.runtime.symbols".lenient then return end
    local subs, n = prefix(t, {}), 0
    while n < subs.n and is_there(n, subs) do n = n + 1 end
    return report.fail(mnemonic, report.name(name, n, subs, t.env))
end

local function is_single(t) return t.n and t.n > 0 and prefix(t, {}).n == t.n end

local function write_locals(t, out)
    local w = new_writer(out)
    if t.pattern then
        for _, slot in ipairs(sorted(slots(), t.pattern)) do write_slot(w, slot, t) end
    else
        local slot = slots()[t.name]
        local c = slot.c
        local there = c.v ~= nil or c.a or c.b
        if not (there and write_slot(w, slot, t)) and (not there or is_single(t)) then
            return undefined("LVUNDEF", t.name, t, function(n, subs)
                return A.data[n](slot, unpack(subs, 1, n)) ~= 0
            end)
        end
    end
    finish(w)
end

-- All variables.
function zwrite.all(S, out)
    local w = new_writer(out)
    for _, slot in ipairs(sorted(S)) do write_slot(w, slot, {}) end
    finish(w)
end

-- ------------------------------------------------------------------ globals

local function write_global(name, t, out)
    local ref = prefix(t, {name = name, env = t.env})
    local any = false
    local function put(v, subs, n)
        if is_wanted(t, subs, n) then
            any = true
            out(report.name(name, n, subs, t.env) .. "=" .. names().quote(v))
        end
    end
    local v = R.peek(ref)
    if v ~= nil then put(v, ref, ref.n) end
    R.each_global(ref, put)
    return any
end

local function write_globals(t, out)
    if not t.pattern then
        if write_global(t.name, t, out) then return end
        local function is_there(n, subs)
            return R.data {name = t.name, env = t.env, n = n, unpack(subs, 1, n)} ~= 0
        end
        if is_single(t) or not is_there(0, {}) then return undefined("GVUNDEF", t.name, t, is_there) end
        return
    end
    local name = "^%"
    if R.data {name = name, env = t.env, n = 0} == 0 then name = G.next_name(name, 1, t.env) end
    while name ~= "" do
        if is_match(name:sub(2), t.pattern) then write_global(name, t, out) end
        name = G.next_name(name, 1, t.env)
    end
end

-- A naked one: its subscripts come after those of the last reference but the last.
local function whole(t)
    local last = G.last_reference()
    if not last or last.n == 0 then return report.fail("GVNAKED") end
    local full = {kind = "global", name = last.name, env = last.env, n = last.n - 1}
    for i = 1, last.n - 1 do full[i] = {"e", last[i]} end
    for i = 1, t.n or 0 do
        full.n = full.n + 1
        full[full.n] = t[i]
    end
    return full
end

-- ------------------------------------------------------------------ commands

-- ZWRITE does not touch the naked indicator.
function zwrite.target(t, out)
    if t.kind == "local" then return write_locals(t, out) end
    if t.kind == "svn" then
        return out("$" .. t.name .. "=" .. names().quote(require "mumps.runtime.special".get(t.name)))
    end
    local last, arg = G.N.last, G.N.arg
    if t.kind == "naked" then t = whole(t) end
    local naked = last and G.save_naked {p = G.new_place()}
    write_globals(t, out)
    G.restore_naked(naked or false)
    G.N.arg = naked and arg or false
end

local function to_device(text) require "mumps.io.device".line(text) end

-- ZWRITE of a program: a list of targets as target() takes them; none of them: all local variables.
function zwrite.command(targets)
    if not targets[1] then return zwrite.all(slots(), to_device) end
    for i = 1, #targets do zwrite.target(targets[i], to_device) end
end

function zwrite.lines()
    local lines = {}
    zwrite.all(slots(), function(text) lines[#lines + 1] = text end)
    return lines
end

return zwrite
