-- The smallest parts of M's text: names, numbers, literals, and what is wrong with a line.
--
-- The parser has no tokens.  Each rule is a function (s, p) that reads the line `s` from byte `p` and
-- returns a node and the byte after it.  What does not fit raises fail(); the line's parser catches it.  A
-- few errors let M go on (an unknown function, a variable that can't be set): soft() lists them and gives
-- a node that raises when reached.

local lex = {}

local byte, find, sub = string.byte, string.find, string.sub
local MOST_DEPTH = 400 -- arbitrary: expressions in expressions; Lua's own limit of the emitted code is lower
local NAME_MAX = 31 -- bytes of a name that count

-- Of the text at hand: its errors in order, the labels of its own that it calls, and how deep the rule at
-- work is.
local errors, called, depth = {}, {}, 0

function lex.begin()
    errors, called, depth = {}, {}, 0
    return errors, called
end

-- A label of this routine is called, with that many actuals; nil: without a list of them.
function lex.calls(label, actuals)
    called[#called + 1] = { label, actuals }
end

-- How many there are so far; and back to so many, as what had the others is not compiled.
function lex.count_calls()
    return #called
end

function lex.drop_calls(n)
    for i = #called, n + 1, -1 do called[i] = nil end
end

-- Raises: the line does not go on.  Parameters of the error's text follow.
function lex.fail(mnemonic, col, ...)
    error({ mnemonic = mnemonic, col = col, ... }, 0)
end

local fail = lex.fail

-- Lists the error and gives a node that raises it.
function lex.soft(mnemonic, col, ...)
    local err = { mnemonic = mnemonic, col = col, ... }
    errors[#errors + 1] = err
    return { "ERROR", err }
end

-- Lists what is odd, but is compiled.
function lex.warn(mnemonic, col, ...)
    errors[#errors + 1] = { mnemonic = mnemonic, col = col, warning = true, ... }
end

-- The formatter wants to know where words are: it is called with a kind, the first and the last byte of
-- the word, and the word in full; and with "line" and "comment" and where those begin.
local marker

function lex.set_marker(f)
    marker = f
end

function lex.mark(kind, from, to, full)
    if marker then marker(kind, from, to, full) end
end

-- One level deeper; leave() after it.
function lex.enter(col)
    depth = depth + 1
    if depth > MOST_DEPTH then fail("STACKCRIT", col) end
end

function lex.leave()
    depth = depth - 1
end

function lex.restart()
    depth = 0
end

-- Bytes that a name may begin with, and that may follow.
local begins, follows = { [37] = true }, {}
for b = 65, 90 do begins[b], begins[b + 32], follows[b], follows[b + 32] = true, true, true, true end
for b = 48, 57 do follows[b] = true end

-- The last byte of the name or word at p; nil if there is none.
local function last_of(s, p)
    if not begins[byte(s, p)] then return nil end
    while follows[byte(s, p + 1)] do p = p + 1 end
    return p
end

lex.last_of = last_of

-- The name at p, as far as it counts, and the byte after it; nil if there is none.
function lex.name(s, p)
    local last = last_of(s, p)
    if not last then return nil, p end
    if last - p >= NAME_MAX then return sub(s, p, p + NAME_MAX - 1), last + 1 end
    return sub(s, p, last), last + 1
end

-- A label: a name, or digits.
function lex.label(s, p)
    local b = byte(s, p)
    if not b or b < 48 or b > 57 then return lex.name(s, p) end
    local _, last = find(s, "^%d+", p)
    return sub(s, p, last < p + NAME_MAX and last or p + NAME_MAX - 1), last + 1
end

-- A literal in quotes, from the quote on.
function lex.text(s, p)
    local from = p + 1
    local to = find(s, '"', from, true)
    if not to then return nil, #s + 1 end
    if byte(s, to + 1) ~= 34 then return sub(s, from, to - 1), to + 1 end
    local parts, n = {}, 0
    repeat
        n = n + 1
        parts[n] = sub(s, from, to)
        from = to + 2
        to = find(s, '"', from, true)
        if not to then return nil, #s + 1 end
    until byte(s, to + 1) ~= 34
    parts[n + 1] = sub(s, from, to - 1)
    return table.concat(parts), to + 1
end

-- A number as it is written, as a value: what M makes of it.
local function canonical(text, col)
    local value, wrong = require("mumps.values.number").dec(text)
    if value == nil then fail(wrong, col) end
    return value
end

-- A numeric literal at p: its value and the byte after it.
function lex.number(s, p)
    local b = byte(s, p + 1)
    if b == nil or (b < 48 or b > 57) and b ~= 46 and b ~= 69 then -- one digit alone
        local digit = byte(s, p) - 48
        if digit >= 0 then return digit, p + 1 end
    end
    local _, last = find(s, "^%d*", p)
    b = byte(s, last + 1)
    if b ~= 46 and b ~= 69 and last - p < 15 then return tonumber(sub(s, p, last)), last + 1 end
    if b == 46 then _, last = find(s, "^%.%d*", last + 1) end
    local _, exponent = find(s, "^E[+-]?%d+", last + 1)
    last = exponent or last
    return canonical(sub(s, p, last), p + 1), last + 1
end

-- Is this the end of an argument: nothing, a blank, a comma, a tab, a comment?
function lex.ended(b)
    return b == nil or b == 32 or b == 44 or b == 9 or b == 59
end

return lex
