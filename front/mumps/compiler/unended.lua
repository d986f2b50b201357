-- Lines with a literal that has no end.
--
-- GT.M looks one word ahead: when it meets such a literal, the word before it is lost, too. What the line
-- lacks is told as at its end. So a line that does not compile is parsed once more, up to that word, where it
-- has a byte that nothing begins with.

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
    _, last = find(s, "^ +", p)
    if not last then _, last = find(s, "^'?%]%]", p) end
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

--- The line as far as it counts, whose commands begin at p; nil: all literals end.
function unended.cut(s, p)
    local before, operand = p, false
    while p <= #s and byte(s, p) ~= 59 do
        local at = p
        if byte(s, p) == 34 then
            local value
            value, p = lex.text(s, p)
            if not value then return sub(s, 1, lost(s, before) - 1) .. "\0" end
            operand = true
        elseif operand and byte(s, p) == 63 and byte(s, p + 1) ~= 34 then
            p = after_pattern(s, p)
            if not p then return nil end
        else
            local last
            operand, last = word(s, p)
            p = last + 1
        end
        before = at
    end
    return nil
end

--- The column of an error there, in the whole line.
function unended.column(s, cut, col)
    return col < #cut and col or #s + 1
end

return unended
