-- $PIECE, SET $PIECE and $LENGTH(s,delimiter) by bytes.
--
-- A text that is cut at the same delimiter again and again is split once: the eighth time in a row that a
-- text of over 16 bytes comes up, its pieces become a table, and from then on a piece of it is one look
-- into that. The tables of one delimiter are thrown away together when there are too many of them.  Of a
-- text of over 32 KiB the place of the newest piece is remembered instead, and the next one is looked for
-- from there.
local ffi = require "ffi"
local C = require "mumps.host"
local fail = require "mumps.values.fail"
local number = require "mumps.values.number"
local buffer = require "mumps.values.buffer"

local str, int = number.str, number.int
local piece_at, occurrences, set_piece = C.caret_mumps__piece, C.caret_mumps__occurrences,
    C.caret_mumps__set_piece
local piece_number = C.caret_mumps__piece_number
local type, sub, find, strchar, tonumber = type, string.sub, string.find,
    string.char, tonumber

local MAX = 1048576
local LONG, OFTEN, TEXTS, PIECES, DELIMITERS, FAR = 16, 8, 64, 4096, 16, 32768
local integer_text = C.caret_mumps__integer_text
local stop, digits = ffi.new("size_t[1]"), ffi.new("char[24]")
local pointer = ffi.typeof("const char *")
local P = {}

-- Piece n of a text, and where it is: begin and end as of string.sub; nil if there are not so many.
local function place(s, delim, n)
    local length = #s
    local begin = tonumber(piece_at(s, length, delim, #delim, n, stop))
    if begin > length then return nil end
    return begin + 1, tonumber(stop[0])
end

local function nth(s, delim, n)
    local from, to = place(s, delim, n)
    if not from then return "" end
    return sub(s, from, to)
end

-- ----------------------------------------------------------- texts met often

local function split(s, delim)
    local pieces, at, n = {}, 1, 0
    while n < PIECES do
        local from, to = find(s, delim, at, true)
        n = n + 1
        pieces[n] = sub(s, at, from and from - 1)
        if not from then return pieces end
        at = to + 1
    end
    return false
end

local tables, n_tables = {}, 0

local function new_texts(delim)
    if n_tables == DELIMITERS then tables, n_tables = {}, 0 end
    local t = { pieces = {}, n = 0, seen = false, times = 0 }
    tables[delim], n_tables = t, n_tables + 1
    return t
end

-- The newest piece of a very long text: its number, and where it begins.
local far_text, far_delim, far_nth, far_from = "", "", 1, 0

local function far_piece(s, delim, n)
    if far_text ~= s or far_delim ~= delim or n < far_nth then
        far_text, far_delim, far_nth, far_from = s, delim, 1, 0
    end
    local rest = #s - far_from
    local bytes = ffi.cast(pointer, s) + far_from
    local begin = tonumber(piece_at(bytes, rest, delim, #delim, n - far_nth + 1, stop))
    if begin > rest then return "" end
    local last = far_from + tonumber(stop[0])
    far_nth, far_from = n, far_from + begin
    return sub(s, far_from + 1, last)
end

local function long_piece(s, delim, n)
    if #s > FAR then return far_piece(s, delim, n) end
    local t = tables[delim] or new_texts(delim)
    local pieces = t.pieces[s]
    if pieces then return pieces[n] or "" end
    if t.seen ~= s then
        t.seen, t.times = s, 1
        return nth(s, delim, n)
    end
    t.times = t.times + 1
    if t.times < OFTEN or pieces == false then return nth(s, delim, n) end
    if t.n == TEXTS then t.pieces, t.n = {}, 0 end
    t.n = t.n + 1
    t.pieces[s] = split(s, delim)
    return nth(s, delim, n)
end

-- --------------------------------------------------------------------- get

-- A constant delimiter of one byte, one piece.
local singles = {}
for i = 0, 255 do singles[i] = strchar(i) end

function P.piece1(s, code, n)
    s = str(s)
    if type(n) == "string" then n = int(n) end
    if n < 1 or n > MAX then return "" end
    if #s > LONG then return long_piece(s, singles[code], n) end
    return nth(s, singles[code], n)
end

local SHORT = 64 -- of what is longer the pieces that are met often are known

-- The same where a number is wanted: it, or the text.
function P.npiece1(s, code, n)
    if type(s) == "string" and #s <= SHORT and type(n) == "number" and n >= 1 and n <= MAX then
        local v = piece_number(s, #s, code, n)
        if v == v then return v end
    end
    return P.piece1(s, code, n)
end

-- Where piece `last` ends, if piece `first` ends at `to`.
local function end_of(s, delim, first, last, to)
    if last == first then return to end
    local _, finish = place(s, delim, last)
    return finish or #s
end

local function range(s, delim, first, last)
    local from, to = place(s, delim, first)
    if not from then return "" end
    return sub(s, from, end_of(s, delim, first, last, to))
end

function P.piece(s, delim, first, last)
    s, delim = str(s), str(delim)
    if first then first = int(first) else first = 1 end
    if last then last = int(last) else last = first end
    if first < 1 then first = 1 end
    if last < first or delim == "" then return "" end
    if first > MAX then return "" end
    if first == last then
        if #s > LONG then return long_piece(s, delim, first) end
        return nth(s, delim, first)
    end
    return range(s, delim, first, last)
end

function P.count(s, delim)
    s, delim = str(s), str(delim)
    if delim == "" then return 0 end
    return tonumber(occurrences(s, #s, delim, #delim)) + 1
end

-- --------------------------------------------------------------------- set

local function checked(s)
    if #s > MAX then return fail("MAXSTRLEN") end
    return s
end

-- SET $PIECE: the new text, or nil if nothing is set.
function P.set_piece(s, delim, first, last, new)
    s, delim = str(s), str(delim)
    if first then first = int(first) else first = 1 end
    if last then last = int(last) else last = first end
    if first < 1 then first = 1 end
    if last < first then return nil end
    if delim == "" then return first == 1 and checked(str(new)) or checked(s .. str(new)) end
    local room = buffer(MAX)
    local length
    if type(new) == "number" then
        local n = integer_text(new, digits)
        length = tonumber(set_piece(s, #s, delim, #delim, first, last, digits, n, room, MAX))
    else
        length = tonumber(set_piece(s, #s, delim, #delim, first, last, new, #new, room, MAX))
    end
    if length > MAX then return fail("MAXSTRLEN") end
    return ffi.string(room, length)
end

return P
