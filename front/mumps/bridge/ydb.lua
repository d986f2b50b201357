-- mumps.bridge.ydb: the module `yottadb` for Lua that M calls: over M's own variables, in the same machine.
--
--     local ydb = require "yottadb"
--     ydb.set("x", 1, "a", 5)        -- M's local variable x(1,"a")
--     print(ydb.get("^oaks", {1}))
--
-- Arguments are those of lua-yottadb, docs/migrating/lua-yottadb.md: (name [, {subs}] [, sub, ...]), or a
-- node instead of the name, then what the function needs besides.  Values are strings; nil: there is none.
-- What M raises is an error with a table: code, text.

local A = require "mumps.runtime.array"
local G = require "mumps.data.globals"
local R = require "mumps.data.ref"
local errors = require "mumps.runtime.error"
local lock = require "mumps.data.lock"
local names = require "mumps.values.names"
local number = require "mumps.values.number"
local special = require "mumps.runtime.special"
local state = require "mumps.bridge.state"
local symbols = require "mumps.runtime.symbols"
local tp = require "mumps.data.tp"
local words = require "mumps.compiler.words"

local ydb = {_VERSION = "3.0", YDB_OK = 0, YDB_TP_RESTART = 2147483646, YDB_TP_ROLLBACK = 2147483645}
ydb.YDB_LOCK_TIMEOUT, ydb.DELETE = 2147483643, {}

local S, str = symbols.table, number.str
local byte, type, select, unpack = string.byte, type, select, unpack
local CARET, DOLLAR, UNDERSCORE = 94, 36, 95

local node = {}

-- Nodes are {[node] = reference}, or {[PARENT] = node, [KEY] = subscript} until the reference is asked for.
local PARENT, KEY = {}, {}
local ref_of

-- ------------------------------------------------------------- arguments

-- The newest integer that was told as a subscript: its text, and itself.  With that walks go on.
local told_text, told_number = "0", 0

-- A Lua value as M's.
local function to_m(v)
    if type(v) == "number" then
        if v % 1 == 0 and v > -2 ^ 53 and v < 2 ^ 53 then return v == 0 and 0 or v end
        return (("%.14g"):format(v):gsub("e", "E"))
    end
    if v == told_text then return told_number end
    if type(v) == "string" then return v end
    return error(("string or number expected, got %s"):format(type(v)), 3)
end

local refuse = errors.fail

local function check_name(name)
    if not name:find "^%^?[%%%a]%w*$" then refuse("INVVARNAME", name) end
end

-- The variable of that name; one that is there has a name that is right.
local function slot_of(name)
    local slot = rawget(S, name)
    if slot then return slot end
    check_name(name)
    return S[name]
end

local right = {} -- names of globals that are

local function reference(name, n, subs)
    if type(name) ~= "string" then error(("string expected, got %s"):format(type(name)), 3) end
    for i = 1, n do subs[i] = to_m(subs[i]) end
    if byte(name) == CARET then
        if not right[name] then
            check_name(name)
            right[name] = true
        end
        if n < 4 then return R.global(name, nil, n, subs[1], subs[2], subs[3]) end
        return R.global(name, nil, n, unpack(subs, 1, n))
    end
    local slot = slot_of(name)
    if n < 4 then return R.local_(slot, n, subs[1], subs[2], subs[3]) end
    return R.local_(slot, n, unpack(subs, 1, n))
end

local function copy_of(subs)
    local list, i = {}, 1
    while subs[i] ~= nil do
        list[i] = subs[i]
        i = i + 1
    end
    return list
end

