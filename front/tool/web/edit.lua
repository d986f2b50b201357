-- Changes: several as one transaction, refused if what was shown has changed; and the last one taken back.
--
-- A change tells what was shown where it was made: the tag of a value, how many nodes a kill would take, a
-- mark of all they had, the place in the log; a merge also what was at its target (`there`).  In the
-- transaction that is looked at again: as it is serializable, nobody can come in between.  One that differs
-- rolls back all, and every difference is told.
--
-- For undo the transaction notes what it touches: `roots`, single nodes and whole subtrees, with all they had
-- before, and a mark of all they have after it.  Undo is a transaction too: if the roots still have that
-- mark, they get what they had.  What is larger than NODES or BYTES is not noted, and can't be undone: the
-- page has no button then.

local caret = require "caret"
local http = require "caret.http"
local json = require "tool.web.json"
local keys = require "tool.web.keys"
local refuse = require "tool.web.refuse"

local edit = {}

local CHANGES = 1000 -- in one request
local NODES, BYTES = 20000, 16 << 20
local NAMES = 5 -- of changed nodes that are told

-- --------------------------------------------------------------------- roots

-- A root is {node =, deep = with all below it, range = only these children, with all below them}.

local function each_below(node, range, f)
    for child, value, sub in node:__range(range) do
        if value then f(tostring(child), value) end
        for below, v in node(sub):__walk() do
            if v then f(tostring(below), v) end
        end
    end
end

local function each(root, f)
    local value = not root.range and root.node:__get()
    if value then f(tostring(root.node), value) end
    if root.range then each_below(root.node, root.range, f) end
    if not root.deep then return end
    for child, v in root.node:__walk() do
        if v then f(tostring(child), v) end
    end
end

local too_large = {}

