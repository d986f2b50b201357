-- symbols.lua - local variables by name: slots, containers, and the NEW stack.
--
--     slot {name = "X", c = container} one for each name, as long as anybody has it: emitted code does, in
--                                            upvalues
--     container  {v, a, s, n, b}                             v value or nil, a array or false
--
-- A container belongs to one slot as long as s is false.  Then v == nil means that the variable is undefined,
-- and NEW saves v and a and clears it in place.  s is true if it is shared (n sharers beyond the first:
-- formals by reference, aliases) or if something is in b; then NEW gives the slot a container of its own.
--
-- While v is nil, b may have the value in another form: a fraction that arithmetic gave, which is a short
-- fraction of values/decimal.lua, or a text as a draft of values/draft.lua, to which S X=X_expr adds.  The
-- next reader that wants the string makes it, and it is in v then.  A draft beside a v that is not nil is
-- stale: it waits to be used again.
--
-- NEW stack: entry i is slot[i], cont[i] and either the saved v, a (v false if there was none) or, with a ==
-- nil, the container to be given back.  Restoring is in the opposite order.

local errors = require "mumps.runtime.error"
local canon = require "mumps.values.decimal".canon
local draft = require "mumps.values.draft"
local sort, format, floor, type = table.sort, string.format, math.floor, type
local fail, string_of, look = errors.fail, draft.string, draft.look
local swap, free, grow, begin_draft, copy = draft.swap, draft.free, draft.append, draft.begin, draft.join[1]

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

-- ---- values in another form

local KEPT = 65536 -- a longer draft does not wait

-- What is in b goes.
local function clear(c)
    local b = c.b
    c.b = false
    c.s = c.n > 0
    if type(b) == "cdata" then
        free(b)
    end
end

-- v of what is in b.  A draft may be looked at by somebody at this time: it stays what it is.
local function ripen(c)
    local b = c.b
    if type(b) == "cdata" then
        c.v = string_of(b)
        if b.size <= KEPT then
            return
        end
    else
        c.v = canon(b)
    end
    c.b = false
    c.s = c.n > 0
end

local function settle(c)
    if c.v == nil then
        ripen(c)
    end
    if c.b then
        clear(c)
    end
end

-- Has anybody else this container?  What is pending does not hinder any more.
function M.shared(c)
    if c.b then
        settle(c)
    end
    return c.s
end

function M.value_of(c)
    if c.v == nil and c.b then
        ripen(c)
    end
    return c.v
end

-- May a variable without value be read, as ""?
M.lenient = false

local function undefined(slot)
    local c = slot.c
    if c.b and c.v == nil then
        ripen(c)
    end
    if c.v ~= nil then
        return c.v
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
        ripen(c)
        return c.v
    end
    return v
end

-- SET of a string, or of the spare draft.
local function set_text(slot, d)
    local c = slot.c
    if type(d) ~= "cdata" then
        c.v = d
        return
    end
    local old = c.b
    c.v, c.b, c.s = nil, d, true
    swap(old)
end

M.set_text = set_text

-- SET X=Y, where there is nothing in Y.c.v.
function M.set_copy(slot, from)
    local b = from.c.b
    if type(b) == "cdata" and look(b) then
        return set_text(slot, copy(b))
    elseif type(b) == "number" then
        return M.set_number(slot, b)
    end
    slot.c.v = undefined(from)
end

-- The draft of X, if it has one that may be looked at once more.
local function seen(slot)
    local b = slot.c.b
    return type(b) == "cdata" and look(b) and b or nil
end

-- The value of X, or the draft of it, for one that can take both; X.c.v is nil.
function M.view(slot)
    return seen(slot) or undefined(slot)
end

-- The same, "" if X is undefined.
function M.view_or_empty(slot)
    return seen(slot) or M.peek(slot) or ""
end

local missing

-- The value for one that tells by unset() that there is none: nil.
function M.offer(slot)
    local v = M.peek(slot)
    if v == nil then
        missing = slot.name
        return M.lenient and "" or nil
    end
    return v
end

function M.unset()
    return fail("LVUNDEF", missing)
end

-- X has no value: nil if it is a draft, else it is undefined.
function M.pending(slot)
    if type(slot.c.b) == "cdata" then
        return nil
    end
    return undefined(slot)
end

-- S X=X_more; `old` is X's value as it was before `more` was evaluated, nil: X is a draft.
function M.append(slot, old, more)
    local c = slot.c
    local b = c.b
    if c.v == nil and old == nil and type(b) == "cdata" then
        c.b = grow(b, more)
        return
    end
    old = old or c.v
    if type(old) == "number" then
        old = format("%.0f", old)
    end
    b = begin_draft(old, more)
    if c.b then
        clear(c)
    end
    c.v, c.b, c.s = nil, b, true
end

-- ---- sharing

function M.share(c)
    c.n = c.n + 1
    c.s = true
end

-- One that shares it goes. True if nobody has the container any more.
local function part(c)
    local n = c.n - 1
    if n > 0 then
        c.n = n
        return false
    end
    c.n = 0
    c.s = c.b and true or false
    return n < 0
end

M.part = part

-- Has SET * put a container into any node? forget(a): an array goes, and what its nodes have by SET *, which
-- is in alias.lua.
local aliases = {any = false}

M.aliases = aliases

local function release(a)
    if a and aliases.any then
        aliases.forget(a)
    end
end

M.release = release

local function unshare(c)
    if part(c) then
        release(c.a)
    end
end

M.unshare = unshare

-- ---- the NEW stack

local N = {top = 0, slot = {}, cont = {}, v = {}, a = {}}

M.stack = N

-- No more entries than that, an exclusive NEW counts as some, and some more for the trap of that error: then
-- its level ends.
local MOST, SLACK, WHOLE = 500000, 10000, 50
local limit, exclusive = MOST, {n = 0}

local function check_limit(n)
    if n > limit then
        if limit > MOST then
            return errors.fail_level("STACKCRIT")
        end
        limit = MOST + SLACK
        return fail("STACKCRIT")
    end
end

local function push(slot, c, v, a)
    local t = N.top + 1
    if t > limit then
        return check_limit(t)
    end
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
        clear(c)
    end
end

-- The slot's variable is v, a again, which container c had, alone.
local function give_back(slot, c, v, a)
    local now = slot.c
    if now == c and not c.s then
        release(c.a)
        c.v = v
        c.a = a
    else
        if now.b then
            drop(now)
        end
        if now == c and not c.s then
            release(c.a)
            c.v, c.a = v, a
        else
            unshare(now)
            slot.c = container(v, a)
        end
    end
end

M.give_back = give_back

-- What can be done with an array that nobody has any more (array.lua).
function M.reuse()
end

-- The same at the end of a label's level: the array that the container had can be used again.
function M.leave(slot, c, v, a)
    if c.a and slot.c == c and not c.s then
        M.reuse(c.a)
    end
    return give_back(slot, c, v, a)
end

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
    if limit > MOST and top + exclusive.n * WHOLE < MOST then
        limit = MOST
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
    release(c.a)
    c.v, c.a = nil, false
    if c.b then
        clear(c)
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
        release(c.a)
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
function exclusive:restore(set)
    self.n = self.n - 1
    each_but(set, leave)
end

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
    check_limit(N.top + exclusive.n * WHOLE)
    for name in pairs(set) do
        local c = S[name].c
        M.share(c)
        M.push_special(kept, c, false)
    end
    each_but(set, M.new)
    M.push_special(exclusive, set, false)
    exclusive.n = exclusive.n + 1
end

return M
