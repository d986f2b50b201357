-- symbols.lua - local variables by name: slots, containers, and the NEW stack.
--
--     slot {name = "X", c = container} one for each name, as long as anybody has it: emitted code does, in
--                                            upvalues
--     container  {v, a, s, n, b}                             v value or nil, a array or false
--
-- A container belongs to one slot as long as s is false.  Then v == nil means that the variable is undefined,
-- and NEW saves v and a and clears it in place.  s is true if it is shared (n sharers beyond the first:
-- formals by reference, aliases) or if a growing string is pending in b; then NEW gives the slot a container
-- of its own.
--
-- Growing: S X=X_expr adds to b, {n = pieces, size = bytes, pieces...}, and leaves v nil; the next reader
-- flattens it (value_of).  A buffer beside a v that is not nil is stale.  A fraction that arithmetic gave is
-- pending in b, too: a short fraction of values/decimal.lua, whose text the next reader that wants it makes.
--
-- NEW stack: entry i is slot[i], cont[i] and either the saved v, a (v false if there was none) or, with a ==
-- nil, the container to be given back.  Restoring is in the opposite order.

local errors = require "mumps.runtime.error"
local canon = require "mumps.values.decimal".canon
local concat, sort, format, floor, type = table.concat, table.sort, string.format, math.floor, type
local fail = errors.fail

local M = {}

local function container(v, a)
    return {v = v, a = a or false, s = false, n = 0, b = false}
end

M.container = container

local made, most = 0, 1000 -- names since the last look, and how many there may be until the next

local S = setmetatable({}, {__index = function(t, name)
    local slot = {name = name, c = container(nil, false)}
    made = made + 1
    t[name] = slot
    return slot
end})

M.table = S

-- ---- growing strings

local GROWS = 200
local LONGEST = 1048576

local function settle(c)
    local b = c.b
    c.b = false
    c.s = c.n > 0
    if c.v == nil and b then
        c.v = type(b) == "number" and canon(b) or concat(b, "", 1, b.n)
    end
end

function M.value_of(c)
    if c.b then
        settle(c)
    end
    return c.v
end

-- May a variable without value be read, as ""?
M.lenient = false

local function undefined(slot)
    local c = slot.c
    if c.b then
        settle(c)
        if c.v ~= nil then
            return c.v
        end
    end
    if M.lenient then
        return ""
    end
    return fail("LVUNDEF", slot.name)
end

M.undefined = undefined

-- The same for one that wants a number.
function M.fraction(slot)
    local b = slot.c.b
    return type(b) == "number" and b or undefined(slot)
end

-- SET of what arithmetic gives.
function M.set_number(slot, v)
    local c = slot.c
    if type(v) ~= "number" or v == floor(v) then
        c.v = v
    else
        c.v, c.b, c.s = nil, v, true
    end
end

function M.get(slot)
    return slot.c.v or undefined(slot)
end

-- The value or nil.
function M.peek(slot)
    local c = slot.c
    local v = c.v
    if v == nil and c.b then
        settle(c)
        return c.v
    end
    return v
end

