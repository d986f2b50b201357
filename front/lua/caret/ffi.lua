--- Nodes for LuaJIT: what makes them, reads and changes them, in Lua and through its FFI, so that it is
-- compiled into the traces of the program.  All else is the C module's, which takes these nodes too
-- (ffi.c); init.lua uses this module in front of it.
--
-- A node is a table of four fields, with the metatable of its class and database:
--
--     "__:parent"  the node that it was made of as a child, or that one's parent, or false
--     "__:sub"     its last subscript then
--     "__:key"     the C struct with the encoded key; or, as long as there is none, how often one was needed,
--                  or the subscript between parent and this one
--     "__:kids"    the children by name that are remembered; or, as long as there are none, a number: the
--                  bound, negative if the next one is to be remembered, 0 for a node that moves
--
-- A new child is nothing but such a table: in a loop LuaJIT finds out that n[i] does not outlive it and
-- makes no table at all.  Its first uses put the key together in a buffer that all nodes share; a node that
-- is used more often gets a key of its own, which remembers where in the database it was found.
--
-- The parent of a node without a key has one.  So that it need not get one for n[i].name or n[i]:get(), the
-- child of a node that has none leads to that one's parent, and the subscript between them is in the place of
-- its key.
--
-- LuaJIT inlines a function in the loop that calls it, unless it was compiled by itself before and ends in a
-- call of C.  So the usual ways through these functions call none, and no function calls itself.
--
-- Whether a subscript is allowed must be known at once all the same.  The bound of a node is no less than the
-- bytes of its key, nor than LEVEL for each of its subscripts: below LIMIT a child can't be wrong, and only
-- beyond it is asked.
--
-- Children are remembered by the rules of node.c: from the second that is asked for by name on, weakly, KIDS
-- of them.  A node that moves remembers nothing, and its children get their keys at once.
--
-- A finalizer may use the database, wherever something is allocated, and wherever LuaJIT leaves a trace:
-- where a condition turns out otherwise, at the end of a function compiled by itself.  So each making of
-- a key in a shared buffer has a number, and C looks whether the key is still the one of that number
-- (ffi.c).  Nothing is decided between a call of C and the look at a number in the box.  A text is taken
-- if no other was left since, and nothing is decided after that.

local ffi = require "ffi"

local rawequal, rawget, select, setmetatable, type = rawequal, rawget, select, setmetatable, type
local byte, sub_of = string.byte, string.sub
local ffi_string, getmetatable = ffi.string, debug.getmetatable

-- As in ffi.c.
local CLASSIC, NONE, END, NUMBER, INTEGER, HOOKED = -1000, -1001, -1002, -1003, -1005, -1006
local MAXSUBS, KEY2BIG, BUFFER = -3, -4, -7 -- CARET_E_*
local VALUES, WORDS = 65536, 144 -- bytes of the buffer; words for any key
local KIDS, RECENT, LEVEL, LIMIT = 64, 64, 32, 900
local ROOM = 2 -- words that an iterator's cursor has for what is longer than its first key
local MUTABLE, AMONG, MOVES = 2, 16, 64 -- CARET__MUTABLE, ...

-- Types without names: the module may be loaded twice.
local lnode = ffi.typeof [[struct {
    uint32_t magic;
    uint8_t method, cached, kind, words;
    void *db;
    uint64_t node[?];
}]]
local declared = [[
    int (*child)(void *n, int words, const void *parent, double sub);
    int (*child_text)(void *n, int words, const void *parent, const char *sub, size_t len);
    int (*words)(const double box[3], const void *n, double made);
    int (*copy)(void *n, int words, const void *from);
    int (*is_child)(const void *n, const void *parent);
    int (*equal)(const void *a, const void *b);
    int (*last)(const void *n, char *text, double box[3]);
    int (*get)(char *text, double box[3], void *n, double made);
    int (*number)(double box[3], void *n, double made);
    int (*set)(const char *value, size_t len, const double box[3], void *n, double made);
    int (*set_number)(double value, const double box[3], void *n, double made);
    int (*incr)(double by, double box[3], void *n, double made);
    int (*data)(const double box[3], void *n, double made);
    int (*subscript)(int back, char *text, double box[3], void *cursor, double made);
    int (*pair)(void *cursor, int back, char *text, double box[3]);
    int (*move)(void *cursor, double sub);
    int (*cache_get)(char *text, double box[3], const void *n, const char *key, size_t len, double now);
    int (*cache_put)(const void *n, const char *key, size_t len, const char *value, size_t size, double ttl,
        double now, double due);
]]
local functions = ffi.typeof("struct {" .. declared .. "} *")

