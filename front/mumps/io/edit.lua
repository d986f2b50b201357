-- edit.lua - READ at a terminal with EDITING: a line in which the cursor moves.
--
-- The line is a list of characters; its columns are counted from where the cursor was when the READ began, so
-- a line may take several rows.  A change writes what is to the right of it anew.
local B = require "mumps.io.base"
local utf8 = require("mumps.values.mode").utf8

local E = {}

-- What the terminal is asked for while a READ waits: the arrow keys as ESC O and a letter.
E.begins, E.ends = "\27[?1h\27=", "\27[?1l\27>"

function E.new(d)
    return { d = d, chars = {}, at = 0, from = d.x, column = d.x, insert = not d.overstrike }
end

-- Shows it.
local function show(e, text)
    B.put(e.d, text)
end

local function part(e, first, last)
    return table.concat(e.chars, "", first, last)
end

E.text = part

-- The column that the first n characters end at.
local function column_of(e, n)
    return e.from + B.columns(part(e, 1, n), e.d)
end

-- The cursor, which is at a column, goes to another.
local function move(e, to)
    local width = e.d.wrap and e.d.width > 0 and e.d.width or math.huge
    local down = math.floor(to / width) - math.floor(e.column / width)
    if down ~= 0 then
        show(e, ("\27[%d%s\27[%dG"):format(math.abs(down), down < 0 and "A" or "B", to % width + 1))
    elseif to < e.column then
        show(e, ("\b"):rep(e.column - to))
    elseif to > e.column then
        show(e, ("\27[%dC"):format(to - e.column))
    end
    e.column = to
end

-- Text at the cursor; at the end of a row the cursor goes to the next one, which terminals put off.
local function write(e, text, columns)
    show(e, text)
    e.column = e.column + columns
    if columns > 0 and e.d.wrap and e.d.width > 0 and e.column % e.d.width == 0 then
        show(e, "\n")
    end
end

-- What is from character n on, and as many blanks as there were columns more.
local function redraw(e, n, before)
    local text = part(e, n)
    move(e, column_of(e, n - 1))
    write(e, text, B.columns(text, e.d))
    local gone = before - e.column
    if gone > 0 then
        write(e, (" "):rep(gone), gone)
    end
    move(e, column_of(e, e.at))
end

local function go(e, n)
    e.at = math.max(0, math.min(n, #e.chars))
    move(e, column_of(e, e.at))
end

-- Characters first to last go.
local function cut(e, first, last)
    local before = column_of(e, #e.chars)
    for _ = first, last do
        table.remove(e.chars, first)
    end
    e.at = math.min(e.at, first - 1)
    redraw(e, first, before)
end

local function each_character(text)
    return text:gmatch(utf8 and "[^\128-\191][\128-\191]*" or ".")
end

-- What the last READ with EDITING has read takes the place of the line; READ #n takes so much of it.
local function recall(e, most)
    if #e.chars > 0 then
        cut(e, 1, #e.chars)
    end
    for char in each_character(e.d.recalled or "") do
        if #e.chars == most then
            break
        end
        e.chars[#e.chars + 1] = char
    end
    e.at = #e.chars
    redraw(e, 1, 0)
end

--- A character that was typed.
function E.type(e, char)
    local before = column_of(e, #e.chars)
    e.at = e.at + 1
    if e.insert or e.at > #e.chars then
        table.insert(e.chars, e.at, char)
    else
        e.chars[e.at] = char
    end
    redraw(e, e.at, before)
end

--- Erase: the character to the left of the cursor goes; false: there is no text at all.
function E.erase(e)
    if e.at > 0 then
        e.at = e.at - 1
        cut(e, e.at + 1, e.at + 1)
    end
    return #e.chars > 0
end

local function delete(e)
    if e.at < #e.chars then
        cut(e, e.at + 1, e.at + 1)
    end
end

local function left(e) go(e, e.at - 1) end
local function right(e) go(e, e.at + 1) end
local function toggle(e) e.insert = not e.insert end

local controls = {
    [1] = function(e) go(e, 0) end, -- Ctrl-A
    [2] = left,
    [4] = delete,
    [5] = function(e) go(e, #e.chars) end,
    [6] = right,
    [11] = function(e) cut(e, e.at + 1, #e.chars) end, -- Ctrl-K
    [21] = function(e) cut(e, 1, #e.chars) end, -- Ctrl-U
}

-- Keys by what they send, in the terminal's two modes.
local keys = { ["[2~"] = toggle, ["[3~"] = delete }
for letter, action in pairs { A = recall, B = recall, C = right, D = left } do
    keys["O" .. letter], keys["[" .. letter] = action, action
end

--- What a control character does, or nil.
function E.control(byte)
    return controls[byte]
end

--- What a key does which sends ESC and that, or nil.
function E.key(rest)
    return keys[rest]
end

--- The READ is over: the virtual cursor is at the end of what it has read, which can be recalled.
function E.finish(e)
    local d, to = e.d, column_of(e, #e.chars)
    d.recalled, d.x = part(e), to
    if d.wrap and d.width > 0 then
        d.x = to % d.width
        for _ = 1, math.floor(to / d.width) do
            B.down(d)
        end
    end
end

return E
