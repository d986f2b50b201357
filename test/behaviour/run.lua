-- The front of test/behaviour for the module caret, in any Lua: README.md has the language.
--
--     judge FILE... -- sh tools/lua.sh lua5.4 test/behaviour/run.lua

local caret = require "caret"

local unpack = table.unpack or unpack
local path, how = arg[1], arg[2]
local db = assert(caret.open(path, how == "read" and {readonly = true} or {sync = "off"}))
local depth, at_end = 0, false

-- ------------------------------------------------------------- the language

local function plain(bytes)
    if not bytes:find("\\", 1, true) then return bytes end
    return (bytes:gsub("\\(%x%x)", function(code) return string.char(tonumber(code, 16)) end))
end

local function coded(bytes)
    if type(bytes) == "number" then bytes = ("%d"):format(bytes) end -- only integers come back as numbers
    if not bytes:find "[^%w .+%-^%%]" then return bytes end
    return (bytes:gsub("[^%w .+%-^%%]", function(c) return ("\\%02x"):format(c:byte()) end))
end

local function node_text(n)
    local parts = {"n" .. coded(n:varname())}
    for i, sub in ipairs(n:subsarray()) do parts[i + 1] = coded(sub) end
    return table.concat(parts, ",")
end

local function value_text(v) return v == nil and "none" or "v" .. coded(v) end

local function joined(parts) return #parts > 0 and table.concat(parts, "\t") or "none" end

local function say(answer)
    io.write(answer, "\n")
    io.flush()
end

