-- draft.lua - texts that are bytes in a buffer until somebody wants the string.
--
-- A new string costs LuaJIT some 100 ns: it is put into the table of strings, and is garbage soon after.
-- Most texts that a program makes are only cut, joined or overwritten.  So the functions of this file write
-- their result into a *draft*, and take drafts where others take text.  A draft lives in the container of a
-- local variable (runtime/symbols.lua), where the next reader that wants the string makes it, or between two
-- of these functions of one expression; the compiler emits them nowhere else.
--
-- There is one spare draft, into which all of them write.  What is in it must be used, or be taken over by a
-- container that gives another one for it (swap), before anything else of this file is called.  So the
-- compiler lets an expression have one only where all that is evaluated in the meantime is quiet: it makes no
-- text and calls nothing.  A draft that a container had is used again after SET of another draft, NEW, KILL
-- and the like alone, and a quiet expression has none of them.
--
-- Texts over MOST bytes are strings at once; a string that grows is a draft of any length.
local ffi = require "ffi"
local C = require "mumps.host"
local fail = require "mumps.values.fail"
local number = require "mumps.values.number"
local text = require "mumps.values.text"
local piece = require "mumps.values.piece"
local format = require "mumps.values.format"

local str, int = number.str, number.int
local integer_text, set_piece, piece_at = C.caret_mumps__integer_text, C.caret_mumps__set_piece,
    C.caret_mumps__piece
local occurrences, piece_number = C.caret_mumps__occurrences, C.caret_mumps__piece_number
local type, tonumber, floor = type, tonumber, math.floor
local copy, fill, string_of = ffi.copy, ffi.fill, ffi.string

local D = {}

local MAX = 1048576
local MOST = 4096
local FIRST = 64    -- bytes of a new draft
local DIGITS = 24   -- room for an integer
local VIEWS = 3     -- how often a draft is looked at before it becomes a string
local WAITING = 16  -- drafts that nobody has

local shape = ffi.typeof "struct { int32_t n, size, views; char bytes[?]; }"
local place = { spare = false, n = 0 } -- and the drafts that nobody has

local function new(size)
    local d = shape(size)
    d.size = size
    return d
end

place.spare = new(FIRST)

-- The spare draft with room for that many bytes.
local function room(size)
    local d = place.spare
    if size <= d.size then return d end
    d = new(size * 2)
    place.spare = d
    return d
end

--- Nobody needs that draft any more.
function D.free(d)
    local n = place.n
    if n == WAITING or d.size > 2 * MOST then return end
    place.n = n + 1
    place[n + 1] = d
end

local function another()
    local n = place.n
    if n == 0 then return new(FIRST) end
    place.n = n - 1
    return place[n]
end

--- A container takes the spare draft over; `old` is what it had, a draft or anything else.
function D.swap(old)
    place.spare = type(old) == "cdata" and old.size <= 2 * MOST and old or another()
end

function D.string(d)
    return string_of(d.bytes, d.n)
end
local to_string = D.string

--- May it be looked at once more?
function D.look(d)
    local n = d.views
    d.views = n + 1
    return n < VIEWS
end

-- ------------------------------------------------------------------ writing

local function bound(v)
    if type(v) == "string" then return #v end
    if type(v) == "number" then return DIGITS end
    return v.n
end

