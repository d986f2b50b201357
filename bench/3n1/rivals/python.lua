-- What the rows in Python share: the package of Caret, and how programs in Python are started.

local caret_version = require("caret")._VERSION
local programs = require "caret.programs"
local rivals = require "3n1.rivals.list"

local python = {}

-- Where modules are looked for: first in the package that is built beside this tool, if it is.
local function path()
    local folder, given = programs.folder() .. "/python", os.getenv("PYTHONPATH")
    if not programs.exists(folder .. "/caret") then return given or "" end
    return given and folder .. ":" .. given or folder
end

-- Does python3 find this name of a module?
local function has(module, name)
    local form = "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='%s' python3 -c 'import %s; %s.%s; print(1)'"
    return rivals.ask(form:format(path(), module, module, name))
end

--- nil, or why programs for YDBPython can't run here.
function python.no_ydbpython()
    return rivals.lacks("python3") or
        not has("yottadb", "Node") and "the package yottadb is not installed for python3" or nil
end

local function no_package()
    return rivals.lacks("python3") or not has("caret", "Database") and
        "its Python package is not built beside this tool, nor installed" or nil
end

--- prepare() of a row.
function python.prepare(place)
    place.env.PYTHONPATH, place.env.PYTHONDONTWRITEBYTECODE = path(), "1"
    place.env.CARET_DB = place.dir .. "/3n1.caret"
end

--- commands() of a row: the parent and its workers, all told this word first, or the database.
function python.commands(name, word)
    return function(place)
        local file = place.write("3n1-" .. name, programs.text("3n1/rivals/programs/" .. name))
        local first = word or place.dir .. "/3n1.caret"
        local list = {{"python3", file, first, "parent", place.n, place.w}}
        for i = 1, place.w do list[i + 1] = {"python3", file, first, "worker", i} end
        return list
    end
end

--- A row on Caret itself.
function python.caret(name, title, program, word)
    return {
        name = name, title = title, settings = "defaults", strict = true,
        durability = "up to a second of commits",
        missing = no_package, version = function() return caret_version end,
        prepare = python.prepare, commands = python.commands(program, word), cleanup = rivals.sweep,
    }
end

return python
