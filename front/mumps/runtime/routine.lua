-- mumps.runtime.routine: routines by name: their sources, found by the search path, and what was compiled.
--
-- A routine is compiled when it is used first, and again after ZLINK; in direct mode also when its file was
-- changed (routine.refresh).  One that does not compile whole says why on stderr, and runs as far as it did.
-- What runs keeps its old code: the new one counts from the next DO or GOTO on.
--
-- %NAME is in the file _NAME.m.  If the search path has none, the program itself may (mumps/routines).

local C = require "mumps.host"
local ffi = require "ffi"
local errors = require "mumps.host.errors"
local search = require "mumps.runtime.search"

local routine = {status = 1} -- $ZCSTATUS

local loaded = {}

local function fail_with(...)
    return require("mumps.runtime.error").fail_with(...)
end

-- ---------------------------------------------------------------- finding

local function file_name(name)
    return (name:gsub("^%%", "_")) .. ".m"
end

local function read(path)
    local file = io.open(path, "rb")
    local text = file and file:read "*a"
    if file then file:close() end
    return text
end

local function inside(name)
    local file = C.caret_mumps__embedded("mumps/routines/" .. file_name(name))
    if file ~= nil then return ffi.string(file.data, file.len) end
end

-- Source, path, time, size; or nil.
local function find(name)
    local path, time, size = search.file(file_name(name))
    if path then return read(path), path, time, size end
    return inside(name), ""
end

local function not_found(shown, ...)
    local tail = {}
    local _, severity = errors.get "FILENOTFND"
    for i, file in ipairs {...} do
        tail[i] = (",%%YDB-%s-FILENOTFND, %s"):format(severity, errors.text("FILENOTFND", file))
    end
    fail_with(table.concat(tail), "ZLINKFILE", shown)
end

local function no_name(name)
    local _, severity = errors.get "ZLNOOBJECT"
    fail_with((",%%YDB-%s-ZLNOOBJECT, %s"):format(severity, errors.text "ZLNOOBJECT"), "NOTMNAME", name)
end

local function is_name(name) return name:find "^[%%_%a]%w*$" ~= nil end

local function no_path()
    fail_with(",%YDB-I-TEXT, Filename/path is missing", "ZLINKFILE", "")
end

-- No file has the routine of that name.
local function unknown(name)
    if name == "" then no_path() end
    if not is_name(name) and not name:find "[./]" then no_name(name) end
    not_found(name, file_name(name), (file_name(name):gsub("m$", "o")))
end

-- -------------------------------------------------------------- compiling

