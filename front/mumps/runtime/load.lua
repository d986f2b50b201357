-- load.lua - code objects: parse, emit, load.
--
--     code = {kind = "routine" | "x" | "i", id, name, text, starts, order = {{name, line}...},
--             labels = {NAME = line},
--             formals = {NAME = {...}}, by = {NAME = function}, entries = {NAME = entry}, errors, map,
--             L<n>, M<n>, E<n>, B<n> = the functions that emit.lua tells}
--
-- level.codes[id] is the code as long as it lives: that is as long as one of its functions does, as it is
-- their environment.  They have no globals, so nothing else asks for that.

local errors = require "mumps.runtime.error"
local level = require "mumps.runtime.level"
local symbols = require "mumps.runtime.symbols"
local H = require "mumps.runtime.link"
local T = require "mumps.runtime.test"
local emit = require "mumps.compiler.emit"
local flow = require "mumps.compiler.flow"
local parse = require "mumps.compiler.parse"
local L, N = level.L, symbols.stack

local M = {}
local ids = 0

setmetatable(level.codes, {__mode = "v"})

local function next_id()
    repeat
        ids = (ids + 1) % 65536
    until not level.codes[ids]
    return ids
end

-- ---- constants of a chunk

local makers = {}

function makers.place(spec)
    return require("mumps.data.globals").place(spec[2], spec[3])
end

function makers.extended(spec)
    return require("mumps.data.globals").extended(spec[2], spec[3])
end

function makers.naked()
    return require("mumps.data.globals").naked()
end

function makers.pattern(spec)
    return require("mumps.values.pattern").compile(spec[2])
end

function makers.names(spec)
    local slots = {}
    for i = 2, #spec do
        slots[i - 1] = symbols.table[spec[i]]
    end
    return slots
end

function makers.error(spec)
    return spec[2]
end

local function make(consts)
    local P = {}
    for i, spec in ipairs(consts) do
        P[i] = makers[spec[1]](spec)
    end
    return P
end

-- ---- Lua

local function show(code, text)
    if os.getenv("CARET_M_EMIT") then
        io.stderr:write("-- ", code.name or "", "\n", text, "\n")
    end
end

local function link(code, home, k)
    local text = k:text()
    show(code, text)
    local chunk, why = loadstring(text, "=M" .. k.id)
    if not chunk then
        return why
    end
    setfenv(chunk, code)
    chunk(code, home, symbols.table, H, make(k.consts), M.routines, T, L, N, L.kind, pcall, type)
end

-- The M line that Lua complains about.
local function guilty(k, why, ast)
    local at = tonumber(string.match(why, "^M%d+:(%d+):")) or 1
    for i = at, 1, -1 do
        if k.map[i] then
            return ast.lines[k.map[i]]
        end
    end
    return ast.lines[1]
end

local function beyond_lua()
    return {{"ERROR", {{mnemonic = "UNIMPLOP"}}}}
end

-- Too much is beyond them: all that can be called is that error.
local function give_up(code, home, ast, write)
    for n, line in ipairs(ast.lines) do line.cmds = (n == 1 or line.label) and beyond_lua() or {} end
    local k = write(ast)
    code.map = k.map
    link(code, home, k)
end

-- Emit and load; a line that is beyond Lua's limits becomes an error when it is reached.
local function build(code, home, ast, write)
    for _ = 1, 100 do
        local k = write(ast)
        code.map, code.ends = k.map, k.ends
        local why = link(code, home, k)
        if not why then
            return
        end
        errors.tell(why)
        guilty(k, why, ast).cmds = beyond_lua()
    end
    give_up(code, home, ast, write)
end

-- ---- routines

