-- redis.call() and redis.pcall() by LuaJIT's FFI, and what sets KEYS and ARGV: quick.h says when and why. Run
-- once a state, with the address of its struct serve__quick, the numbers of the commands that may be called
-- so, by name, and the two functions that call any command.
--
-- Returns call, pcall, make_driver(script, keys, args, KEYS, ARGV, clear), which returns two functions, and
-- nodes(methods, metatable); nothing where there is no FFI.
--
-- LuaJIT compiles no function with a variable number of arguments by itself; so what is to be quick in a
-- program that it can't compile is in functions of a fixed number. Nor does it compile the return of a
-- function by a tail call of C: so there is none.

local address, names, call_slowly, pcall_slowly = ...
local found, ffi = pcall(require, "ffi")
if not found then return end

local error, loadstring, select, tonumber, type = error, loadstring, select, tonumber, type
local text = ffi.string
local box = ffi.cast(ffi.typeof [[struct {
    int (*run)(void *scripts, int command, int argc);
    int (*node_get)(void *scripts, void *node);
    int (*node_number)(void *scripts, void *node);
    int (*node_set)(void *scripts, void *node, const char *value, int len);
    int (*node_set_number)(void *scripts, void *node, double value);
    int (*node_incr)(void *scripts, void *node, double by);
    int (*node_data)(void *scripts, void *node);
    int (*node_move)(void *node, double sub);
    int (*row_text)(void *scripts, const char *text, int len);
    int (*row_number)(void *scripts, double number);
    int (*row_null)(void *scripts, int is_false);
    void *scripts;
    const char *a, *b, *c, *d;
    double an, bn, cn, dn;
    int32_t al, bl, cl, dl;
    int32_t answer_len;
    double answer_number;
    const char *answer;
    const struct { const char *data; size_t len; } *argv;
} *]], address)
local run, scripts = box.run, box.scripts
local SLOW, TEXT, INTEGER, NULL, STATUS = 0, 1, 2, 3, 4

local function run1(command, a)
    if type(a) == "string" then
        box.a, box.al = a, #a
    elseif type(a) == "number" then
        box.an, box.al = a, -1
    else
        return SLOW
    end
    local kind = run(scripts, command, 2)
    return kind
end

local function run2(command, a, b)
    if type(b) == "string" then
        box.b, box.bl = b, #b
    elseif type(b) == "number" then
        box.bn, box.bl = b, -1
    else
        return SLOW
    end
    if type(a) == "string" then
        box.a, box.al = a, #a
    elseif type(a) == "number" then
        box.an, box.al = a, -1
    else
        return SLOW
    end
    local kind = run(scripts, command, 3)
    return kind
end

local function run3(command, a, b, c)
    if type(c) == "string" then
        box.c, box.cl = c, #c
    elseif type(c) == "number" then
        box.cn, box.cl = c, -1
    else
        return SLOW
    end
    if type(b) == "string" then
        box.b, box.bl = b, #b
    elseif type(b) == "number" then
        box.bn, box.bl = b, -1
    else
        return SLOW
    end
    if type(a) == "string" then
        box.a, box.al = a, #a
    elseif type(a) == "number" then
        box.an, box.al = a, -1
    else
        return SLOW
    end
    local kind = run(scripts, command, 4)
    return kind
end

local function run4(command, a, b, c, d)
    if type(a) ~= "string" or type(b) ~= "string" or type(c) ~= "string" then return SLOW end
    if type(d) == "string" then
        box.d, box.dl = d, #d
    elseif type(d) == "number" then
        box.dn, box.dl = d, -1
    else
        return SLOW
    end
    box.a, box.al = a, #a
    box.b, box.bl = b, #b
    box.c, box.cl = c, #c
    local kind = run(scripts, command, 5)
    return kind
end

local function answered()
    local answer = text(box.answer, box.answer_len)
    return answer
end

-- What kind of answer the command has given; SLOW: it was not called.
local function ask(n, name, a, b, c, d)
    local command, kind = names[name], SLOW
    if command then
        if n == 2 then
            kind = run1(command, a)
        elseif n == 3 then
            kind = run2(command, a, b)
        elseif n == 4 then
            kind = run3(command, a, b, c)
        elseif n == 5 then
            kind = run4(command, a, b, c, d)
        end
    end
    return kind
end

local function call(...)
    local kind = ask(select("#", ...), ...)
    if kind == TEXT then
        local answer = answered()
        return answer
    end
    if kind == INTEGER then return box.answer_number end
    if kind == NULL then return false end
    if kind == SLOW then return call_slowly(...) end
    if kind == STATUS then return {ok = answered()} end
    error({err = answered(), ignore_error_stats_update = true}, 0)
end

local function protected(...)
    local kind = ask(select("#", ...), ...)
    if kind == TEXT then
        local answer = answered()
        return answer
    end
    if kind == INTEGER then return box.answer_number end
    if kind == NULL then return false end
    if kind == SLOW then return pcall_slowly(...) end
    if kind == STATUS then return {ok = answered()} end
    return {err = answered(), ignore_error_stats_update = true}
end

-- ------------------------------------------------------------------- drivers

