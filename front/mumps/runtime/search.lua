-- mumps.runtime.search: $ZROUTINES, the list of folders where the sources of routines are.
--
--     dir            routines are in dir
--     dir(a b)       ... in a and b, and not in dir, which YottaDB has for objects
--     dir()          no sources: skipped
--     dir*           as dir: objects are not kept here, so none is shared
--     file.so        skipped, as an object
--
-- $NAME is replaced by the environment's value when the list is set.  At the beginning the list is that of
-- $CARET_ROUTINES, $ydb_routines or $gtmroutines, else the current folder.

local C = require "mumps.host"
local ffi = require "ffi"
local errors = require "mumps.host.errors"

local search = {}

local stat = ffi.new "caret_mumps__found"
local text, folders

-- What a path is: "dir", "file" or nil; the time of its last change in ns, its size.
function search.stat(path)
    if C.caret_mumps__stat(path, stat) ~= 0 then return nil end
    return stat.folder and "dir" or "file", tonumber(stat.mtime), tonumber(stat.size)
end

local function syntax(given, tail)
    require("mumps.runtime.error").fail_with(tail, "ZROSYNTAX", given)
end

local function wording(name, ...)
    local _, severity = errors.get(name)
    return (",%%YDB-%s-%s, %s"):format(severity, name, errors.text(name, ...))
end

local function unusable(given, path)
    local number = C.caret_mumps__stat(path, stat)
    syntax(given, wording("FILEPARSE", path)
        .. (",%%SYSTEM-E-ENO%d, %s"):format(number, ffi.string(C.strerror(number))))
end

-- The next word at `at`, and where it ends; what is told if there is none.
local function word(given, at, missing)
    local first, last = given:find("^[^ ()]+", at)
    if not first then syntax(given, wording(missing)) end
    return given:sub(first, last), last + 1
end

local function spaces(given, at)
    return given:find("[^ ]", at) or #given + 1
end

local function add_sources(list, given, at)
    local missing = "QUALEXP"
    at = spaces(given, at + 1)
    while given:sub(at, at) ~= ")" do
        local name
        name, at = word(given, at, missing)
        missing = "FSEXP"
        local kind = search.stat(name)
        if kind ~= "dir" then unusable(given, name) end
        list[#list + 1] = name
        at = spaces(given, at)
    end
    return at + 1
end

local function parse(given)
    local list, at = {}, spaces(given, 1)
    while at <= #given do
        local name
        name, at = word(given, at, "FSEXP")
        local folder = name:gsub("%*$", "")
        local kind = search.stat(folder)
        if not kind and name ~= "*" and not folder:find "[%*%?%[].*%.so$" then unusable(given, folder) end
        if given:sub(at, at) == "(" then
            if kind ~= "dir" then syntax(given, wording "NOLBRSRC") end
            at = add_sources(list, given, at)
        elseif kind == "dir" then
            list[#list + 1] = folder
        end
        if given:find("^[^ ]", at) then syntax(given, "") end
        local next_word = spaces(given, at)
        if next_word > #given and at <= #given then syntax(given, wording "FSEXP") end
        at = next_word
    end
    return list
end

local function expand(given)
    return (given:gsub("%$([%a_][%w_]*)", function(name) return os.getenv(name) or "" end))
end

function search.set(given)
    given = expand(given)
    local list = parse(given)
    text, folders = given, #list > 0 and list or {"."}
end

local function first_set(name, ...)
    if not name then return nil end
    local value = os.getenv(name)
    if value and value ~= "" then return value end
    return first_set(...)
end

-- At the beginning: folders that are not there are left out, as a program that needs none of them runs all
-- the same.
local function start()
    local given = expand(first_set("CARET_ROUTINES", "ydb_routines", "gtmroutines") or ".")
    if pcall(search.set, given) then return end
    text, folders = given, {}
    for sources in given:gsub("[^ ()]+(%b())", "%1"):gsub("[()]", " "):gmatch "[^ ]+" do
        if search.stat(sources) == "dir" then folders[#folders + 1] = sources end
    end
end

function search.text()
    if not text then start() end
    return text
end

function search.folders()
    if not text then start() end
    return folders
end

-- The file of that name in the first folder that has it, or nil.
function search.file(name)
    for _, folder in ipairs(search.folders()) do
        local path = folder .. (folder:sub(-1) == "/" and "" or "/") .. name
        local kind, time, size = search.stat(path)
        if kind == "file" then return path, time, size end
    end
end

return search