-- Names of functions and kinds of their arguments: p pointer, d double, z size, i int.  All return an int.
local function signature(text)
    local all = {}
    for name, arguments in text:gmatch "int %(%*([%w_]+)%)(%b())" do
        local kinds = ""
        for argument in arguments:sub(2, -2):gmatch "[^,]+" do
            kinds = kinds .. (argument:find "[*%[]" and "p" or argument:find "double" and "d" or
                              argument:find "size_t" and "z" or argument:find "int" and "i" or "?")
        end
        all[#all + 1] = name .. ":" .. kinds
    end
    return #all .. " " .. table.concat(all, " ")
end

-- A call through another declaration than C's would overwrite memory.
local function same_build(c_declared)
    local here, there = signature(declared), signature(c_declared or "")
    if here ~= there then
        error(("caret: ffi.lua and the C module are of different builds: install both anew (%s; %s)")
              :format(here, there), 0)
    end
end

-- The C module's table, and what stands in front of it here.
return function(core)
    same_build(core.ffi.declared)
    local classic, misuse, shown, c_side = core.methods, core.misuse, core.shown, core.ffi
    local check, fail, call = c_side.check, c_side.fail, c_side.call
    local key -- below
    local c = ffi.cast(functions, c_side.functions(function(node) return key(node) end))

    -- Each by itself: LuaJIT takes the address in such a local for a constant.
    local c_child, c_child_text, c_words, c_copy = c.child, c.child_text, c.words, c.copy
    local c_is_child, c_equal, c_last, c_get, c_number = c.is_child, c.equal, c.last, c.get, c.number
    local c_set, c_set_number, c_incr, c_data = c.set, c.set_number, c.incr, c.data
    local c_subscript, c_pair, c_move = c.subscript, c.pair, c.move
    local c_cache_get, c_cache_put = c.cache_get, c.cache_put

    local scratch, beside = ffi.new(lnode, WORDS), ffi.new(lnode, WORDS)
    local text, box = ffi.new("char[?]", VALUES), ffi.new("double[3]") -- what C leaves; as in ffi.c
    local weak = {__mode = "v"}

    -- ------------------------------------------------------------------ keys

    -- What is in the place of a key that nobody needed, or that was needed once, or twice.
    local function fresh() end
    local function used() end
    local function twice() end

    local function is_key(own)
        local kind = type(own)
        return kind == "cdata" or kind == "userdata"
    end

    -- Is it the subscript between parent and node that is in the place of the key?
    local function is_between(own)
        local kind = type(own)
        return kind == "number" or kind == "string"
    end

    -- Make at, of so many words, the key of the child of the node with that key.
    local function put(at, words, parent, sub)
        if type(sub) == "number" then return c_child(at, words, parent, sub) end
        return c_child_text(at, words, parent, sub, #sub)
    end

    -- The same by two steps if there is a subscript between that parent and the node.
    local function fill(at, words, parent, between, sub)
        if type(between) == "function" then return put(at, words, parent, sub) end
        local rc = put(at, words, parent, between)
        if rc ~= 0 then return rc end
        return put(at, words, at, sub)
    end

    -- The number of what is going to be made in a shared buffer.
    local function begin()
        local made = box[2] + 1
        box[2] = made
        return made
    end

    -- The node's own key, made if there is none; nil and why not.
    local function make_key(node)
        local parent, between, sub = node["__:parent"], node["__:key"], node["__:sub"]
        if is_key(between) then return between end
        local from, made, words = parent["__:key"], begin(), 0
        if fill(scratch, WORDS, from, between, sub) == 0 then words = c_words(box, scratch, made) end
        if words <= 0 then words = WORDS end
        local own = ffi.new(lnode, words)
        local rc = fill(own, words, from, between, sub)
        if rc == BUFFER then -- a finalizer moved the parent
            own = ffi.new(lnode, WORDS)
            rc = fill(own, WORDS, from, between, sub)
        end
        if rc ~= 0 then return nil, rc end
        node["__:key"] = own
        if is_between(between) then node["__:parent"] = false end
        return own
    end

    function key(node)
        local own, rc = make_key(node)
        return own or fail(node["__:parent"], rc)
    end

    -- The key of something that has to be a node, and its number: good for one call.  It is made in that
    -- buffer, unless the node has its own, which is number 0.
    local function locate_in(at, node)
        local own = type(node) == "table" and node["__:key"]
        local kind = type(own) -- as is_key(), without a call: LuaJIT begins with the functions called most
        if kind == "cdata" or kind == "userdata" then return own, 0 end
        if own == fresh then
            node["__:key"] = used
        elseif own == used then
            node["__:key"] = twice
        elseif own == twice then
            return key(node), 0
        elseif not own then
            check(node)
        end
        local parent, sub, made = node["__:parent"], node["__:sub"], begin()
        if not parent or fill(at, WORDS, parent["__:key"], own, sub) ~= 0 then -- or a finalizer was here
            return key(node), 0
        end
        return at, made
    end

    local function locate(node) return locate_in(scratch, node) end

    -- Before each call that leaves a number in box[0].  LuaJIT takes a number from C memory when it is used,
    -- not when it is read; only a store between keeps it from that, a call of C does not.  Without this one
    -- a:number() < b:number() compares b's number with itself.
    local function empty()
        box[0] = 0
    end

    -- ------------------------------------------------------------------ data

    local methods = setmetatable({}, {__index = classic})

    local function get(node, default)
        local len = c_get(text, box, locate(node))
        local count = box[1]
        if len >= 0 then
            if box[1] ~= count then return get(node, default) end
            return ffi_string(text, len)
        end
        if len == NONE then return default end
        return classic.get(node, default)
    end
    methods.get = get

    function methods.number(node, default)
        empty()
        local got = c_number(box, locate(node))
        local number = box[0]
        if got == NUMBER then return number end
        if got == NONE then return default end
        return classic.number(node, default)
    end

    -- A value that is not nil.
    local function assign(node, value)
        local rc = CLASSIC
        if type(value) == "string" then
            rc = c_set(value, #value, box, locate(node))
        elseif type(value) == "number" then
            rc = c_set_number(value, box, locate(node))
        end
        if rc == CLASSIC then
            classic.set(node, value)
        elseif rc ~= 0 then
            fail(node, rc)
        end
    end

    function methods.set(node, ...)
        local value = ...
        if value == nil then return classic.set(node, ...) end
        assign(node, value)
        return value
    end

    -- The int64 in the box, which no double is.
    local function integer_text()
        return (tostring(ffi.cast("int64_t *", box)[0]):gsub("LL$", ""))
    end

    function methods.incr(node, ...)
        local by = ...
        if type(by) ~= "number" then
            if select("#", ...) > 0 then return classic.incr(node, ...) end
            by = 1
        end
        empty()
        local rc = c_incr(by, box, locate(node))
        local sum = box[0]
        if rc == 0 then return sum end
        if rc == INTEGER then return integer_text() end
        if rc == CLASSIC then return classic.incr(node, by) end
        return fail(node, rc)
    end

    local function data(node)
        local got = c_data(box, locate(node))
        if got >= 0 then return got end
        return classic.data(node)
    end
    methods.data = data
    function methods.has_value(node) return data(node) % 10 == 1 end
    function methods.has_tree(node) return data(node) >= 10 end

    -- ---------------------------------------------------------------- moving

    -- Where an iterator over the node's children is: a key that moves.
    local function cursor(from, room)
        local words = math.min(c_words(box, from, 0) + room, WORDS)
        local at = ffi.new(lnode, words)
        if c_copy(at, words, from) ~= 0 then -- a finalizer moved it
            at = ffi.new(lnode, WORDS)
            c_copy(at, WORDS, from)
        end
        at.kind = at.kind + MUTABLE
        return at
    end

    -- The next step failed with that: the cursor to do it again with, or an error.
    local function again(at, node, rc)
        if rc == BUFFER and at.words < WORDS then
            local wide = cursor(at, WORDS)
            wide.kind = at.kind
            return wide
        end
        if rc == CLASSIC then check(node) end
        return fail(node, rc)
    end

    -- The cursor's own subscript.
    local function last(at)
        empty()
        local len = c_last(at, text, box)
        local number, count = box[0], box[1]
        if len == NUMBER then return number end
        if len == HOOKED then return c_side.last(at) end
        if box[1] ~= count then return last(at) end
        return ffi_string(text, len)
    end

    -- One step in children: the subscript; nil and why not.  made: as locate_in() has it; in a shared buffer
    -- a finalizer may have left what it looked for itself.
    local function subscript(at, back, made)
        empty()
        local len = c_subscript(back, text, box, at, made)
        local number, count = box[0], box[1]
        if len == NUMBER then return number end
        if len == HOOKED then return c_side.last(at) end
        if len < 0 then return nil, len end
        if box[1] ~= count then
            if made ~= 0 then return nil, BUFFER end
            return last(at)
        end
        return ffi_string(text, len)
    end

    local function new_subscripts(node, back)
        check(node)
        local at = cursor(key(node), ROOM)
        return function()
            local sub, rc = subscript(at, back, 0)
            if sub ~= nil or rc == END then return sub end
            at = again(at, node, rc)
            return (subscript(at, back, 0))
        end
    end

    -- One step of a node that moves.
    local function pair(moving, back)
        local at = moving["__:key"]
        empty()
        local len = c_pair(at, back, text, box)
        local sub, count = box[0], box[1]
        if len >= 0 then
            -- Nothing is decided after the making of the string: LuaJIT leaves it out where nobody wants it.
            if sub == sub then
                if box[1] == count then return moving, ffi_string(text, len), sub end
            elseif box[1] == count then
                local value = ffi_string(text, len)
                return moving, value, last(at)
            end
            return moving, get(moving), last(at)
        elseif len == NONE then
            return moving, nil, sub == sub and sub or last(at)
        elseif len == END then
            return nil
        elseif len == CLASSIC or len == HOOKED then -- or it is a long value
            check(moving)
            return moving, classic.get(moving), last(at)
        end
        moving["__:key"] = again(at, moving, len)
        return pair(moving, back)
    end

    -- A node that moves, of the class of that one.
    local function moving_node(node, at)
        return setmetatable({["__:parent"] = false, ["__:sub"] = false, ["__:key"] = at, ["__:kids"] = 0},
            getmetatable(node))
    end

    local function new_pairs(node, back)
        check(node)
        local moving = moving_node(node, cursor(key(node), ROOM))
        if back == 1 then return function() return pair(moving, 1) end end
        return function() return pair(moving, 0) end
    end

    -- A new closure is nothing that LuaJIT compiles: by way of C the loops around go on being compiled.
    jit.off(new_subscripts)
    jit.off(new_pairs)
    function methods.subscripts(node, reverse) return call(new_subscripts, node, reverse and 1 or 0) end
    function methods.pairs(node, reverse) return call(new_pairs, node, reverse and 1 or 0) end

    -- The subscript after (before) sub among the node's children.
    local function sibling(node, sub, back, otherwise)
        local kind = type(sub)
        if kind ~= "nil" and kind ~= "number" and kind ~= "string" then return otherwise(node, sub) end
        local from, made = locate_in(beside, node)
        local rc, own = 0, made == 0
        if own then made = begin() end
        if sub ~= nil then
            rc = put(beside, WORDS, from, sub)
            beside.kind = beside.kind + AMONG
        elseif own then
            rc = c_copy(beside, WORDS, from)
        end
        if rc ~= 0 then return otherwise(node, sub) end
        local got, problem = subscript(beside, back, made)
        if problem and problem ~= END then return otherwise(node, sub) end
        return got
    end

    -- Cursors of programs: see cursor.c.
    local function new_cursor(node, sub)
        check(node)
        local kind, at = type(sub), ffi.new(lnode, WORDS)
        if kind ~= "number" and kind ~= "string" or put(at, WORDS, key(node), sub) ~= 0 then
            return classic.cursor(node, sub) -- raises
        end
        at.kind = at.kind + MUTABLE + MOVES
        return moving_node(node, at)
    end
    jit.off(new_cursor)
    function methods.cursor(node, sub) return call(new_cursor, node, sub) end

    function methods.move(node, sub)
        local at = type(node) == "table" and node["__:key"]
        if type(at) == "cdata" and type(sub) == "number" and c_move(at, sub) == 0 then return node end
        return classic.move(node, sub)
    end

    function methods.next(node, sub) return sibling(node, sub, 0, classic.next) end
    function methods.previous(node, sub) return sibling(node, sub, 1, classic.previous) end

    -- ----------------------------------------------------------- remembering

    -- The newest children that were remembered are held for a while; recent.c tells why and how, but LuaJIT
    -- can't compile calls of it.
    local recent, let_go, before, held, watched = {}, 0, 0, 0, false -- luacheck: ignore 241

    -- There was a collection: what was to be told by the end of an object that nobody holds.
    local collected
    function collected()
        if held - let_go > RECENT then let_go = held - RECENT end -- the others were overwritten
        for i = let_go, before - 1 do recent[i % RECENT + 1] = false end
        let_go, before = math.max(let_go, before), held
        watched = let_go ~= held
        if watched then ffi.gc(ffi.new("char[1]"), collected) end
    end

    local function hold(child)
        recent[held % RECENT + 1] = child
        held = held + 1
        if not watched then
            watched = true
            ffi.gc(ffi.new("char[1]"), collected)
        end
    end

    -- --------------------------------------------------------------- classes

    local nodes = {methods = methods}

    -- Is it a node?
    local function is_node(value)
        return type(value) == "table" and rawget(value, "__:key") ~= nil
    end
    nodes.isnode = is_node

    -- __eq of all classes
    function nodes.equal(a, b)
        if not is_node(a) or not is_node(b) then return false end
        return c_equal(key(a), key(b)) ~= 0
    end

    -- A new child that may be wrong: it, with its key; or, where no child can be, the method of that name.
    local function checked(child, own)
        local made, rc = make_key(child)
        if made then return child end
        local parent, between, sub = child["__:parent"], child["__:key"], child["__:sub"]
        local method = (rc == MAXSUBS or rc == KEY2BIG) and own[sub]
        if method or rc ~= KEY2BIG then return method or fail(parent, rc) end
        local deeper = getmetatable(child)["__:node"] -- raises, or the module yottadb knows what to do
        if is_between(between) then return deeper(parent, between, sub) end
        return deeper(parent, sub)
    end

    -- The metatable of a class of nodes of db; see node.c.
    function nodes.class(own, _, equal, _, db)
        local barred = ffi.cast("int *", c_side.barred(db))
        local mt, reserved = {}, {}
        local deeper = c_side.node_function(mt, db)

        local function child(parent, sub, bound, primed)
            if barred[0] ~= 0 then check(parent) end
            if primed then bound = -bound end
            local above, between = parent, parent["__:key"]
            local kind = type(between)
            if kind == "function" and not primed then -- two steps from the parent's parent
                above, between = parent["__:parent"], parent["__:sub"]
            else
                if kind ~= "cdata" and kind ~= "userdata" then key(parent) end
                between = fresh
            end
            local node = setmetatable({["__:parent"] = above, ["__:sub"] = sub, ["__:key"] = between,
                ["__:kids"] = bound}, mt)
            if bound >= LIMIT or bound <= -LIMIT then return checked(node, own) end
            return node
        end

        -- Is the first the parent of the node?  Its own address may have changed, if it is one that moves.
        local function is_parent(first, node)
            if type(first) ~= "table" then return false end
            local above, between = node["__:parent"], node["__:key"]
            if is_between(between) then
                if rawequal(first["__:parent"], above) and first["__:sub"] == between and
                    not is_between(first["__:key"]) then return true end
            elseif rawequal(first, above) and first["__:kids"] ~= 0 then
                return true
            end
            return is_node(first) and c_is_child(key(node), key(first)) ~= 0
        end

        local function bound_of(kids)
            if type(kids) == "table" then return kids[1] end
            if kids == 0 then return LIMIT end -- one that moves
            return kids < 0 and -kids or kids
        end

        -- By name.
        local function named(node, sub, kids)
            local bound = bound_of(kids) + LEVEL + 2 * #sub
            if type(kids) == "number" and kids >= 0 then
                if kids > 0 then node["__:kids"] = -kids end
                return child(node, sub, bound)
            elseif type(kids) == "number" or kids[2] >= KIDS then
                kids = setmetatable({bound_of(kids), 0}, weak)
                node["__:kids"] = kids
            end
            local kid = child(node, sub, bound, true)
            if type(kid) == "table" then -- and no method
                kids[sub], kids[2] = kid, kids[2] + 1
                hold(kid)
            end
            return kid
        end

        local function method(sub)
            local f = own[sub_of(sub, 3)]
            if f == nil then
                misuse(("nodes have no method %s; the subnode of that name is node(%s)"):format(
                    shown(sub_of(sub, 3)), shown(sub)))
            end
            reserved[sub] = f
            return f
        end

        local function index(node, sub)
            local kids, kind = type(node) == "table" and node["__:kids"], type(sub)
            if not kids then
                check(node)
            elseif kind == "string" then
                if sub == "__" then return get(node) end
                local kid = type(kids) == "table" and kids[sub]
                if kid then return kid end
                if byte(sub) == 95 and byte(sub, 2) == 95 then return reserved[sub] or method(sub) end
                return named(node, sub, kids)
            elseif kind == "number" and sub - sub == 0 then -- finite
                return child(node, sub, bound_of(kids) + LEVEL)
            elseif kind == "number" then
                return deeper(node, sub) -- raises
            end
            misuse("a subscript must be a string or a number, not a " .. core.typename(sub), node, sub)
        end

        -- The method of the first that the node's name means.
        local function method_of(node)
            local name = node["__:sub"] or last(key(node))
            local f = own[name]
            if f == nil then misuse("nodes have no method " .. shown(name)) end
            return f
        end

        -- Few arguments are passed on one by one: LuaJIT does not compile every use of `...`.
        local function call_node(node, ...)
            local kids, n = type(node) == "table" and node["__:kids"], select("#", ...)
            if not kids then check(node) end
            local first, a, b, d = ...
            if is_parent(first, node) then
                local f = method_of(node)
                if n == 1 then return f(first) end
                if n == 2 then return f(first, a) end
                if n == 3 then return f(first, a, b) end
                if n == 4 then return f(first, a, b, d) end
                return f(...)
            elseif n == 1 then
                local kind, bound = type(first), bound_of(kids) + LEVEL
                if kind == "string" then bound = bound + 2 * #first end
                if bound < LIMIT and (kind == "string" or kind == "number" and first - first == 0) then
                    return child(node, first, bound)
                end
                return deeper(node, first)
            end
            if n == 2 then return deeper(node, first, a) end
            if n == 3 then return deeper(node, first, a, b) end
            return deeper(node, ...)
        end

        mt[core.DB], mt[core.CLASS], mt.__index, mt[core.INDEX] = db, mt, index, index
        function mt.__newindex(node, sub, value)
            if sub == "__" and value ~= nil then return assign(node, value) end
            check(node)
            if sub ~= "__" then core.refuse_assignment(node, sub) end
            classic.set(node, value) -- nil deletes; a NULL pointer, which equals it, is refused
        end
        mt[core.NEWINDEX], mt.__call, mt.__eq = mt.__newindex, call_node, equal
        mt.__tostring, mt.__add, mt.__sub = classic.repr, c_side.add, c_side.subtract
        mt["__:reserved"], mt["__:node"] = reserved, deeper
        return mt
    end

    -- That method of the class is another one from now on; get and set are init.lua's to change.
    function nodes.changed(mt, name)
        mt["__:reserved"][name] = nil
    end

    function nodes.retype(node, record, make)
        local kids = is_node(node) and node["__:kids"]
        if type(kids) == "table" then node["__:kids"] = kids[1] end
        return core.retype(node, record, make)
    end

    function nodes.adopt(db, mt, new) return core.adopt(db, mt, new or mt["__:node"]) end

    -- ---------------------------------------------------------------- caches

    -- As in cache.c; the node has a key of its own (nodes.key).
    nodes.key = key

    function nodes.cache_get(entries, sub, now)
        empty()
        local len = c_cache_get(text, box, entries["__:key"], sub, #sub, now)
        local kind, count = box[0], box[1]
        if len == NONE then return nil end
        if len < 0 or box[1] ~= count then return false end
        return kind, ffi_string(text, len)
    end

    function nodes.cache_put(entries, sub, value, ttl, now, due)
        return c_cache_put(entries["__:key"], sub, #sub, value, #value, ttl, now, due) == 0
    end

    return setmetatable(nodes, {__index = core})
end