--- The next line: its operation, nodes (each {name, subscripts...}), value and word.  nil at the end of all.
local function read_line()
    local s = io.read "*l"
    at_end = s == nil
    if at_end then return nil end
    local t = {op = s:match "^[^\t]*", nodes = {}}
    for kind, rest in s:gmatch "\t(.)([^\t]*)" do
        if kind == "v" then
            t.value = plain(rest)
        elseif kind == "w" then
            t.word = rest
        else
            local node = {}
            for part in (rest .. ","):gmatch "([^,]*)," do node[#node + 1] = plain(part) end
            t.nodes[#t.nodes + 1] = node
        end
    end
    return t
end

local function node_of(where) return db.node(unpack(where)) end

-- The name of an error that was raised; nil: it is none of ours.  Misuse has none in two of its messages.
local function symbol(e)
    if type(e) ~= "string" then return e.name end
    local misuse = e:find "an increment" or e:find "locks at once" -- they have no name
    return e:match "([A-Z][A-Z_%d]+): " or misuse and "INVALID" or nil
end

-- What a function returns that doesn't raise: true, or nil, text, name.
local function outcome(ok, _, name) return ok and "ok" or name end

-- --------------------------------------------------------------- operations

-- Variables are not children of anything: the next or the previous name.
local function variable_beside(n, previous)
    local before
    for name in db:variables(not n:varname():find "^%^") do
        if name >= n:varname() and previous then break end
        if name > n:varname() then return node_text(db.node(name)) end
        before = name
    end
    return previous and before and node_text(db.node(before)) or "none"
end

local function beside(where, step)
    local n = node_of(where)
    if n:depth() == 0 then return variable_beside(n, step == "previous") end
    local subs = n:subsarray()
    local last = table.remove(subs)
    local parent = db.node(n:varname(), subs)
    local sub = parent[step](parent, last)
    return sub == nil and "none" or node_text(parent(sub))
end

local function end_child(where, step)
    local n = node_of(where)
    local sub = n[step](n)
    if sub ~= n[step == "next" and "first" or "last"](n) then return "DIFFERENT" end
    return sub == nil and "none" or node_text(n(sub))
end

local function children(where, reverse)
    local parts = {}
    for sub in node_of(where):subscripts(reverse) do parts[#parts + 1] = value_text(sub) end
    return joined(parts)
end

-- What is told of a range: two children, or a node and a prefix.
local function range_of(t)
    if t.value then return node_of(t.nodes[1]), {prefix = t.value} end
    local from, to = t.nodes[1], t.nodes[2]
    local parent = {unpack(from, 1, #from - 1)}
    return node_of(parent), {from = from[#from], [t.op:find "before" and "before" or "to"] = to[#to]}
end

local function kill_range(t)
    local n, range = range_of(t)
    n:kill_range(range)
end

local function range(t)
    local n, options = range_of(t)
    local parts = {}
    options.reverse = t.op:find "back" ~= nil
    for _, _, sub in n:range(options) do parts[#parts + 1] = value_text(sub) end
    return joined(parts)
end

local function walk(where)
    local n, parts = node_of(where), {}
    local function add(node, value)
        if value then parts[#parts + 1] = node_text(node) .. "=" .. coded(value) end
    end
    add(n, n:get())
    for node, value in n:walk() do add(node, value) end
    return joined(parts)
end

local function variables(locals)
    local parts = {}
    for name in db:variables(locals) do parts[#parts + 1] = node_text(db.node(name)) end
    return joined(parts)
end

-- The exact sum is the text that is kept; what comes back is that as a number, if there is such a number.
local function incr(t)
    local n = node_of(t.nodes[1])
    local sum = t.value and n:incr(t.value) or not t.value and n:incr()
    return tonumber(sum) == tonumber(n:get()) and value_text(n:get()) or "DIFFERENT"
end

local function get(where) return value_text(node_of(where):get()) end

local function exists(where)
    return node_of(where):exists() and "v1" or "v0"
end

-- Those that come up in so many tries.
local function random_children(where)
    local n, seen, parts = node_of(where), {}, {}
    for _ = 1, 300 do
        local sub = n:random()
        if sub == nil then break end
        seen[sub] = true
    end
    for sub in n:subscripts() do
        if seen[sub] then parts[#parts + 1] = node_text(n(sub)) end
        seen[sub] = nil
    end
    return next(seen) == nil and joined(parts) or "DIFFERENT"
end

-- What was there, and whether the value was put.  What has no call of its own takes a transaction.
local function put(t)
    local n, when = node_of(t.nodes[1]), t.word
    local had, was = n:data(), n:get()
    local refused = when:find "absent" and was or when:find "present" and not was
        or when:find "childless" and had >= 10
    local there
    if when == "any" then
        there = n:swap(t.value)
    elseif when == "absent" then
        local added, other = n:add(t.value)
        if added == not not was then return "DIFFERENT" end
        there = other
    elseif refused then
        there = was
    else
        there = db:tp(function()
            n:set(t.value)
            return was
        end)
    end
    if there ~= was then return "DIFFERENT" end
    return (refused and "REFUSED\t" or "") .. value_text(had) .. "\t" .. value_text(was)
end

local place

local function wait(t)
    local changed, _, name = db:wait(node_of(t.nodes[1]), tonumber(t.word), place)
    return changed and "ok" or name or "none"
end

local function nest(levels)
    if levels == 0 then return "ok" end
    return db:tp(nest, levels - 1)
end

local function lock_all(t)
    local list = {}
    for i, where in ipairs(t.nodes) do list[i] = where end
    return outcome(db:lock(list, tonumber(t.word)))
end

local function clear()
    db:lock()
    for _, locals in ipairs {false, true} do
        for name in db:variables(locals) do db.node(name):kill() end
    end
end

-- Each returns its answer; none: ok.
local operations = {
    set = function(t) node_of(t.nodes[1]):set(t.value) end,
    get = function(t) return get(t.nodes[1]) end,
    get2 = function(t) return get(t.nodes[1]) .. "\t" .. get(t.nodes[2]) end,
    put = put,
    exists = function(t) return exists(t.nodes[1]) end,
    random = function(t) return random_children(t.nodes[1]) end,
    place = function() place = db:place() end,
    wait = wait,
    data = function(t) return value_text(node_of(t.nodes[1]):data()) end,
    delete = function(t) node_of(t.nodes[1]):delete() end,
    kill = function(t) node_of(t.nodes[1]):kill() end,
    incr = incr,
    merge = function(t) node_of(t.nodes[1]):merge(node_of(t.nodes[2])) end,
    copy = function(t) node_of(t.nodes[2]):copy_to(node_of(t.nodes[1])) end,
    move = function(t) node_of(t.nodes[2]):move_to(node_of(t.nodes[1])) end,
    kill_range = kill_range, kill_before = kill_range, kill_prefix = kill_range,
    range = range, range_back = range, prefix = range, prefix_back = range,
    count = function(t) return value_text(node_of(t.nodes[1]):count()) end,
    next = function(t) return beside(t.nodes[1], "next") end,
    previous = function(t) return beside(t.nodes[1], "previous") end,
    first = function(t) return end_child(t.nodes[1], "next") end,
    last = function(t) return end_child(t.nodes[1], "previous") end,
    children = function(t) return children(t.nodes[1]) end,
    children_back = function(t) return children(t.nodes[1], true) end,
    walk = function(t) return walk(t.nodes[1]) end,
    variables = function() return variables(false) end,
    locals = function() return variables(true) end,
    text = function(t) return value_text(tostring(node_of(t.nodes[1]))) end,
    float = function(t) return value_text(db.node("x", tonumber(t.word)):name()) end,
    lock = function(t) return outcome(node_of(t.nodes[1]):grab(tonumber(t.word))) end,
    unlock = function(t) node_of(t.nodes[1]):release() end,
    unlock_all = function() return outcome(db:lock()) end,
    lock_all = lock_all,
    nest = function(t) return nest(tonumber(t.word)) end,
    commit = caret.trollback, -- these three outside of a transaction
    rollback = caret.trollback,
    restart = caret.trestart,
    close = function() db:close() end,
    clear = clear,
}

-- ------------------------------------------------------------- transactions

local lines

local function begin(t)
    local times, ended = 0, nil
    local here = depth + 1
    local function body()
        say(times == 0 and "ok" or "again")
        times, depth = times + 1, here
        ended = lines()
        if ended == "restart" then caret.trestart() end
        if ended == "fail" then error "FAILED: as asked" end
        if ended ~= "commit" then caret.trollback() end
        return "ok"
    end
    local ok, said, _, name = pcall(function()
        if t.op == "snapshot" then return db:snapshot(body) end
        return db:tp(t.word == "restore" and {"*"} or {}, body)
    end)
    depth = here - 1
    local answer = ok and (said or name) or symbol(said)
    if not answer or (answer == "RESTART" and depth > 0) then error(said, 0) end -- on to the outermost one
    if not at_end then say(answer) end
end

local function perform(t)
    local run = operations[t.op]
    if not run then return "UNKNOWN" end
    local ok, answer = pcall(run, t)
    if ok then return answer or "ok" end
    local name = symbol(answer)
    if not name or (name == "RESTART" and depth > 0) then error(answer, 0) end
    return name
end

local ends = {commit = true, rollback = true, fail = true, restart = true}

--- Until one ends the transaction: its operation.
function lines()
    for t in read_line do
        if depth > 0 and ends[t.op] then return t.op end
        if t.op == "begin" or t.op == "snapshot" then
            begin(t)
        else
            say(perform(t))
        end
    end
end

say(math.type and "lua" or "lua doubles") -- doubles: it has no other numbers
lines()
db:close()
