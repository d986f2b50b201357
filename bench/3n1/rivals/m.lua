-- GT.M and YottaDB: in their own language, M, and from Lua and Python through modules yottadb, which
-- Caret has too.

local host = require "caret.host"
local programs = require "caret.programs"
local python = require "3n1.rivals.python"
local rivals = require "3n1.rivals.list"

-- Where GT.M is: as its user says, or where Debian puts it.
local function gtm_folder()
    local set = os.getenv("gtm_dist")
    if set and programs.exists(set .. "/mumps") then return set end
    return rivals.ask("ls -d /usr/lib/*/fis-gtm/*/mumps /usr/lib/fis-gtm/*/mumps | sed 's,/mumps$,,'")
end

-- ": " and the last words of a file, or nothing.
local function last_line(path)
    local f, last = io.open(path), nil
    if not f then return "" end
    for line in f:lines() do
        line = line:match("^%s*(.-)%s*$")
        if line ~= "" then last = line end
    end
    f:close()
    return last and ": " .. last:sub(1, 200) or ""
end

local function run_to_end(place, argv, input)
    local log = place.dir .. "/prepare.log"
    local pid = programs.start(argv, {dir = place.dir, env = place.env, input = input, out = log, err = log})
    local how, number = host.wait(pid, true)
    if how == "exit" and number == 0 then return end
    error(("%s ended with %s %d%s"):format(argv[#argv], how, number, last_line(log)), 0)
end

-- A database with these settings of its one segment, and the compiled routine.
local function prepare(folder, routines, settings)
    return function(place)
        local f, dir = folder(), place.dir
        local library = f .. "/" .. routines -- of compiled routines; not every installation has it
        library = programs.exists(library) and library .. " " or ""
        for _, prefix in ipairs {"gtm", "ydb"} do
            place.env[prefix .. "_dist"] = f
            place.env[prefix .. "_tmp"] = dir
            place.env[prefix .. "_routines"] = ("%s %s%s"):format(dir, library, f)
            place.env[prefix .. "_gbldir"] = dir .. "/3n1.gld"
        end
        place.env.gtmroutines, place.env.gtmgbldir = place.env.gtm_routines, place.env.gtm_gbldir
        place.write("threen.m", programs.text("3n1/rivals/programs/threen.m"))
        -- The default lock space is full at some 60 processes, and all wait for ever.  The file stands last,
        -- as its name goes on to the end of the line.
        local form = "change -segment DEFAULT -lock_space=1000 %s -file=%s/3n1.dat\nexit\n"
        local orders = place.write("gde", form:format(settings, dir))
        run_to_end(place, {f .. "/mumps", "-run", "GDE"}, orders)
        run_to_end(place, {f .. "/mupip", "create"})
        if not programs.exists(dir .. "/3n1.dat") then error("GDE did not take its settings", 0) end
        run_to_end(place, {f .. "/mumps", "threen.m"})
    end
end

-- What a killed process left in shared memory.
local function cleanup(folder)
    return function(place)
        pcall(run_to_end, place, {folder() .. "/mupip", "rundown", "-region", "*"})
    end
end

local function in_m(r, folder, routines, segment)
    r.durability = "all since the last flush: it keeps no journal"
    r.prepare, r.cleanup = prepare(folder, routines, segment), cleanup(folder)
    r.commands = function(place)
        local list = {{folder() .. "/mumps", "-run", "parent^threen", place.n, place.w}}
        for i = 1, place.w do list[i + 1] = {folder() .. "/mumps", "-run", "worker^threen"} end
        return list
    end
    return r
end

local function gtm(name, title, settings, segment)
    return in_m({
        name = name, title = title, settings = settings,
        missing = function() return not gtm_folder() and "fis-gtm is not installed (make rivals)" or nil end,
        version = function()
            return gtm_folder():match("V?([^/]*)$")
        end,
    }, gtm_folder, "libgtmutil.so", segment)
end

local function ydb_folder() return os.getenv("ydb_dist") end

local function no_yottadb()
    local folder = ydb_folder()
    if not folder then return "$ydb_dist is not set" end
    return not programs.exists(folder .. "/mumps") and folder .. "/mumps is not there" or nil
end

local function yottadb_in_m()
    return in_m({name = "yottadb", title = "YottaDB, M", settings = "defaults", missing = no_yottadb,
        version = function() return rivals.ask("basename '" .. ydb_folder() .. "'") end,
    }, ydb_folder, "libyottadbutil.so", "")
end

local function lua_commands(place)
    local file = place.write("3n1-yottadb.lua", programs.text("3n1/rivals/programs/yottadb.lua"))
    local list = {{"lua5.4", file, "parent", place.n, place.w}}
    for i = 1, place.w do list[i + 1] = {"lua5.4", file, "worker", i} end
    return list
end

local function yottadb_in_lua()
    return {
        name = "yottadb-lua", title = "YottaDB, Lua 5.4", settings = "defaults",
        durability = "all since the last flush: it keeps no journal",
        missing = function()
            return no_yottadb() or rivals.lacks("lua5.4") or
                not rivals.ask("lua5.4 -e 'require \"yottadb\" print(1)'") and
                "there is no Lua module yottadb" or nil
        end,
        version = function() return rivals.ask("basename '" .. ydb_folder() .. "'") end,
        prepare = prepare(ydb_folder, "libyottadbutil.so", ""), cleanup = cleanup(ydb_folder),
        commands = lua_commands,
    }
end

local function caret_as_yottadb()
    local folder = programs.folder() .. "/lua/5.4"
    return {
        name = "caret-yottadb", title = "Caret, its module yottadb", settings = "defaults", strict = true,
        durability = "up to a second of commits",
        missing = function()
            return rivals.lacks("lua5.4") or
                not programs.exists(folder .. "/yottadb") and
                "its Lua module is not built beside this tool" or nil
        end,
        version = function() return require("caret")._VERSION end,
        prepare = function(place)
            place.env.CARET_DB = place.dir .. "/3n1.caret"
            place.env.LUA_PATH_5_4 = ("%s/?.lua;%s/?/init.lua;;"):format(folder, folder)
            place.env.LUA_CPATH_5_4 = folder .. "/?.so;;"
        end,
        commands = lua_commands, cleanup = rivals.sweep,
    }
end

-- The program of GT.M's row.
local function caret_in_m()
    local program = programs.folder() .. "/caret-m"
    return {
        name = "caret-m", title = "Caret, M", settings = "defaults", strict = true,
        durability = "up to a second of commits",
        missing = function() return not programs.exists(program) and "caret-m is not built" or nil end,
        version = function() return require("caret")._VERSION end,
        prepare = function(place)
            place.env.CARET_DB, place.env.CARET_ROUTINES = place.dir .. "/3n1.caret", place.dir
            place.write("threen.m", programs.text("3n1/rivals/programs/threen.m"))
        end,
        commands = function(place)
            local list = {{program, "-run", "parent^threen", place.n, place.w}}
            for i = 1, place.w do list[i + 1] = {program, "-run", "worker^threen"} end
            return list
        end,
        cleanup = rivals.sweep,
    }
end

-- On the library that $ydb_dist names: YottaDB's, or Caret's, which needs no preparing.
local function yottadb_in_python()
    local original = not no_yottadb()
    local make = original and prepare(ydb_folder, "libyottadbutil.so", "")
    return {
        name = "yottadb-python", title = "YDBPython",
        settings = original and "defaults" or "defaults, on Caret's libyottadb.so",
        durability = original and "all since the last flush: it keeps no journal" or
            "up to a second of commits",
        missing = function()
            return not ydb_folder() and "$ydb_dist is not set" or python.no_ydbpython()
        end,
        version = function() return rivals.ask("basename '" .. ydb_folder() .. "'") end,
        prepare = function(place)
            python.prepare(place)
            if make then make(place) end
        end,
        cleanup = original and cleanup(ydb_folder) or rivals.sweep,
        commands = python.commands("ydbpython.py", "yottadb"),
    }
end

return function()
    return {
        caret_in_m(),
        caret_as_yottadb(),
        python.caret("caret-ydbpython", "Caret, its caret.yottadb", "ydbpython.py", "caret.yottadb"),
        gtm("gtm", "GT.M, M", "defaults", ""),
        gtm("gtm-tuned", "GT.M, M, more buffers", "16,384 global buffers, larger extensions",
            "-global_buffer_count=16384 -allocation=20000 -extension_count=20000"),
        yottadb_in_m(),
        yottadb_in_lua(),
        yottadb_in_python(),
    }
end
