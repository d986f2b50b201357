-- What the page shows of the tree: children by cursor, paths, values, counts.

local edit = require "tool.web.edit"
local host = require "caret.host"
local http = require "caret.http"
local json = require "tool.web.json"
local keys = require "tool.web.keys"
local refuse = require "tool.web.refuse"

local tree = {}

local LIMIT, MOST = 100, 500        -- rows
local PIECE, MOST_PIECE = 65536, 1 << 20 -- bytes of a value
local MARKED = 5000                 -- nodes that are compared by what they have
local COUNTED = 100000              -- pages of a database whose nodes are counted at once

-- A whole number of the query.
local function number(query, name, default, least, most)
    local text = query[name]
    if not text or text == "" then return default end
    local n = math.tointeger(tonumber(text))
    if not n or n < least then
        refuse.with("SYNTAX", ("%s is a whole number from %d up"):format(name, least))
    end
    return math.min(n, most)
end

-- A part of the whole, 0 to 1.
local function part(text)
    local n = tonumber(text)
    if not n or not (n >= 0 and n <= 1) then refuse.with("SYNTAX", "at is a number from 0 to 1") end
    return n
end

-- ----------------------------------------------------------------- variables

local function row(sub, data, value)
    return {sub = sub, d = data, value = keys.value(value)}
end

