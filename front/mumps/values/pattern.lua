-- Patterns: pattern.h has their syntax.  Compiled ones are kept by their text, the newest few hundred of
-- them.
local ffi = require "ffi"
local C = require "mumps.host"
local fail = require "mumps.values.fail"
local number = require "mumps.values.number"
local mode = require "mumps.values.mode"

local str = number.str
local new, free, pattern_match = C.caret_mumps__pattern_new, C.caret_mumps__pattern_free,
    C.caret_mumps__pattern_match
local match_integer = C.caret_mumps__pattern_match_integer
local type, tonumber = type, tonumber

local errors = { "PATCODE", "PATCLASS", "PATNOTFOUND", "PATUPPERLIM", "PATLIT", "COMMAORRPAREXP", "PATMAXLEN",
    "PATALTER2LARGE", "MEMORY" }
local NO_MEMORY = -2 -- of pattern.h
local MOST = 512
local finish, trouble = ffi.new("size_t[1]"), ffi.new("int[1]")
local P = {}

-- The pattern that begins at byte `pos` of a text, and the position after it; or nil, the error, and its
-- position.
function P.read(text, pos)
    local p = new(text, #text, pos - 1, mode.utf8, finish, trouble)
    local after = tonumber(finish[0]) + 1
    if p == nil then return nil, errors[trouble[0]], after end
    return ffi.gc(p, free), after
end

-- The position after the pattern at `pos`, or nil, the error and its position.
function P.scan(text, pos)
    local p, after, where = P.read(text, pos)
    if not p then return nil, after, where end
    return after
end

local function refuse(text, after)
    if text:find("^ *$", after) then return end
    return fail("INDEXTRACHARS")
end

local cache, n_cached = {}, 0

local function compile_new(text)
    local p, after = P.read(text, 1)
    if not p then return fail(after, "0", "") end -- only MEMORY has words in its text
    if after <= #text then refuse(text, after) end
    if n_cached == MOST then cache, n_cached = {}, 0 end
    cache[text], n_cached = p, n_cached + 1
    return p
end

local function compile(text)
    return cache[text] or compile_new(text)
end
P.compile = compile

local function answer(matches, p)
    if matches == NO_MEMORY then
        return fail("MEMORY", "0", "")
    elseif matches < 0 then
        return fail("PATNOTFOUND", string.char(C.caret_mumps__pattern_unknown(p)))
    end
    return matches == 1
end

function P.is_match(v, p)
    if type(p) ~= "cdata" then p = compile(str(p)) end
    if type(v) == "number" then return answer(match_integer(p, v), p) end
    if mode.utf8 then require("mumps.values.utf8").check(v) end
    return answer(pattern_match(p, v, #v), p)
end
local is_match = P.is_match

function P.match(v, p)
    return is_match(v, p) and 1 or 0
end

return P
