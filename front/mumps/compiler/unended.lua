-- Lines with a literal that has no end.
--
-- GT.M looks one word ahead: when it meets such a literal, the word before it is lost, too. What the line
-- lacks is told as at its end. So a line that does not compile is parsed once more, up to that word, where it
-- has a byte that nothing begins with. A constant beyond the range of numbers is told as soon as it is met,
-- which is before what is wrong with the word before it.

local lex = require "mumps.compiler.lex"

local unended = {}

local byte, find, sub = string.byte, string.find, string.sub

-- Whether the word from p on can be an operand's end, so that a ? after it begins a pattern; and its end.
local function word(s, p)
    local _, last = find(s, "^[%a%%]%w*", p)
    if not last then _, last = find(s, "^%d*%.?%d+", p) end
    if last then
        local _, exponent = find(s, "^E[+-]?%d+", last + 1)
        return true, exponent or last
    end
    _, last = find(s, "^'?%]%]", p)
    if not last then _, last = find(s, "^'[=<>%[%]?&!]", p) end
    if not last then _, last = find(s, "^%*%*", p) end
    return byte(s, p) == 41, last or p
end

-- After a ? at p that follows an operand: the end of the pattern, nil if that is not right.
local function after_pattern(s, p)
    return (require("mumps.values.pattern").scan(s, p + 1))
end

-- Where what is lost begins. The parenthesis of a function was seen already.
local function lost(s, p)
    return byte(s, p) == 40 and find(sub(s, 1, p), "%f[$]%$%a%w*%($") and p + 1 or p
end

-- What is left of a line with a literal that does not end, and with the word before that, which begins there.
local function left(s, before)
    if sub(s, before - 1, before) == "$$" then return sub(s, 1, before) .. "^\0" end
    return sub(s, 1, lost(s, before) - 1) .. "\0"
end

-- The next word from p on: the byte after it, nil if it does not end; and whether it can be an operand's end.
local function next_word(s, p, operand)
    if byte(s, p) == 34 then
        local value, to = lex.text(s, p)
        return value and to, true
    end
    if operand and byte(s, p) == 63 and byte(s, p + 1) ~= 34 then return after_pattern(s, p), false end
    local last
    operand, last = word(s, p)
    return last + 1, operand
end

--- The line as far as it counts, whose commands begin at p; nil: all literals end.
function unended.cut(s, p)
    local before, operand = p, false
    while p <= #s and byte(s, p) ~= 59 do
        local to
        to, operand = next_word(s, p, operand)
        if not to then return byte(s, p) == 34 and left(s, before) or nil end
        before, p = p, to
    end
    return nil
end

-- The byte that an error tells if the number at p is beyond the range; nil: it is not, or there is none.
local function beyond(s, p)
    if not find(s, "^%.?%d", p) then return nil end
    local ok, e = pcall(lex.number, s, p)
    return not ok and type(e) == "table" and e.mnemonic == "NUMOFLOW" and e.col or nil
end

--- Of a line whose commands begin at p, and that has an error at col: the column of a number beyond the
--- range that GT.M meets before that error, as it is the word that is wrong, or the next one; nil: none.
function unended.overflow(s, p, col)
    local operand, rest = false, 2
    while p and p <= #s and byte(s, p) ~= 59 and rest > 0 do
        local at = beyond(s, p)
        if at then return at end
        p, operand = next_word(s, p, operand)
        if p and p > col then rest = rest - 1 end
    end
    return nil
end

--- The column of an error there, in the whole line.
function unended.column(s, cut, col)
    return col < #cut and col or #s + 1
end

return unended
