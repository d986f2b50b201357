-- files.lua - $ZSEARCH and $ZPARSE: names of files.
local ffi = require "ffi"
local C = require "mumps.host"
local B = require "mumps.io.base"

local F = {}

local ROOM = 1048576
local room

local function buffer()
    room = room or ffi.new("char[?]", ROOM)
    return room
end

-- The current folder, without a slash at its end.
function F.cwd()
    if C.caret_mumps__io_cwd(buffer(), ROOM) < 0 then
        return ""
    end
    return ffi.string(room)
end

local function str(v)
    return require("mumps.values.number").str(v)
end

-- $NAME at the beginning of a part is a variable of the environment.
local function translate(path)
    local system = require "mumps.io.system"
    return (path:gsub("%$([%a_][%w_]*)", function(name) return system.env(name) end))
end

-- The path from the root, without . and .. .
local function absolute(path)
    if path:sub(1, 1) ~= "/" then
        path = F.cwd() .. "/" .. path
    end
    local parts = {}
    for part in path:gmatch "[^/]+" do
        if part == ".." then
            parts[#parts] = nil
        elseif part ~= "." then
            parts[#parts + 1] = part
        end
    end
    local folder = path:find "/%.?%.?$" and #parts > 0 and "/" or ""
    return "/" .. table.concat(parts, "/") .. folder
end

local function split(path)
    local folder, last = path:match "^(.*/)([^/]*)$"
    if not folder then
        folder, last = "", path
    end
    local name, kind = last:match "^(.+)(%.[^.]*)$"
    return folder, name or last, kind or ""
end

local FIELDS = { "DIRECTORY", "NAME", "TYPE", "NODE", "DEVICE", "VERSION" } -- the last three are all of it

local FOLDER = 100 -- 'd', as caret_mumps__io_path_kind says it

-- The parts of `path`, those that are missing of the default.
local function completed(path, default)
    local folder, name, kind = split(translate(path))
    local f, n, k = split(translate(default))
    return (folder == "" and f or folder) .. (name == "" and n or name) .. (kind == "" and k or kind)
end

local function field_of(text)
    for _, word in ipairs(FIELDS) do
        if word:sub(1, #text) == text:upper() then
            return word
        end
    end
    return B.fail(nil, "ZPARSFLDBAD", text)
end

local HOW = { [""] = true, NO_CONCEAL = true, SYNTAX_ONLY = true }

-- $ZPARSE(path, field, default, default of what is missing there, too, how)
function F.zparse(path, field, default, last, how)
    local wanted = field ~= nil and str(field) or ""
    local mode = how ~= nil and str(how):upper() or ""
    local what = wanted ~= "" and field_of(wanted) or "NODE"
    if not HOW[mode] then
        return B.fail(nil, "ZPARSETYPE", str(how))
    end
    local text, first = str(path), default ~= nil and str(default) or ""
    text = completed(text, first)
    local whole = absolute(first == "" and text or completed(text, last ~= nil and str(last) or ""))
    local folder, name, kind = split(whole)
    if mode ~= "SYNTAX_ONLY" and C.caret_mumps__io_path_kind(folder) ~= FOLDER then
        return ""
    end
    local parts = { DIRECTORY = folder, NAME = name, TYPE = kind }
    return parts[what] or whole
end

local streams = {}

-- The files of a pattern: * and ? stand for others, nothing else does.
local function matches(pattern)
    local n = tonumber(C.caret_mumps__io_glob(pattern:gsub("%[", "\\["), buffer(), ROOM))
    local list = {}
    for path in ffi.string(room, n):gmatch "[^\n]+" do
        list[#list + 1] = path
    end
    return list
end

local function next_match(s)
    s.at = s.at + 1
    local found = s.list[s.at]
    if not found then
        return ""
    end
    return found
end

-- $ZSEARCH(pattern, stream): the next file of that pattern.
function F.zsearch(pattern, stream)
    local text = str(pattern)
    local n = stream ~= nil and require("mumps.values.number").int(stream) or 0
    if n < -1 or n > 255 then
        return B.fail(nil, "ZSRCHSTRMCT")
    end
    if text == "" then
        streams[n] = nil
        return ""
    end
    local s = streams[n]
    if not s or s.text ~= text or n == -1 then
        s = { text = text, list = matches(absolute(translate(text))), at = 0 }
        streams[n] = s
    end
    local found = next_match(s)
    if found == "" then
        streams[n] = nil -- the next time it begins again
    end
    return found
end

return F