-- What the compiler found, as it is shown at the terminal: the line, a mark below the place, where, what.
local function show(out, e, line, path)
    if line and e.line and e.col then
        local before = line:sub(1, math.max(e.col - 1, 0)):gsub("[^\t]", " ")
        out:write("\t", line, "\n\t", before, (" "):rep(e.col - 1 - #before), "^-----\n")
        out:write(("\t\tAt column %d, line %d, source module %s\n"):format(e.col, e.line, path))
    end
    local _, severity = errors.get(e.mnemonic)
    local source = e.mnemonic == "LSINSERTED" and path or nil
    local text = errors.text(e.mnemonic, e[1], e[2] or source, unpack(e, 3))
    out:write(("%%YDB-%s-%s, %s\n"):format(severity or "E", e.mnemonic, text))
    if not (line and e.line and e.col) then
        local _, s = errors.get "SRCNAM"
        out:write(("%%YDB-%s-SRCNAM, %s\n"):format(s, errors.text("SRCNAM", path)))
    end
end

-- The list of what is wrong, to a file.
function routine.listing(out, list, r, path)
    for _, e in ipairs(list) do
        show(out, e, e.line and routine.raw(r, e.line), path)
    end
end

local function finish_output()
    local device = package.loaded["mumps.io.device"]
    if device then device.flush() end
end

local function full(path)
    if path == "" or path:sub(1, 1) == "/" then return path end
    return (routine.folder() .. path:gsub("^%./", ""))
end

-- The current folder, with / at its end.
function routine.folder()
    local room = ffi.new("char[?]", 4096)
    local got = C.getcwd(room, 4096)
    return got ~= nil and (ffi.string(room):gsub("/*$", "/")) or "/"
end

local function compile(name, text, path, time, size)
    local call = require "mumps.runtime.call"
    local r = {name = name, path = path, source = text, time = time, size = size}
    r.code = call.load(text, name, full(path))
    local wrong = r.code.errors
    routine.status = 1
    if wrong and #wrong > 0 then
        finish_output()
        routine.listing(io.stderr, wrong, r, full(path))
        routine.status = (errors.get "ERRORSUMMARY") or 150373050
    end
    loaded[name] = r
    return r
end

-- The routine, compiled at the first time.
function routine.get(name)
    local r = loaded[name]
    if r then return r end
    local text, path, time, size = find(name)
    if not text then unknown(name) end
    return compile(name, text, path, time, size)
end

-- The same, or nil if there is none.
function routine.look(name)
    if loaded[name] then return loaded[name] end
    local text, path, time, size = find(name)
    return text and compile(name, text, path, time, size)
end

-- A routine that comes from elsewhere.
function routine.define(name, text, path)
    require("mumps.runtime.call").forget(name)
    return compile(name, text, path or "")
end

-- All that were loaded, by name.
function routine.loaded()
    return loaded
end

-- Forget those that were compiled without telling of turns of FOR (flow.lua).
function routine.forget_quiet()
    for name, r in pairs(loaded) do
        if not r.code.tells_turns then
            loaded[name] = nil
            require("mumps.runtime.call").forget(name)
        end
    end
end

-- Forget those whose files changed, to be compiled at their next use: direct mode does so before each line.
function routine.refresh()
    for name, r in pairs(loaded) do
        local kind, time, size = search.stat(r.path)
        if r.path ~= "" and kind and (time ~= r.time or size ~= r.size) then
            loaded[name] = nil
            require("mumps.runtime.call").forget(name)
        end
    end
end

-- ----------------------------------------------------------------- source

-- Where lines begin, made when it is asked for first; the last is where one after the end would begin.
local function lines(r)
    if r.lines then return r.lines end
    local list, at, text = {}, 1, r.source
    while at <= #text do
        list[#list + 1] = at
        at = (text:find("\n", at, true) or #text) + 1
    end
    list[#list + 1] = at
    r.lines = list
    return list
end

function routine.count(r)
    return #lines(r) - 1
end

-- Line n as it is in the file.
function routine.raw(r, n)
    local list = lines(r)
    if n < 1 or n >= #list then return nil end
    return (r.source:sub(list[n], list[n + 1] - 1):gsub("\r?\n$", ""))
end

-- Line n as $TEXT has it: tabs before the first command are spaces; "" if there is none.
function routine.text(r, n)
    local line = routine.raw(r, n)
    if not line then return "" end
    local head, blank, rest = line:match "^([%%%w]*%b())([ \t]*)(.*)$"
    if not head then head, blank, rest = line:match "^([%%%w]*)([ \t]*)(.*)$" end
    return head .. blank:gsub("\t", " ") .. rest
end

function routine.line(name, n)
    local r = routine.look(name)
    return r and routine.text(r, n) or ""
end

-- The number of the line with that label, or nil, as for labels with a colon.  Names count with 31
-- characters.
function routine.label_line(name, label)
    local r = routine.look(name)
    if not r then return nil end
    if not r.labels then
        r.labels = {}
        for i = routine.count(r), 1, -1 do
            local l = routine.raw(r, i):match "^([%%%w]+)%f[^%%%w:]"
            if l then r.labels[l:sub(1, 31)] = i end
        end
    end
    return r.labels[label]
end

-- ------------------------------------------------------------------ ZLINK

routine.zsource = ""

-- "dir/name.m" -> dir/, name, end.
local function parts(given)
    local folder, file = given:match "^(.*/)([^/]*)$"
    if not folder then folder, file = "", given end
    local name, ending = file:match "^(.*)(%.[^.]*)$"
    return folder, name or file, ending
end

local function missing(given, folder, name, ending)
    if folder == "" then
        if not ending then return not_found(given, name .. ".m", name .. ".o") end
        return not_found(name, name .. ending)
    end
    if ending == ".m" then
        local _, severity = errors.get "TEXT"
        fail_with((",%%YDB-%s-TEXT, No such file or directory"):format(severity or "I"), "ZLINKFILE", given)
    end
    return not_found(given, full(folder .. name .. ".o"))
end

local function source_of(folder, name)
    if folder == "" then return find((name:gsub("^_", "%%"))) end
    local path = folder .. name .. ".m"
    local kind, time, size = search.stat(path)
    if kind == "file" then return read(path), path, time, size end
end

-- ZLINK text: found and compiled anew.  A file .o stands for the source beside it, as nothing else is kept.
function routine.zlink(given)
    if given == "" then no_path() end
    local folder, name, ending = parts(given)
    routine.zsource = folder == "" and name or full(folder) .. name
    if not is_name(name) then no_name(name) end
    local text, path, time, size
    if not ending or ending == ".m" or ending == ".o" then
        text, path, time, size = source_of(folder, name)
    end
    if not text then missing(given, folder, name, ending) end
    name = name:gsub("^_", "%%")
    require("mumps.runtime.call").forget(name)
    loaded[name] = nil
    compile(name, text, path, time, size)
end

return routine