-- Globals are few: all names, and a part of them.  `to` is the last one wanted, as it is for children.
local function names_of(app, query)
    local names, prefix, to = {}, query.prefix or "", query.to or ""
    local function wanted(name)
        if name:sub(1, #prefix) ~= prefix then return false end
        if to == "" then return true end
        if query.reverse then return name >= to end
        return name <= to
    end
    for name in app.db:variables() do
        if wanted(name) then names[#names + 1] = name end
    end
    return names
end

-- The number of the first name that is; one more than there are: none is.
local function first_name(names, is)
    for i, name in ipairs(names) do
        if is(name) then return i end
    end
    return #names + 1
end

-- The numbers of the first and the last name of the answer.
local function span_of(names, query, limit)
    local after, start, n = query.after, query.from, #names
    if query.reverse then
        local high = n
        if after then high = first_name(names, function(name) return name >= after end) - 1
        elseif start then high = first_name(names, function(name) return name > start end) - 1
        end
        return math.max(1, high - limit + 1), high
    end
    local low = 1
    if query.index then low = number(query, "index", 0, 0, n) + 1
    elseif query.at then low = math.max(1, math.min(n, math.floor(part(query.at) * n) + 1))
    elseif query["end"] then low = math.max(1, n - limit + 1)
    elseif after then low = first_name(names, function(name) return name > after end)
    elseif start then low = first_name(names, function(name) return name >= start end)
    end
    return low, math.min(n, low + limit - 1)
end

local function turn(rows)
    for i = 1, #rows // 2 do rows[i], rows[#rows + 1 - i] = rows[#rows + 1 - i], rows[i] end
end

local function variables(app, query)
    local names, rows = names_of(app, query), json.list()
    local low, high = span_of(names, query, number(query, "limit", LIMIT, 1, MOST))
    for i = low, high do
        rows[#rows + 1] = row(names[i], app.db:data(names[i]), app.db:get(names[i]))
    end
    if query.reverse then turn(rows) end
    return {node = json.null, place = app.db:place(), rows = rows, more = high < #names, before = low > 1,
        index = low - 1, total = #names, exact = true}
end

-- ------------------------------------------------------------------ children

-- What the query asks for, as options of Node:range; nil: there is nothing there.
local function range_of(node, query, limit)
    local reverse = query.reverse and query.reverse ~= "" and true or nil
    local o = {limit = limit, reverse = reverse}
    if query.prefix and query.prefix ~= "" and not query.after then
        o.prefix = query.prefix
        return o
    end
    local start = query.from and keys.from_subscript(query.from)
    if query.after then
        local sub = keys.from_subscript(query.after)
        if reverse then start = node:__previous(sub) else start = node:__next(sub) end
        if start == nil then return nil end
    end
    if reverse then o.to = start else o.from = start end
    if query.to and query.to ~= "" then
        o[reverse and "from" or "to"] = keys.from_subscript(query.to)
    end
    return o
end

-- Is a subscript, nil for none, one of those that are asked for?  A number is never in a prefix.
local function inside(node, sub, query)
    local prefix = query.prefix or ""
    if sub == nil or prefix == "" then return sub ~= nil end
    return type(sub) == "string" and sub:sub(1, #prefix) == prefix and
        not keys.subscript(node, sub):find "^[-.%d]"
end

local function rows_of(node, options, query)
    local rows, first, last = json.list(), nil, nil
    if options then
        for child, value, sub in node:__range(options) do
            if not inside(node, sub, query) then break end
            rows[#rows + 1] = row(keys.subscript(node, sub), child:__data(), value)
            first, last = first or sub, sub
        end
    end
    return rows, first, last
end

-- Where the query begins, if it asks for a place by number: options, and the number.
local function by_number(app, node, query, limit)
    local r = app.ranks:of(node)
    local total, exact = r:total()
    if query["end"] then
        return {reverse = true, limit = limit}, nil, total, exact
    end
    local index = query.at and math.floor(part(query.at) * math.max(total - 1, 0))
        or number(query, "index", 0, 0, 1 << 52)
    local sub, at, exactly = r:at(index)
    return sub ~= nil and {from = sub, limit = limit} or nil, at, total, exact and exactly
end

-- The same for a place by subscript, whose number is not known.
local function by_cursor(app, node, query, limit)
    return range_of(node, query, limit), nil, app.ranks:of(node):total()
end

--- GET /api/children
function tree.children(app, request)
    local query = request.query
    if not query.node or query.node == "" then return variables(app, query) end
    local node, limit = keys.node(app.db, query.node), number(query, "limit", LIMIT, 1, MOST)
    local place, numbered = app.db:place(), query.index or query.at or query["end"]
    local options, index, total, exact = (numbered and by_number or by_cursor)(app, node, query, limit)
    local rows, first, last = rows_of(node, options, query)
    if query["end"] then
        turn(rows)
        first, last, index = last, first, math.max(0, total - #rows)
    end
    local low, high = first, last
    if query.reverse and not query["end"] then low, high = last, first end
    local before = low ~= nil and inside(node, node:__previous(low), query)
    if not numbered and low ~= nil and not before then index = 0 end
    local more = high ~= nil and inside(node, node:__next(high), query)
    return {node = tostring(node), place = place, rows = rows, more = more, before = before,
        index = index or json.null, total = total, exact = exact}
end

--- GET /api/total
function tree.total(app, request)
    local total, exact = app.ranks:of(keys.node(app.db, request.query.node)):total()
    return {total = total, exact = exact}
end

-- --------------------------------------------------------------------- paths

-- The text of the path bar as ZWR: a ^ is added.
local function completed(text)
    text = text:gsub("^%s+", ""):gsub("%s+$", "")
    if text:find "^%a" or text:find "^%%" then text = "^" .. text end
    return text
end

--- GET /api/path
function tree.path(app, request)
    local node, name, subs = keys.node(app.db, completed(request.query.text or ""))
    local parents, parts, at = json.list(), json.list(), app.db.node(name)
    for i, sub in ipairs(subs) do
        parents[i] = tostring(at)
        parts[i] = keys.subscript(at, sub)
        at = at(sub)
    end
    return {node = tostring(node), name = name, parents = parents, subs = parts, d = node:__data(),
        value = keys.value(node:__get())}
end

-- Names of globals that begin so.
local function complete_name(app, text, list)
    for name in app.db:variables() do
        if name:sub(1, #text) == text and #list < 20 then list[#list + 1] = name end
    end
end

-- Children of what stands before the last comma whose subscripts begin with what stands after it.
local function complete_subscript(app, text, list)
    local head, last = text:match "^(.*[(,])(.-)$"
    local parent = head:gsub("%($", ""):gsub(",$", ")")
    local ok, node = pcall(keys.node, app.db, parent)
    if not ok then return end
    local beginning = last:match '^"(.*)$'
    local options = {limit = 20}
    if beginning then options.prefix = beginning:gsub('""', '"')
    elseif last ~= "" then options.from = last end
    for _, _, sub in node:__range(options) do
        list[#list + 1] = head .. keys.subscript(node, sub)
    end
end

--- Paths that begin like that text: names of globals, or subscripts of one.
function tree.paths(app, text)
    local list = json.list()
    if text:find("(", 1, true) then
        complete_subscript(app, text, list)
    else
        complete_name(app, text, list)
    end
    return list
end

--- GET /api/complete
function tree.complete(app, request)
    return {list = tree.paths(app, completed(request.query.text or ""))}
end

-- -------------------------------------------------------------------- values

--- GET /api/value
function tree.value(app, request)
    local query = request.query
    local node = keys.node(app.db, query.node)
    local place, value = app.db:place(), node:__get()
    local at = number(query, "at", 0, 0, 1 << 30)
    local answer = {node = tostring(node), place = place, d = node:__data(), value = json.null, at = at,
        n = 0}
    if value then
        answer.value, answer.n = keys.piece(value, at, number(query, "n", PIECE, 1, MOST_PIECE))
        answer.value.tag = http.tag(value)
    end
    return answer
end

--- GET /api/raw: the bytes, as a file.
function tree.raw(app, request)
    local value = keys.node(app.db, request.query.node):__get()
    if not value then refuse.with("NOTFOUND", "the node has no value") end
    return nil, 200, {["Content-Type"] = "application/octet-stream",
        ["Content-Disposition"] = 'attachment; filename="value.bin"'}, value
end

-- -------------------------------------------------------------------- counts

-- As far as one gets in 50 ms.
local function count_some(node)
    local n, ends = node:__get() and 1 or 0, host.clock() + 0.05
    for _, value in node:__walk() do
        if value then n = n + 1 end
        if n % 256 == 0 and host.clock() > ends then return n, false end
    end
    return n, true
end

local function sample_of(node)
    local list, value = json.list(), node:__get()
    if value then list[1] = {zwr = tostring(node), value = keys.value(value)} end
    for child, child_value in node:__walk() do
        if #list >= 20 then break end
        if child_value then list[#list + 1] = {zwr = tostring(child), value = keys.value(child_value)} end
    end
    return list
end

--- GET /api/count: what a kill would take.
function tree.count(app, request)
    local node = keys.node(app.db, request.query.node)
    local place, complete = app.db:place(), true
    local n = app.db:stat().pages < COUNTED and node:__count()
    if not n then n, complete = count_some(node) end
    local mark = complete and n <= MARKED and edit.mark(node)
    return {node = tostring(node), place = place, nodes = n, complete = complete, bytes = json.null,
        mark = mark or json.null, sample = sample_of(node)}
end

return tree
