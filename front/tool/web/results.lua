-- What a statement in Lua gave, for the page: text, and a table or a tree where it is one.
--
-- A list of records is a table {columns, rows}.  What has several levels, a table of Lua or a node with all
-- below it, is a tree: a list of {name, text or tree}, in order.  All that one statement gave has BYTES at
-- most, as a message of this process has a bound (child.lua).

local caret = require "caret"
local chunks = require "tool.lib.chunks"
local json = require "tool.web.json"

local results = {}

local BYTES = 128 << 10      -- of all results of a statement
local ROWS, COLUMNS = 200, 20 -- of a table
local MEMBERS, DEEPEST = 2000, 20 -- of a tree
local LEAF = 1000            -- bytes of a text in it

--- The beginning of a text that is too long, and how long it is.
function results.cut(text, most)
    if #text <= most then return text end
    return ("%s\n... %d bytes in all"):format(text:sub(1, most), #text)
end

-- ----------------------------------------------------------------- tables

local function columns_of(list)
    local columns, known = json.list(), {}
    for i = 1, math.min(#list, 50) do
        if type(list[i]) ~= "table" or caret.isnode(list[i]) then return nil end
        for key in pairs(list[i]) do
            if not known[key] then columns[#columns + 1] = key end
            known[key] = true
        end
    end
    table.sort(columns, function(a, b) return tostring(a) < tostring(b) end)
    return #columns > 0 and #columns <= COLUMNS and columns or nil
end

-- One row; how many bytes it has.
local function row_of(record, columns)
    local row, bytes = json.list(), 0
    for i, column in ipairs(columns) do
        local cell = type(record) == "table" and record[column]
        row[i] = (cell == nil or cell == false and type(record) ~= "table") and ""
            or results.cut(tostring(cell), LEAF)
        bytes = bytes + #row[i]
    end
    return row, bytes
end

-- A list of records as a table; nil: it is none.
local function table_of(value)
    if type(value) ~= "table" or caret.isnode(value) or #value == 0 then return nil end
    local columns = columns_of(value)
    if not columns then return nil end
    local rows, bytes = json.list(), 0
    for i = 1, math.min(#value, ROWS) do
        local row, more = row_of(value[i], columns)
        bytes = bytes + more
        if bytes > BYTES then break end
        rows[i] = row
    end
    for i, column in ipairs(columns) do columns[i] = results.cut(tostring(column), LEAF) end
    return {columns = columns, rows = rows}, bytes
end

-- ------------------------------------------------------------------ trees

local branch

local function name_of(key)
    if type(key) == "string" and not tonumber(key) then return results.cut(key, LEAF) end
    return results.cut(chunks.show(key), LEAF)
end

-- Is there room for one more?  `left`: members and bytes.
local function take(left, bytes)
    left.members, left.bytes = left.members - 1, left.bytes - bytes
    return left.members >= 0 and left.bytes >= 0
end

local function leaf_of(value)
    local kind = type(value)
    if kind == "number" or kind == "boolean" then return value end
    return results.cut(kind == "string" and value or chunks.show(value), LEAF)
end

local function add(list, left, key, value, depth)
    local name, entry = name_of(key), branch(value, left, depth)
    if entry == nil then entry = leaf_of(value) end
    if not take(left, #name + (type(entry) == "string" and #entry or 0)) then return false end
    list[#list + 1] = json.list {name, entry}
    return true
end

-- The members of a table, as chunks.show() has them in order.
local function members(value)
    local list = {}
    for key in pairs(value) do list[#list + 1] = key end
    table.sort(list, chunks.before)
    for i, key in ipairs(list) do list[i] = {key, value[key]} end
    return list
end

-- The children of a node: those that have some are nodes, the others their values.
local function children(node)
    local list = {}
    for child, value, sub in node:__range {limit = MEMBERS} do
        list[#list + 1] = {sub, child:__data() >= 10 and node(sub) or value}
    end
    return list
end

-- Of a table or a node, which may have members; nil: it is neither.
function branch(value, left, depth)
    local is_node = caret.isnode(value)
    if not is_node and (type(value) ~= "table" or getmetatable(value)) then return nil end
    if depth > DEEPEST or left.above[value] then return "..." end
    left.above[value] = true
    local list, own = json.list(), is_node and value:__get()
    if own then add(list, left, "=", own, depth + 1) end
    for _, member in ipairs((is_node and children or members)(value)) do
        if not add(list, left, member[1], member[2], depth + 1) then
            list[#list + 1] = json.list {"...", "the rest is not shown"}
            break
        end
    end
    left.above[value] = nil
    return list
end

local function tree_of(value, bytes)
    local left = {members = MEMBERS, bytes = bytes, above = {}}
    local tree = branch(value, left, 1)
    if type(tree) ~= "table" or #tree == 0 then return nil end
    return tree, bytes - left.bytes
end

-- ---------------------------------------------------------------- results

local function result_of(value, room)
    local result = {type = caret.isnode(value) and "node" or type(value)}
    result.text = results.cut(chunks.show(value), room)
    if result.type == "node" then result.zwr = tostring(value) end
    local table_bytes, tree_bytes
    result.table, table_bytes = table_of(value)
    if not result.table and result.text:find("\n", 1, true) then
        result.tree, tree_bytes = tree_of(value, room)
    end
    return result, #result.text + (table_bytes or tree_bytes or 0)
end

--- For results(n, ...): the first values of n, as much as there is room for.
function results.list(n, ...)
    local list, room = json.list(), BYTES
    for i = 1, n do
        local used
        list[i], used = result_of((select(i, ...)), room)
        room = room - used - 100
        if room < 0 and i < n then
            list[i + 1] = {type = "string", text = ("... %d more results"):format(n - i)}
            break
        end
    end
    return list
end

--- A text that is all there is.
function results.text(text)
    return json.list {{type = "string", text = results.cut(text, BYTES)}}
end

return results
