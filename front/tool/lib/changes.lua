-- Changes out of the log: read one after the other, printed in two ways.

local command = require "tool.lib.command"
local inspect = require "caret.inspect"
local json = require "tool.lib.json"
local nodes = require "tool.lib.nodes"

local changes = {}
local log = {}
log.__index = log

--- Follow the log of a database from a place on: 0 the oldest there is, -1 after the last.
function changes.open(db, place)
    local handle = inspect.open(db:path())
    local raw, text = handle:log(place)
    if not raw then command.fail(text) end
    return setmetatable({handle = handle, raw = raw, at = place, db = db}, log)
end

-- Flags of caret_kill_range().
local PREFIX, BEFORE, FROM_STRING, TO_STRING = 1, 2, 4, 8

-- A bound as an address has it: a number bare, a string in quotes.
local function bound(db, text, string)
    return string and nodes.zwr(text) or nodes.subscript(db.node("^x", text), text)
end

-- The bounds of a range as a list: name, text, text as in an address; ...
local function bounds(db, from, to, flags)
    local list = {}
    if from then
        local prefix = flags & PREFIX ~= 0
        list[1] = {prefix and "prefix" or "from", from, bound(db, from, prefix or flags & FROM_STRING ~= 0)}
    end
    if to then
        local name = flags & BEFORE ~= 0 and "before" or "to"
        list[#list + 1] = {name, to, bound(db, to, flags & TO_STRING ~= 0)}
    end
    return list
end

--- The next change, {lsn=, index=, count=, kind=, node=, value=, length=, range=, db=}; nil: none yet.
-- A follower that was too slow begins anew after the last commit, and is told.
function log:next(node)
    local lsn, index, count, kind, name, value, length, from, to, flags = self.raw:next(node)
    if lsn then
        return {lsn = lsn, index = index, count = count, kind = kind, node = name, value = value,
            length = length, range = flags and bounds(self.db, from, to, flags), db = self.db}
    elseif index and count == "NOTFOUND" then
        io.stderr:write("caret ", command.name, ": too slow: some changes are overwritten, and left out\n")
        self.raw:close()
        self.raw = self.handle:log(-1)
        return self:next(node)
    elseif index then
        command.fail(index)
    end
    return nil
end

--- Sleep until there is one, so many seconds at most; what is wrong next() tells.
function log:wait(node, seconds)
    self.raw:wait(node, seconds)
end

--- from=1 before="b"; "" if it is not a kill of a range, or one of all children.
function changes.range(change)
    local list = {}
    for i, b in ipairs(change.range or {}) do list[i] = b[1] .. "=" .. b[3] end
    return table.concat(list, " ")
end

local function value_text(change)
    if change.range then return (changes.range(change):gsub("^.", " %0")) end
    if change.kind ~= "set" then return "" end
    if change.value then return "=" .. nodes.zwr(change.value) end
    return ("=(%d bytes, changed since)"):format(change.length)
end

local function range_json(change)
    if not change.range then return nil end
    local list = {}
    for _, b in ipairs(change.range) do list[#list + 1], list[#list + 2] = b[1], b[2] end
    return json.object(table.unpack(list))
end

--- 12345 1/2 set ^oaks(1)="10", or 12345 1/1 kill_range ^oaks from=1 before=5
function changes.line(change)
    return ("%d %d/%d %s %s%s"):format(change.lsn, change.index, change.count, change.kind, change.node,
        value_text(change))
end

function changes.json(change)
    return json.encode(json.object("lsn", change.lsn, "index", change.index, "count", change.count,
        "kind", change.kind, "node", json.node(command.node(change.db, change.node)),
        "range", range_json(change), "value", json.value(change.value),
        "length", change.kind == "set" and not change.value and change.length or nil))
end

return changes
