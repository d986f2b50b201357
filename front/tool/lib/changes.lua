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

--- The next change, {lsn=, index=, count=, kind=, node=, value=, length=, db=}; nil if there is none yet.
-- A follower that was too slow begins anew after the last commit, and is told.
function log:next(node)
    local lsn, index, count, kind, name, value, length = self.raw:next(node)
    if lsn then
        return {lsn = lsn, index = index, count = count, kind = kind, node = name, value = value,
            length = length, db = self.db}
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

local function value_text(change)
    if change.kind ~= "set" then return "" end
    if change.value then return "=" .. nodes.zwr(change.value) end
    return ("=(%d bytes, changed since)"):format(change.length)
end

--- 12345 1/2 set ^oaks(1)="10"
function changes.line(change)
    return ("%d %d/%d %s %s%s"):format(change.lsn, change.index, change.count, change.kind, change.node,
        value_text(change))
end

function changes.json(change)
    return json.encode(json.object("lsn", change.lsn, "index", change.index, "count", change.count,
        "kind", change.kind, "node", json.node(command.node(change.db, change.node)),
        "value", json.value(change.value),
        "length", change.kind == "set" and not change.value and change.length or nil))
end

return changes