local function begin_growing(c, old, more)
    local b = {n = 2, size = #old + #more, old, more}
    if b.size > LONGEST then
        return fail("MAXSTRLEN")
    end
    c.b = b
    c.s = true
    c.v = nil
end

-- X has no value: nil if a growing string is pending, else it is undefined.
function M.pending(slot)
    if type(slot.c.b) == "table" then
        return nil
    end
    return undefined(slot)
end

-- S X=X_more; `more` is a text, `old` X's value as it was before `more` was evaluated, nil: pending in b.
function M.append(slot, old, more)
    local c = slot.c
    local b = c.b
    if c.v == nil and type(b) == "table" and old == nil then
        local n, size = b.n + 1, b.size + #more
        if size > LONGEST then
            return fail("MAXSTRLEN")
        end
        b[n], b.n, b.size = more, n, size
        return
    end
    old = old or c.v
    if type(old) == "number" then
        old = format("%.0f", old)
    end
    if #old > GROWS then
        begin_growing(c, old, more)
    else
        c.v = old .. more
    end
end

-- ---- sharing

function M.share(c)
    c.n = c.n + 1
    c.s = true
end

local function unshare(c)
    local n = c.n - 1
    if n <= 0 then
        c.n = 0
        c.s = c.b and true or false
    else
        c.n = n
    end
end

M.unshare = unshare

-- ---- the NEW stack

local N = {top = 0, slot = {}, cont = {}, v = {}, a = {}}

M.stack = N

local function push(slot, c, v, a)
    local t = N.top + 1
    N.top = t
    N.slot[t], N.cont[t], N.v[t], N.a[t] = slot, c, v, a
end

local function new_shared(slot, c)
    push(slot, c, false, nil)
    slot.c = container(nil, false)
end

function M.new(slot)
    local c = slot.c
    if c.s then
        if c.b then
            settle(c)
        end
        if c.s then
            return new_shared(slot, c)
        end
    end
    push(slot, c, c.v or false, c.a)
    c.v = nil
    c.a = false
end

-- The slot takes another container until the frame ends: a formal by reference.
function M.bind(slot, c)
    push(slot, slot.c, false, nil)
    slot.c = c
    M.share(c)
end

-- The name gives up what it has: what is pending is wanted by none but those that share it.
local function drop(c)
    if c.n > 0 then
        settle(c)
    else
        c.b, c.s = false, false
    end
end

-- The slot's variable is v, a again, which container c had, alone.
local function give_back(slot, c, v, a)
    local now = slot.c
    if now == c and not c.s then
        c.v = v
        c.a = a
    else
        if now.b then
            drop(now)
        end
        if now == c and not c.s then
            c.v, c.a = v, a
        else
            unshare(now)
            slot.c = container(v, a)
        end
    end
end

M.give_back = give_back

local function pop(t)
    local slot, c, a = N.slot[t], N.cont[t], N.a[t]
    if slot.restore then
        slot:restore(c, N.v[t])
    elseif a == nil then
        unshare(slot.c)
        slot.c = c
    else
        give_back(slot, c, N.v[t] or nil, a)
    end
    N.slot[t], N.cont[t], N.v[t], N.a[t] = false, false, false, false
end

-- Back to that height.
function M.unwind(top)
    for t = N.top, top + 1, -1 do
        N.top = t - 1
        pop(t)
    end
end

-- NEW of what is not a local variable: item:restore(x, y) puts back what it was.
function M.push_special(item, x, y)
    push(item, x, y, false)
end

-- ---- all of them

local function is_there(slot)
    local c = slot.c
    return c.v ~= nil or c.a or c.b
end

-- Names of variables that have data, in order.
function M.names()
    local names = {}
    for name, slot in pairs(S) do
        if is_there(slot) then
            names[#names + 1] = name
        end
    end
    sort(names)
    return names
end

-- The name of the next variable with data, or the one before; "" if there is none.
function M.next_name(name, dir)
    local best
    for other, slot in pairs(S) do
        if is_there(slot) then
            if dir > 0 and other > name and (not best or other < best) then
                best = other
            elseif dir < 0 and (other < name or name == "") and (not best or other > best) then
                best = other
            end
        end
    end
    return best or ""
end

function M.each()
    local names, i = M.names(), 0
    return function()
        i = i + 1
        return names[i] and S[names[i]]
    end
end

local function kill(slot)
    local c = slot.c
    c.v, c.a = nil, false
    if c.b then
        settle(c)
        c.v = nil
    end
end

M.kill = kill

-- What a kept name shares is kept.
function M.kill_except(set)
    local kept = {}
    for name in pairs(set) do
        kept[S[name].c] = true
    end
    for _, name in ipairs(M.names()) do
        local slot = S[name]
        if not set[name] and not kept[slot.c] then
            kill(slot)
        end
    end
end

-- The name has nothing any more; others that share its container keep it.
local function leave(slot)
    local c = slot.c
    if c.b then
        settle(c)
    end
    if c.s then
        unshare(c)
        slot.c = container(nil, false)
    else
        c.v, c.a = nil, false
    end
end

-- Do that with all slots but those of a set which have data or share.
local function each_but(set, action)
    for name, slot in pairs(S) do
        if not set[name] and (slot.c.n > 0 or is_there(slot)) then
            action(slot)
        end
    end
end

-- What came to be after an exclusive NEW goes with it.
local exclusive = {restore = function(_, set)
    each_but(set, leave)
end}

--- No variable has anything any more; NEW is undone down to that height.
function M.clear(top)
    M.unwind(top)
    each_but({}, leave)
end

--- Names that have nothing, and that no code has, are no more: those that indirection made.
function M.forget()
    if made < most then
        return
    end
    local weak = setmetatable({}, {__mode = "v"})
    for name, slot in pairs(S) do
        if slot.c.n == 0 and not is_there(slot) then
            weak[name], S[name] = slot, nil
        end
    end
    collectgarbage()
    made, most = 0, 1000
    for name, slot in pairs(weak) do
        S[name], most = slot, most + 1
    end
end

-- What is kept is an alias until the frame ends, of what it is outside. The name keeps the container that it
-- has then, which is another one after SET *.
local kept = {restore = function(_, c)
    unshare(c)
end}

function M.new_except(set)
    for name in pairs(set) do
        local c = S[name].c
        M.share(c)
        M.push_special(kept, c, false)
    end
    each_but(set, M.new)
    M.push_special(exclusive, set, false)
end

return M
