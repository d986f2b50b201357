-- Rivals without a server: Caret from its languages, plain tables, LMDB and SQLite in C.

local caret_version = require("caret")._VERSION
local programs = require "caret.programs"
local python = require "3n1.rivals.python"
local rivals = require "3n1.rivals.list"

local EXACT = 1 << 53 -- where numbers are doubles
local A_SECOND = "up to a second of commits"

local function caret_lua(interpreter)
    return {
        name = interpreter and "caret-" .. interpreter or "caret",
        title = interpreter and "Caret, LuaJIT" or "Caret, Lua 5.4",
        durability = A_SECOND, settings = "defaults", strict = true,
        exact = interpreter and EXACT,
        missing = function()
            return interpreter and rivals.lacks(interpreter) or nil
        end,
        version = function() return caret_version end,
        commands = function(place)
            local list = {"/proc/self/exe", "3n1", "--json", "-n", place.n, "-w", place.w, "--db",
                place.dir .. "/3n1.caret"}
            if interpreter then table.move({"--lua", interpreter}, 1, 2, #list + 1, list) end
            return {list}
        end,
        cleanup = rivals.sweep,
    }
end

-- C programs are built into bench/ beside the tool.
local function in_c(name, title, durability, settings, version, ...)
    local options = {...}
    local program = ("%s/bench/3n1_%s"):format(programs.folder(), name:match("^[^-]*"))
    return {
        name = name == "caret" and "caret-c" or name, title = title,
        durability = durability, settings = settings, strict = true,
        missing = function()
            if programs.exists(program) then return nil end
            return "its program is not built beside this tool (make rivals)"
        end,
        version = version or function() return rivals.ask(program .. " --version") end,
        commands = function(place)
            return {table.move(options, 1, #options, 7, {program, "-n", place.n, "-w", place.w, place.dir})}
        end,
        cleanup = name == "caret" and rivals.sweep or nil,
    }
end

local function tables(interpreter, title)
    return {
        name = "tables" .. (interpreter == "luajit" and "-luajit" or ""), title = title,
        durability = "none: nothing is kept", settings = "one process, its own memory",
        most_workers = 1, exact = interpreter == "luajit" and EXACT,
        missing = function() return rivals.lacks(interpreter) end,
        version = function() return rivals.ask(interpreter .. " -v 2>&1") end,
        commands = function(place)
            local text = interpreter == "luajit" and rivals.plain_division("3n1/rivals/tables.lua") or
                programs.text("3n1/rivals/tables.lua")
            return {{interpreter, place.write("tables.lua", text), place.n}}
        end,
    }
end

return function()
    return {
        caret_lua(nil),
        caret_lua("luajit"),
        in_c("caret", "Caret, C", A_SECOND, "defaults", function() return caret_version end),
        python.caret("caret-python", "Caret, Python", "python.py"),
        tables("lua5.4", "plain Lua tables, Lua 5.4"),
        tables("luajit", "plain Lua tables, LuaJIT"),
        in_c("lmdb", "LMDB, C", "all since the last sync; may need a restore",
            "NOSYNC, WRITEMAP; a transaction for each sequence", nil, "--tuned"),
        in_c("lmdb-sync", "LMDB, C, synced", "nothing", "defaults; a transaction for each sequence"),
        in_c("sqlite", "SQLite, C", "the last commits",
            "WAL, synchronous=NORMAL; a transaction for each sequence", nil, "--tuned"),
        in_c("sqlite-sync", "SQLite, C, synced", "nothing",
            "WAL, synchronous=FULL (default); a transaction for each sequence"),
    }
end