-- All that the roots have: a list of name, value, ...; nil if it is too much.
local function image_of(roots)
    local list, bytes = {}, 0
    local ok, wrong = pcall(function()
        for _, root in ipairs(roots) do
            each(root, function(name, value)
                list[#list + 1], list[#list + 2] = name, value
                bytes = bytes + #name + #value
                if #list > 2 * NODES or bytes > BYTES then error(too_large, 0) end
            end)
        end
    end)
    if ok then return list end
    if wrong ~= too_large then error(wrong, 0) end
    return nil
end

local function mark_of(image)
    local tags = {}
    for i = 1, #image, 2 do
        tags[#tags + 1] = ("%d %s%s"):format(#image[i], image[i], http.tag(image[i + 1]))
    end
    return http.tag(table.concat(tags))
end

--- A mark of all that a node and those below it have: it differs if one value does; nil: it is too much.
function edit.mark(node)
    local image = image_of {{node = node, deep = true}}
    return image and mark_of(image)
end

-- ---------------------------------------------------------------- operations

local operations = {}

-- The options of a range, from what the page said.
local function range_of(change)
    local range, any = {}, false
    for _, name in ipairs {"from", "to", "before"} do
        if type(change[name]) == "string" then range[name], any = keys.from_subscript(change[name]), true end
    end
    if type(change.prefix) == "string" then range.prefix, any = change.prefix, true end
    if not any then refuse.with("SYNTAX", "a range has a bound") end
    return range
end

operations.set = {
    prepare = function(c, change) c.value = keys.bytes(change.value) end,
    roots = function(c) return {{node = c.node}} end,
    apply = function(c) c.node:__set(c.value) end,
}

operations.delete = {
    roots = function(c) return {{node = c.node}} end,
    apply = function(c) c.node:__delete() end,
}

operations.kill = {
    roots = function(c) return {{node = c.node, deep = true}} end,
    apply = function(c) c.node:__kill() end,
}

operations.killrange = {
    prepare = function(c, change) c.range = range_of(change) end,
    roots = function(c) return {{node = c.node, range = c.range}} end,
    apply = function(c) c.node:__kill_range(c.range) end,
}

operations.rename = {
    target = true,
    roots = function(c) return {{node = c.node, deep = true}, {node = c.to, deep = true}} end,
    apply = function(c) c.node:__move_to(c.to) end,
}

operations.merge = {
    target = true,
    roots = function(c) return {{node = c.to, deep = true}} end,
    apply = function(c) c.to:__merge(c.node) end,
}

-- What was shown of a node and those below it.
local function seen_of(t)
    if type(t) ~= "table" then return {} end
    local seen = {nodes = math.tointeger(t.nodes), place = math.tointeger(t.place),
        mark = type(t.mark) == "string" and t.mark or nil}
    if seen.place and seen.place < 0 then refuse.with("SYNTAX", "a place is 0 or more") end
    return seen
end

-- One change of the request, read before the transaction.
local function prepare(app, change)
    local operation = type(change) == "table" and operations[change.op]
    if not operation then refuse.with("SYNTAX", "there is no change of that kind") end
    local node = keys.node(app.db, change.node)
    local c = {operation = operation, op = change.op, node = node, was = change.was, seen = seen_of(change),
        there = seen_of(change.there),
        over = (change.over == true or type(change.over) == "string") and change.over or nil}
    if operation.target then c.to = keys.node(app.db, change.to) end
    if operation.prepare then operation.prepare(c, change) end
    return c
end

-- ----------------------------------------------------------------- conflicts

-- Look up what was committed at the node or below it after what was shown: some names (`changed`); or that
-- the log is too short to tell (`unknown`), which matters where there is no mark to compare.
local function look_up(app, node, seen)
    if not node or not seen.place or not app.inspect then return end
    local names, known = json.list(), {}
    local feed, _, name = app.db:changes {from = seen.place, prefix = node, wait = 0}
    while feed and #names < NAMES do
        local change
        change, _, name = feed:next()
        if not change then break end
        local text = tostring(change.node)
        if not known[text] then names[#names + 1] = text end
        known[text] = true
    end
    if feed then feed:close() end
    seen.changed = #names > 0 and names or nil
    seen.unknown = name == "NOTFOUND" and not seen.mark or nil
end

-- Of a rename: has the place it goes to something that nobody has decided to write over?
local function occupied(c)
    if c.op ~= "rename" or c.over == true or not c.to:__exists() then return nil end
    local mark = edit.mark(c.to)
    if c.over and c.over == mark then return nil end
    return {now = keys.value(c.to:__get()), nodes = c.to:__count(), mark = mark}
end

-- What a node and those below it have now, if it differs from what was shown.
local function differs(node, seen)
    if not (seen.nodes or seen.changed or seen.mark or seen.unknown) then return nil end
    local n, mark = node:__count(), seen.mark and edit.mark(node)
    local same = n == (seen.nodes or n) and mark == seen.mark
    if same and not seen.changed and not seen.unknown then return nil end
    return {now = keys.value(node:__get()), nodes = n, mark = mark, changed = seen.changed,
        unknown = seen.unknown}
end

-- Likewise of where a rename or a merge goes to.
local function target_of(c)
    local conflict = occupied(c) or c.to and differs(c.to, c.there)
    if conflict then conflict.target = true end
    return conflict
end

-- What is there now that differs from what was shown; nil: nothing does.  In the transaction.
local function conflict_of(c)
    local value = c.node:__get()
    if c.was == json.null and value then return {now = keys.value(value)} end
    if type(c.was) == "string" and (not value or http.tag(value) ~= c.was) then
        local now = keys.value(value)
        if value then now.tag = http.tag(value) end
        return {now = now}
    end
    return differs(c.node, c.seen) or target_of(c)
end

local function conflicts_of(list)
    local conflicts = json.list()
    for i, c in ipairs(list) do
        local conflict = conflict_of(c)
        if conflict then
            conflict.i, conflict.op, conflict.node = i - 1, c.op, tostring(conflict.target and c.to or c.node)
            conflicts[#conflicts + 1] = conflict
        end
    end
    return conflicts
end

-- -------------------------------------------------------------------- commit

local function roots_of(list)
    local roots = {}
    for _, c in ipairs(list) do
        for _, root in ipairs(c.operation.roots(c)) do roots[#roots + 1] = root end
    end
    return roots
end

-- The body of the transaction; it may run more than once.
local function apply(list, roots, result)
    result.conflicts = conflicts_of(list)
    if #result.conflicts > 0 then caret.trollback() end
    result.before = image_of(roots)
    for _, c in ipairs(list) do c.operation.apply(c) end
    local after = result.before and image_of(roots)
    result.mark = after and mark_of(after)
end

local function read_changes(app, data)
    local changes, list = data.changes, {}
    if type(changes) ~= "table" or #changes == 0 or #changes > CHANGES then
        refuse.with("SYNTAX", ("a commit has 1 to %d changes"):format(CHANGES))
    end
    for i, change in ipairs(changes) do
        local c = prepare(app, change)
        look_up(app, c.node, c.seen)
        look_up(app, c.to, c.there)
        list[i] = c
    end
    return list
end

--- POST /api/commit
function edit.commit(app, request)
    app:check_write()
    local list, result = read_changes(app, request.data), {}
    local roots = roots_of(list)
    app.db:tp(apply, list, roots, result)
    if #result.conflicts > 0 then
        refuse.with("CONFLICT", "somebody else changed what was shown", {conflicts = result.conflicts})
    end
    app.undo = nil
    if result.mark then
        app.undo = {id = http.random(8), roots = roots, before = result.before, mark = result.mark}
    end
    return {place = app.db:place(), changed = #list, undo = app.undo and app.undo.id or json.null}
end

-- ---------------------------------------------------------------------- undo

local function clear(root)
    if root.range then root.node:__kill_range(root.range)
    elseif root.deep then root.node:__kill()
    else root.node:__delete()
    end
end

local function restore(app, undo)
    for _, root in ipairs(undo.roots) do clear(root) end
    for i = 1, #undo.before, 2 do keys.node(app.db, undo.before[i]):__set(undo.before[i + 1]) end
end

local function take_back(app, undo, result)
    local now = image_of(undo.roots)
    result.same = now ~= nil and mark_of(now) == undo.mark
    if not result.same then caret.trollback() end
    restore(app, undo)
end

--- POST /api/undo
function edit.undo(app, request)
    app:check_write()
    local undo, result = app.undo, {}
    if not undo or request.data.undo ~= undo.id then
        refuse.with("CONFLICT", "that is not the last commit any more")
    end
    app.db:tp(take_back, app, undo, result)
    if not result.same then
        refuse.with("CONFLICT", "somebody else changed one of these nodes since")
    end
    app.undo = nil
    return {place = app.db:place(), changed = #undo.before // 2}
end

return edit