-- All of the arguments are an address.
local function address(name, ...)
    local n = select("#", ...)
    if getmetatable(name) == node then
        local from = ref_of(name)
        if n == 0 then return from end
        local list = {unpack(from, 1, from.n)}
        local more = type((...)) == "table" and (...) or {...}
        for i = 1, #more do list[from.n + i] = more[i] end
        return reference(from.name, from.n + #more, list)
    end
    if n == 0 then return reference(name, 0, {}) end
    if type((...)) ~= "table" then return reference(name, n, {...}) end
    local list = copy_of((...))
    for i = 2, n do list[#list + 1] = (select(i, ...)) end
    return reference(name, #list, list)
end

local roots = {} -- references without subscripts, by name

-- Of a name and one subscript, be it in a table: the name's reference, and that; nil: the address is another.
local function root_and_sub(name, n, sub)
    if n ~= 1 or type(name) ~= "string" then return nil end
    if type(sub) == "table" then
        if sub[2] ~= nil then return nil end
        sub = sub[1]
    end
    if type(sub) ~= "string" and type(sub) ~= "number" then return nil end
    local root = roots[name]
    if not root then
        root = reference(name, 0, {})
        roots[name] = root
    end
    return root, to_m(sub)
end

-- Those of functions whose last argument is another thing: after plain subscripts always, else as it may be.
local function address_and_last(name, ...)
    local n = select("#", ...)
    if n == 0 or n == 1 and type((...)) == "table" then return address(name, ...) end
    local list = {...}
    return address(name, unpack(list, 1, n - 1)), list[n]
end

local function text(v)
    return v ~= nil and str(v) or nil
end

-- ------------------------------------------------------------------ values

-- A special variable, in full; it may be abbreviated as in M.
local function special_name(name)
    local word = name:sub(2):upper()
    return words.variables[word] or word
end

function ydb.get(name, ...)
    if type(name) == "string" then
        local first, n = byte(name), select("#", ...)
        if first == DOLLAR then return str(special.get(special_name(name))) end
        if n == 0 and first ~= CARET then
            local slot = rawget(S, name)
            if slot then return text(A.peek[0](slot)) end
        end
    end
    local root, sub = root_and_sub(name, select("#", ...), (...))
    if root then return text(R.below.peek(root, sub)) end
    return text(R.peek(address(name, ...)))
end

function ydb.set(name, ...)
    local n = select("#", ...)
    if type(name) == "string" and byte(name) == DOLLAR then
        special.set(special_name(name), to_m((select(n, ...))))
        return (select(n, ...))
    end
    if n == 1 and type(name) == "string" then
        local slot, value = rawget(S, name), (...)
        if slot and value ~= nil and value ~= ydb.DELETE then
            A.set[0](slot, to_m(value))
            return value
        end
    end
    local list = {...}
    local ref, value = address(name, unpack(list, 1, n - 1)), list[n]
    if value == nil or value == ydb.DELETE then R.zkill(ref) else R.set(ref, to_m(value)) end
    return value
end

function ydb.incr(...)
    local ref, by = address_and_last(...)
    return str(R.incr(ref, by == nil and 1 or to_m(by)))
end

function ydb.data(...) return R.data(address(...)) end
function ydb.delete_tree(...) R.kill(address(...)) end
ydb.kill = ydb.delete_tree
function ydb.delete_node(...) R.zkill(address(...)) end

-- ------------------------------------------------------------------ moving

local function name_beside(ref, dir)
    if byte(ref.name) == CARET then return G.next_name(ref.name, dir) end
    return A.next_name(S, ref.name, dir)
end

-- A subscript, as Lua has it; nil: there is none.
local function told(sub)
    if type(sub) == "number" then
        told_text, told_number = str(sub), sub
        return told_text
    end
    return sub ~= "" and sub or nil
end

local function beside(ref, dir)
    if ref.n == 0 then return told(name_beside(ref, dir)) end
    return told((dir == 1 and R.next or R.prev)(ref))
end

function ydb.subscript_next(name, ...)
    local root, sub = root_and_sub(name, select("#", ...), (...))
    if root then return told(R.below.next(root, sub)) end
    return beside(address(name, ...), 1)
end

function ydb.subscript_previous(name, ...)
    local root, sub = root_and_sub(name, select("#", ...), (...))
    if root then return told(R.below.prev(root, sub)) end
    return beside(address(name, ...), -1)
end

-- The same node with another last subscript, or another variable.
local function moved(ref, sub)
    if ref.n == 0 then return address(sub) end
    local list = {unpack(ref, 1, ref.n)}
    list[ref.n] = sub
    return reference(ref.name, ref.n, list)
end

local function each_beside(ref, dir)
    return function()
        local sub = beside(ref, dir)
        if sub then ref = moved(ref, sub) end
        return sub
    end
end

function ydb.subscripts(name, ...)
    local n = select("#", ...)
    local last = n > 0 and select(n, ...) or nil
    if type(last) ~= "boolean" then return each_beside(address(name, ...), 1) end
    local list = {...}
    return each_beside(address(name, unpack(list, 1, n - 1)), last and -1 or 1)
end

local function subs_of(full)
    if full == "" then return nil end
    local parsed, list = names.parse(full), {}
    for i = 1, parsed.n do list[i] = str(parsed[i]) end
    return list
end

function ydb.node_next(...) return subs_of(R.query(address(...))) end
function ydb.node_previous(...) return subs_of(R.queryback(address(...))) end

-- ------------------------------------------------------------------- locks

local function misused(n, called, expected, v, level)
    error(("bad argument #%d to '%s' (%s expected, got %s)"):format(n, called, expected, type(v)), level + 1)
end

local function got(ok)
    if ok == false then error(("YDB Error: %d: YDB_LOCK_TIMEOUT"):format(ydb.YDB_LOCK_TIMEOUT), 0) end
end

function ydb.lock(list, timeout)
    local refs = {}
    if type(list) == "string" or getmetatable(list) == node then list = {list} end
    if list ~= nil and type(list) ~= "table" then misused(1, "lock", "table", list, 2) end
    for i, item in ipairs(list or {}) do
        local plain = type(item) == "string" or getmetatable(item) == node
        if not plain and type(item) ~= "table" then
            error(("bad argument #1 to 'lock' (they must all be nodes, tables or names; number %d is a %s)")
                :format(i, type(item)), 2)
        end
        refs[i] = plain and address(item) or address(unpack(item))
    end
    got(lock.lock(refs, timeout and to_m(timeout)))
end

function ydb.lock_incr(...)
    local ref, timeout = address_and_last(...)
    got(lock.plus({ref}, timeout and to_m(timeout)))
end
ydb.grab = ydb.lock_incr

function ydb.lock_decr(...) lock.minus {address(...)} end
ydb.release = ydb.lock_decr

-- ------------------------------------------------------------ transactions

-- Is it a code of an error or an outcome, rather than any result?
local function is_code(v)
    return type(v) == "number" and (-v >= 2 ^ 27 and -v <= 2 ^ 30 or v >= ydb.YDB_LOCK_TIMEOUT and v < 2 ^ 31)
end

local function end_by(outcome)
    if not is_code(outcome) then return tp.commit() end
    if outcome == ydb.YDB_TP_RESTART then return tp.restart() end
    tp.rollback(tp.level() - 1)
    error(("YDB Error: %s: %s"):format(tostring(outcome),
        outcome == ydb.YDB_TP_ROLLBACK and "YDB_TP_ROLLBACK" or "the transaction was rolled back"), 0)
end

-- The function failed: its transaction is undone, unless it begins again, or M leaves it.
local function failed(own, e)
    if not errors.is_control(e) then tp.leave(own) end
    error(e, 0)
end

local function slots_of(list)
    if not list then return {} end
    if list[1] == "*" or list == "*" then return "*" end
    local slots = {}
    for i, name in ipairs(list) do
        if type(name) ~= "string" then misused(1, "tp", "string", name, 3) end
        if byte(name) == CARET then refuse("GVNUNSUPPORTED", name, "ydb_tp_s()") end
        slots[i] = slot_of(name)
    end
    return slots
end

-- What trollback() throws in functions of tp(), which a pcall in them passes on.
local LEFT = errors.control{control = "rollback"}

local function rolled_back()
    error(("YDB Error: %d: YDB_TP_ROLLBACK"):format(ydb.YDB_TP_ROLLBACK), 0)
end

-- What pcall() told, with how much that is.
local function told_by(...) return {n = select("#", ...), ...} end

-- ([id,] [locals,] fn, ...); nil stands for an id and for locals, too
function ydb.tp(...)
    local list, n, at = {...}, select("#", ...), 1
    local id, locals
    if type(list[at]) == "string" or list[at] == nil and n > at then id, at = list[at], at + 1 end
    if type(list[at]) == "table" or list[at] == nil and n > at then locals, at = list[at], at + 1 end
    local f, results = list[at], nil
    if type(f) ~= "function" then misused(at, "tp", "function", f, 2) end
    local own = tp.own()
    tp.start(tp.open(slots_of(locals), true, id), function()
        state.running = state.running + 1
        results = told_by(pcall(f, unpack(list, at + 1, n)))
        state.running = state.running - 1
        if results[2] == LEFT then rolled_back() end
        if not results[1] then failed(own, results[2]) end
        end_by(results[2])
    end)
    return unpack(results, 2, results.n)
end

function ydb.transaction(...)
    local list, n = {...}, select("#", ...)
    return function(...)
        local all, m = {unpack(list, 1, n)}, select("#", ...)
        for i = 1, m do all[n + i] = (select(i, ...)) end
        return ydb.tp(unpack(all, 1, n + m))
    end
end

function ydb.trestart() tp.restart() end

function ydb.trollback()
    tp.rollback(tp.level() - 1)
    if state.running > 0 then error(LEFT, 0) end
    rolled_back()
end

-- -------------------------------------------------------------------- text

function ydb.str2zwr(v) return str(names.quote(to_m(v))) end
function ydb.zwr2str(v) return str(names.unquote(to_m(v)) or "") end

-- Lines name=value of a node and all below it; at most 30, or so many.
function ydb.dump(name, ...)
    local ref, most = address_and_last(name, ...)
    if type(most) ~= "number" and most ~= nil then ref, most = address(name, ...), nil end
    local lines, top = {}, R.name(ref)
    local value, at = R.peek(ref), ref
    if value ~= nil then lines[1] = top .. "=" .. names.quote(value) end
    while true do
        local subs = subs_of(R.query(at))
        if not subs or #subs <= ref.n and ref.n > 0 then break end
        at = reference(ref.name, #subs, subs)
        for i = 1, ref.n do
            if str(at[i]) ~= str(ref[i]) then return lines[1] and table.concat(lines, "\n") end
        end
        if #lines >= (most or 30) then
            lines[#lines + 1] = ("...etc.   -- stopped at %d lines; dump(n) gives n"):format(#lines)
            break
        end
        lines[#lines + 1] = R.name(at) .. "=" .. names.quote(R.get(at))
    end
    return lines[1] and table.concat(lines, "\n")
end

function ydb.get_error_code(message)
    if type(message) == "table" then return -(message.code or 0) end
    return tonumber(tostring(message):match "YDB Error: (%-?%d+)")
end

-- ------------------------------------------------------------------- nodes

local methods = {}

local function make(ref)
    return setmetatable({[node] = ref}, node)
end

function ydb.node(name, ...) return make(address(name, ...)) end
ydb.key = ydb.node
function ydb.isnode(v) return getmetatable(v) == node end

local function child(n, ...) return make(address(n, ...)) end

function ref_of(n)
    local ref = rawget(n, node)
    if not ref then
        ref = address(rawget(n, PARENT), rawget(n, KEY))
        rawset(n, node, ref)
    end
    return ref
end

-- n.get is a child, and n:get() a call of it (__call); n.__get is the method.
function node.__index(n, key)
    if key == "__" then return text(R.peek(ref_of(n))) end
    if type(key) ~= "string" then return child(n, key) end
    if byte(key) == UNDERSCORE and byte(key, 2) == UNDERSCORE then
        local method = key:sub(3)
        return methods[method] or error(("nodes have no method '%s' where M calls Lua; "
            .. "the subnode of that name is node('%s')"):format(method, key), 2)
    end
    if methods[key] then return setmetatable({[PARENT] = n, [KEY] = key}, node) end
    return child(n, key)
end

function node.__newindex(n, key, value)
    if key == "__" then ydb.set(n, value) else error("a node's value is n[sub].__ = value", 2) end
end

-- n:name(...) comes here: as the child `name`, called with n.
function node.__call(n, ...)
    if select("#", ...) == 0 then return n end
    if getmetatable((...)) ~= node then return child(n, ...) end
    local key = rawget(n, KEY)
    if key then return methods[key](...) end
    local ref = ref_of(n)
    error(("nodes have no method '%s' where M calls Lua"):format(str(ref[ref.n] or ref.name)), 2)
end

function node.__tostring(n) return R.name(ref_of(n)) end

function node.__eq(a, b) return R.name(ref_of(a)) == R.name(ref_of(b)) end

function methods.get(n, default)
    local v = ydb.get(n)
    if v == nil then return default end
    return v
end
function methods.subscripts(n, reverse)
    return each_beside(ref_of(child(n, "")), reverse and -1 or 1)
end

-- pairs(): subscript, child.
function methods.pairs(n, reverse)
    local step = methods.subscripts(n, reverse)
    return function()
        local sub = step()
        if sub then return child(n, sub), text(R.peek(ref_of(child(n, sub)))), sub end
    end
end
node.__pairs = methods.pairs

function methods.has_value(n) return ydb.data(n) % 10 == 1 end
function methods.has_tree(n) return ydb.data(n) >= 10 end

-- ------------------------------------------------------------------- tables

-- One entry of a table: a value, DELETE, or what is below.
local function put(n, key, value, filter)
    local tree = type(value) == "table" and value ~= ydb.DELETE and not ydb.isnode(value)
    if key ~= "__" then
        n = child(n, key)
        if tree then return methods.settree(n, value, filter) end
    elseif tree then
        error("settree: the value of a node can't be a table: " .. tostring(n), 0)
    end
    local kind = type(value)
    if value == ydb.DELETE then return ydb.delete_node(n) end
    if kind ~= "string" and kind ~= "number" then
        error(("settree: a value must be a string or a number, not a %s: %s"):format(kind, tostring(n)), 0)
    end
    ydb.set(n, value)
end

--- Store a table as the tree below the node; `__` holds a node's own value.
-- filter(node, key, value) -> key, value may change both; nil leaves the entry out.
function methods.settree(n, tree, filter)
    if type(tree) ~= "table" then misused(1, "settree", "table", tree, 2) end
    for key, value in pairs(tree) do
        if filter then key, value = filter(n, key, value) end
        if key ~= nil and value ~= nil then put(n, key, value, filter) end
    end
    return n
end

-- What a filter says.  One that returns nothing at all leaves the way as it is.
local function said(recurse, ...)
    if select("#", ...) == 0 then return nil, recurse end
    return ...
end

-- The table of a node: itself in `__`, its children and `levels` levels below them.
local function read(n, own, levels, depth, filter)
    local tree = {__ = own}
    for below, value, sub in methods.pairs(n) do
        local recurse = depth <= levels and methods.has_tree(below)
        if filter then value, recurse = said(recurse, filter(below, sub, value, recurse, depth)) end
        if recurse then
            local tree_below = read(below, value, levels, depth + 1, filter)
            value = next(tree_below) ~= nil and tree_below or nil
        end
        tree[sub] = value
    end
    return tree
end

--- The tree below the node as a table.
-- filter(node, sub, value, recurse, depth) -> value, recurse may change both; the first call is for the node
-- itself, with the subscript "" and the depth 0.
function methods.gettree(n, maxdepth, filter)
    local value, recurse = methods.get(n), true
    if filter then value, recurse = said(recurse, filter(n, "", value, recurse, 0)) end
    if not recurse then return {__ = value} end
    return read(n, value, maxdepth or math.huge, 1, filter)
end

for _, name in ipairs {"incr", "data", "delete_tree", "delete_node", "kill", "lock_incr", "lock_decr", "grab",
    "release", "subscript_next", "subscript_previous", "node_next", "node_previous", "dump", "set"} do
    methods[name] = ydb[name]
end
methods.delete = ydb.delete_node

function ydb.init() end
function ydb.block_M_signals() end
function ydb.ydb_eintr_handler() return 0 end

return ydb