-- Write a text, integer or draft at that place: the place after it.
local function write(d, at, v)
    if type(v) == "string" then
        copy(d.bytes + at, v, #v)
        return at + #v
    end
    if type(v) == "number" then return at + tonumber(integer_text(v, d.bytes + at)) end
    copy(d.bytes + at, v.bytes, v.n)
    return at + v.n
end

local function ended(d, n)
    d.n, d.views = n, 0
    return d
end

local function plain(v)
    if type(v) == "cdata" then return to_string(v) end
    return v
end
D.plain = plain

--- A draft that grows: d, or another one, with a string after it.
function D.append(d, more)
    local need = d.n + #more
    if need > MAX then return fail("MAXSTRLEN") end
    if need > d.size then
        local larger = new(need * 2)
        copy(larger.bytes, d.bytes, d.n)
        larger.n = d.n
        d = larger
    end
    return ended(d, write(d, d.n, more))
end

--- Two texts, which will grow: a draft that is not the spare one.
function D.begin(old, more)
    if #old + #more > MAX then return fail("MAXSTRLEN") end
    local size = #old + #more
    local d = size <= MOST and another() or new(size + size / 2)
    if size > d.size then d = new(size * 2) end
    return ended(d, write(d, write(d, 0, old), more))
end

-- ------------------------------------------------------------------ joining

local function names(n, form, between)
    local out = {}
    for i = 1, n do out[i] = (form:gsub("#", i)) end
    return table.concat(out, between)
end

--- a1_a2_.. of n operands: join[n](a1, a2, ..), a draft or a string.
D.join = setmetatable({}, { __index = function(t, n)
    local source = "local bound, write, room, ended, join, plain, MOST = ... return function(" ..
        names(n, "a#", ",") .. ") local size = " .. names(n, "bound(a#)", "+") ..
        " if size > MOST then return join(" .. n .. "," .. names(n, "plain(a#)", ",") ..
        ") end local d, n = room(size), 0 " .. names(n, "n = write(d, n, a#)", " ") ..
        " return ended(d, n) end"
    local f = assert(loadstring(source, "=mumps"))(bound, write, room, ended, text.concat_list, plain, MOST)
    t[n] = f
    return f
end })

-- ------------------------------------------------------------------ filling

--- $JUSTIFY
function D.justify(v, width, decimals)
    width = int(width)
    if decimals then decimals = int(decimals) end
    if width < 0 then width = 0 end
    if width > MOST or decimals and (decimals < 0 or decimals > MOST) then
        return text.justify(plain(v), width, decimals)
    end
    if decimals then
        local d = room(width + decimals + 128)
        return ended(d, text.fixed_at(v, width, decimals, d.bytes))
    end
    local size = bound(v)
    if size > MOST then return text.justify(plain(v), width) end
    local d = room(width + size)
    local n = write(d, 0, v)
    if n >= width then return ended(d, n) end
    fill(d.bytes, width - n, 32)
    write(d, width - n, v)
    return ended(d, width)
end

--- $FNUMBER; a draft for what is not below 0, with commas alone.
function D.fnumber(v, codes, decimals)
    if codes ~= "," or decimals or type(v) ~= "number" or v < 0 or v ~= floor(v) then
        return format.fnumber(v, codes, decimals)
    end
    local d = room(2 * DIGITS)
    return ended(d, format.integer_with_commas(v, d.bytes))
end

-- ------------------------------------------------------------------- pieces

local stop, digits = ffi.new("size_t[1]"), ffi.new("char[24]")

local function bytes_of(v)
    if type(v) == "cdata" then return v.bytes, v.n end
    return v, #v
end

local function replace(d, s, delim, first, last, by)
    local from, n = bytes_of(s)
    if type(by) == "number" then
        local nby = tonumber(integer_text(by, digits))
        return tonumber(set_piece(from, n, delim, #delim, first, last, digits, nby, d.bytes, d.size))
    end
    local bytes, nby = bytes_of(by)
    return tonumber(set_piece(from, n, delim, #delim, first, last, bytes, nby, d.bytes, d.size))
end

--- SET $PIECE: a draft, a string, or nil if nothing is set.
function D.set_piece(s, delim, first, last, by)
    if type(s) == "number" then s = str(s) end
    delim = str(delim)
    if first then first = int(first) else first = 1 end
    if last then last = int(last) else last = first end
    if first < 1 then first = 1 end
    if last < first then return nil end
    if delim ~= "" and bound(s) + bound(by) <= MOST then
        local d = room(bound(s) + bound(by) + #delim)
        local n = replace(d, s, delim, first, last, by)
        if n <= d.size then return ended(d, n) end
    end
    return piece.set_piece(plain(s), delim, first, last, plain(by))
end

-- ------------------------------------------------------------------ looking

--- $PIECE by one character.
function D.piece1(s, code, n)
    if type(s) ~= "cdata" then return piece.piece1(s, code, n) end
    if type(n) == "string" then n = int(n) end
    if n < 1 or n > MAX then return "" end
    digits[0] = code
    local begin = tonumber(piece_at(s.bytes, s.n, digits, 1, n, stop))
    if begin > s.n then return "" end
    return string_of(s.bytes + begin, tonumber(stop[0]) - begin)
end

--- The same where a number is wanted: it, or the text.
function D.npiece1(s, code, n)
    if type(s) ~= "cdata" then return piece.npiece1(s, code, n) end
    if type(n) == "number" and n >= 1 and n <= MAX then
        local v = piece_number(s.bytes, s.n, code, n)
        if v == v then return v end
    end
    return D.piece1(s, code, n)
end

--- $LENGTH
function D.length(s, delim)
    if type(s) ~= "cdata" then return delim and piece.count(s, delim) or #str(s) end
    if not delim then return s.n end
    delim = str(delim)
    if delim == "" then return 0 end
    return tonumber(occurrences(s.bytes, s.n, delim, #delim)) + 1
end

--- $EXTRACT
function D.extract(s, from, to)
    if type(s) ~= "cdata" then return text.extract(s, from, to) end
    if from then from = int(from) else from = 1 end
    if to then to = int(to) else to = from end
    if from < 1 then from = 1 end
    if to > s.n then to = s.n end
    if to < from then return "" end
    return string_of(s.bytes + (from - 1), to - from + 1)
end

--- $ASCII
function D.ascii(s, n)
    if type(s) ~= "cdata" then return text.ascii(s, n) end
    if n then n = int(n) else n = 1 end
    if n < 1 or n > s.n then return -1 end
    return bit.band(s.bytes[n - 1], 255)
end

return D