local meta = debug.getmetatable
local fillers = {}

-- "KEYS[1], KEYS[2]" from "text(...)" of the run's arguments from that number on.
local function assignments(name, n, from)
    local lines = {}
    for i = 1, n do
        local at = from + i - 1
        lines[i] = ("%s[%d] = text(argv[%d].data, argv[%d].len)"):format(name, i, at, at)
    end
    return table.concat(lines, "\n")
end

-- What a script left in the tables is cleared away: a metatable, and whatever is after the last of them.
local form = [[
local KEYS, ARGV, clear, text, meta, next, box = ...
local function set()
    local argv = box.argv
    %s
    %s
end
return function()
    if meta(KEYS) or meta(ARGV) then clear() end
    set()
    if next(KEYS, %s) == nil and next(ARGV, %s) == nil then return end
    clear()
    set()
end]]

-- The function that sets so many, for all scripts.
local function filler(keys, args, KEYS, ARGV, clear)
    local id = keys * 100 + args
    if not fillers[id] then
        local code = form:format(assignments("KEYS", keys, 0), assignments("ARGV", args, keys),
            keys > 0 and keys or "nil", args > 0 and args or "nil")
        fillers[id] = loadstring(code, "=driver")(KEYS, ARGV, clear, text, meta, next, box)
    end
    return fillers[id]
end

-- Each script has ones with a text of its own, so that each is compiled by itself. The second is for the
-- requests of a row (row.c), from one to the next by what answers; an answer that is a table ends it, and is
-- returned.
local driver_form = [[
local fill, script, type, text, number, null, scripts = ...
local function run()
    fill()
    local answer = script()
    return answer
end
local function run_row()
    local more
    repeat
        fill()
        local answer = script()
        local kind = type(answer)
        if kind == "string" then
            more = text(scripts, answer, #answer)
        elseif kind == "number" then
            more = number(scripts, answer)
        elseif not answer then
            more = null(scripts, kind == "nil" and 0 or 1)
        else
            return answer
        end
    until more == 0
end
return run, run_row]]
local function make_driver(script, keys, args, ...)
    local make = loadstring(driver_form, "=driver")
    return make(filler(keys, args, ...), script, type, box.row_text, box.row_number, box.row_null, scripts)
end

-- --------------------------------------------------------------------- nodes

-- Have the usual methods by the FFI; the others, and what is wrong with a call, are left to the functions
-- that are there. Only nodes have that metatable, which no script gets.
local function nodes(methods, node)
    local get_slowly, number_slowly, set_slowly = methods.get, methods.number, methods.set
    local incr_slowly, data_slowly, move_slowly = methods.incr, methods.data, methods.move
    local index_slowly, assign_slowly = node.__index, node.__newindex
    local node_get, node_number, node_set = box.node_get, box.node_number, box.node_set
    local node_set_number, node_incr = box.node_set_number, box.node_incr
    local node_data, node_move = box.node_data, box.node_move

    -- Before what answers by a number: LuaJIT takes that from C memory where it is used, past the next call,
    -- unless a store is between.
    local function empty()
        box.answer_number = 0
    end

    local function get(n, default)
        if meta(n) ~= node then return get_slowly(n, default) end
        local kind = node_get(scripts, n)
        if kind == TEXT then
            local answer = text(box.answer, box.answer_len)
            return answer
        end
        if kind == NULL then return default end
        return get_slowly(n, default)
    end
    methods.get = get

    function methods.number(n, default)
        if meta(n) ~= node then return number_slowly(n, default) end
        empty()
        local kind = node_number(scripts, n)
        if kind == INTEGER then return box.answer_number end
        if kind == NULL then return default end
        return number_slowly(n, default)
    end

    local function set(n, value)
        local kind = SLOW
        if meta(n) ~= node then
            kind = SLOW
        elseif type(value) == "string" then
            kind = node_set(scripts, n, value, #value)
        elseif type(value) == "number" then
            kind = node_set_number(scripts, n, value)
        end
        if kind == SLOW then return set_slowly(n, value) end
        return value
    end
    methods.set = set

    function methods.incr(n, by)
        if by == nil then by = 1 end
        if meta(n) ~= node or type(by) ~= "number" then return incr_slowly(n, by) end
        if node_incr(scripts, n, by) ~= TEXT then return incr_slowly(n, by) end
        return tonumber(answered())
    end

    function methods.data(n)
        if meta(n) ~= node then return data_slowly(n) end
        empty()
        if node_data(scripts, n) ~= INTEGER then return data_slowly(n) end
        return box.answer_number
    end

    function methods.exists(n) return methods.data(n) ~= 0 end

    function methods.move(n, sub)
        if meta(n) ~= node or type(sub) ~= "number" or node_move(n, sub) ~= NULL then
            return move_slowly(n, sub)
        end
        return n
    end

    function node.__index(n, name)
        if name == "__" then return get(n) end
        return index_slowly(n, name)
    end

    function node.__newindex(n, name, value)
        if name == "__" and value ~= nil then
            set(n, value)
        else
            assign_slowly(n, name, value)
        end
    end
end

return call, protected, make_driver, nodes
