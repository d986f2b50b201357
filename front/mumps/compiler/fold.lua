-- What is known of an expression when it is compiled: what constants give, and what is wrong with them.
--
-- GT.M computes operations on constants as it compiles, and tells then that one overflows, or is the
-- fractional power of a negative number; a division by zero is told when it is reached.  A node of such
-- constants gets a field `known`, one with an error in it `wrong`, its mnemonic.  The code computes them all
-- the same.
--
-- Numbers are made of both operands, whatever the operator is, but for that of _.  Where a constant alone is
-- a condition, a text beyond the range of numbers is true.

local N = require "mumps.values.number"

local fold = {}

local find, sub, byte = string.find, string.sub, string.byte
local str = N.str

local function flag(x) return x and 1 or 0 end

local computed = {
    ["<"] = N.lt, [">"] = N.gt, ["&"] = N.and_, ["!"] = N.or_,
    ["_"] = function(a, b) return str(a) .. str(b) end,
    ["="] = function(a, b) return flag(str(a) == str(b)) end,
    ["["] = function(a, b) return flag(find(str(a), str(b), 1, true)) end,
    ["]"] = function(a, b) return flag(N.bytes_before(str(b), str(a))) end,
    ["]]"] = function(a, b) return flag(N.before(N.key(b), N.key(a))) end,
}

local function constant(node)
    if node[1] == "const" then return node[2] end
    return node.known
end

local function is_beyond(v)
    return type(v) == "string" and N.dec(v) == nil
end

-- The value, or nil and the error.
local function compute(op, a, b)
    local f = computed[op]
    if f then return f(a, b) end
    if byte(op) == 39 then return 1 - computed[sub(op, 2)](a, b) end
    return N.try(op, a, b)
end

--- A node of two operands, once it is made: itself.
function fold.binary(node)
    local left, right = node[3], node[4]
    node.wrong = left.wrong or right.wrong
    local a, b = constant(left), constant(right)
    if a == nil or b == nil or node.wrong then return node end
    if node[2] ~= "_" and (is_beyond(a) or is_beyond(b)) then
        node.wrong = "NUMOFLOW"
        return node
    end
    local value, trouble = compute(node[2], a, b)
    node.known = value
    node.wrong = trouble ~= "DIVZERO" and trouble or nil
    return node
end

local function unary(op, v)
    if op == "'" then return N.not_(v) end
    return op == "-" and N.neg(v) or N.num(v)
end

--- The same of one operand. What ' makes of a constant beyond the range is a constant.
function fold.unary(node)
    local v = constant(node[3])
    node.wrong = node[3].wrong
    if v == nil or node.wrong then return node end
    if not is_beyond(v) then
        node.known = unary(node[2], v)
    elseif node[2] == "'" then
        return { "const", 0 }
    elseif node[2] == "+" then
        node.wrong = "NUMOFLOW"
    end
    return node
end

--- The same of a pattern match.
function fold.match(node)
    local v = node[3][1] == "pat" and constant(node[2])
    node.wrong = node[2].wrong or v and is_beyond(v) and "NUMOFLOW" or nil
    return node
end

--- Is it true because it is a constant beyond the range, as far as conditions go?
function fold.is_true(node)
    return is_beyond(constant(node))
end

--- Where GT.M tells what is wrong with the expression of `s` that ends before p: it is a word ahead there.
function fold.column(mnemonic, s, p)
    if mnemonic ~= "NUMOFLOW" then return p end
    local following = byte(s, p + 1)
    return following and following ~= 59 and p + 2 or p - 2
end

return fold