local function name_label(code, name, line, formals)
    code.labels[name] = line
    code.order[#code.order + 1] = {name = name, line = line}
    code.by[name] = code["L" .. line]
    code.entries[name] = code["E" .. line]
    code.formals[name] = formals
end

local function name_labels(code, ast)
    for name, n in pairs(ast.labels) do
        local line = ast.lines[n]
        if line.hidden then
            code.hidden[name] = n
        else
            name_label(code, name, n, line.formals)
        end
    end
    table.sort(code.order, function(a, b)
        return a.line < b.line
    end)
    local first = emit.first_line(ast)
    code.by[""] = code["L" .. first] or code.L1
    code.entries[""] = code["E" .. first]
    code.formals[""] = ast.lines[first] and ast.lines[first].formals
end

local function new_code(kind, name, text)
    local id = next_id()
    local code = {kind = kind, id = id, name = name, text = text, order = {}, labels = {}, formals = {},
        by = {},
        entries = {}, xcache = {}}
    level.codes[id] = code
    return code
end

-- Compiling makes more garbage than M does, and none that is used again: as long as there is little else, a
-- cycle of collection may begin later (host/vm.c has the pause of programs).
local SMALL, PAUSE = 16384, 400 -- kilobytes, percent
local usual = collectgarbage("setpause", PAUSE)
collectgarbage("setpause", usual)

local function collect_less(f, ...)
    if collectgarbage "count" < SMALL then collectgarbage("setpause", PAUSE) end
    local code = f(...)
    collectgarbage("setpause", usual)
    return code
end

local function load_routine(text, name, path)
    local code = new_code("routine", name, text)
    local ast = parse.routine(text, name)
    code.path, code.starts, code.hidden, code.errors = path, ast.starts, {}, ast.errors
    code.count = #ast.lines
    local before = flow.tells_turns
    flow.tells_turns = before or text:find '"[Tt][Rr][Aa][Cc][Ee]"' ~= nil
    code.tells_turns = flow.tells_turns
    build(code, code, ast, function()
        return emit.routine(ast, code.id)
    end)
    flow.tells_turns = before
    code.L1 = code.L1 or function() end
    name_labels(code, ast)
    return code
end

-- A routine from its text.  It never fails: what does not compile raises its error when it is reached.
function M.load(text, name, path)
    return collect_less(load_routine, text, name, path)
end

-- The function that begins at a line of a routine; nil: there is no such line.
function M.at_line(code, n)
    local f = code["L" .. n]
    if f or n < 1 or n > code.count then
        return f
    end
    local ast = parse.routine(code.text, code.name)
    local part = {kind = "routine", name = code.name, text = code.text, starts = code.starts,
        order = code.order,
        whole = code, labels = code.labels}
    local id = next_id()
    local k = emit.line_of_routine(ast, id, n)
    part.map, part.ends = k.map, k.ends
    level.codes[id] = part
    code.parts = code.parts or {}
    code.parts[n] = part
    link(code, code, k)
    return code["L" .. n]
end

-- ---- XECUTE and indirection

local empty = {kind = "routine", name = "", labels = {}, by = {}, entries = {}, formals = {}, xcache = {}}
M.empty = empty

local function small(kind, home, text, write)
    local code = new_code(kind, home and home.name or "", text)
    local k = write(code.id)
    code.map = k.map
    local why = link(code, home or empty, k)
    if why then
        errors.tell(why)
        return errors.fail("UNIMPLOP")
    end
    return code.L1, code
end

-- A line for XECUTE as a function; kind "x" is a level of its own, "i" is part of the line that runs.
function M.line(text, home, kind, last)
    local ast = parse.line(text)
    return small(kind or "x", home, text, function(id)
        return emit.commands(ast.cmds, id, last)
    end)
end

function M.snippet(text, home, write, params)
    return small("i", home, text, function(id)
        return emit.snippet(id, write, params)
    end)
end

function M.commands(cmds, text, home)
    return small("i", home, text, function(id)
        return emit.commands(cmds, id)
    end)
end

M.parse = parse

-- ---- R: routines by name

M.routines = setmetatable({}, {__index = function(t, name)
    local routine = require("mumps.runtime.routine").get(name)
    local code = routine.code
    t[name] = code
    return code
end})

function M.forget(name)
    M.routines[name] = nil
end

M.fail = errors.fail

return M
