-- What is known of an expression when it is compiled: what constants give, and what is wrong with them.
--
-- GT.M computes operations on constants as it compiles, and tells then that one overflows, or is the
-- fractional power of a negative number; a division by zero is told when it is reached.  A node of such
-- constants gets a field `known`, one with an error in it `wrong`, its mnemonic.  The code computes them all
-- the same.
--
-- It does the same with functions of texts and pattern matches, and with a $SELECT up to the first condition
-- that is true.  Arguments that are numbers must be constants as such, - before a number, a function or _.
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

local function is_beyond(v)
    return type(v) == "string" and N.dec(v) == nil
end

local constant

-- The functions that are computed, with s for an argument that is a text, i for an integer, which is the last
-- letter's for all others.
local texts = {
    ASCII = "si", CHAR = "i", EXTRACT = "sii", PIECE = "ssii", TRANSLATE = "sss", ZASCII = "si", ZCHAR = "i",
    ZEXTRACT = "sii", ZPIECE = "ssii", ZSUBSTR = "sii", ZTRANSLATE = "sss", ZWRITE = "si",
}

local function integer(node)
    local op = node[1]
    if op == "un" and not (node[2] == "-" and node[3][3] == true) then return nil end
    if op == "bin" and node[2] ~= "_" then return nil end
    local v = constant(node)
    if is_beyond(v) then return nil end
    return v
end

local function function_of(node)
    local letters, args, values = texts[node[2]], node[3], {}
    if not letters then return nil end
    for i, arg in ipairs(args) do
        local is_text = byte(letters, math.min(i, #letters)) == 115
        local v
        if is_text then v = constant(arg) else v = integer(arg) end
        if v == nil then return nil end
        values[i] = v
    end
    local ok, v = pcall(require("mumps.values.functions")[node[2]], unpack(values))
    return ok and v or nil
end

local function select_of(node)
    for _, pair in ipairs(node[2]) do
        local condition = constant(pair[1])
        if condition == nil then return nil end
        if fold.holds(condition) then return constant(pair[2]) end
    end
end

local computed_by = { fn = function_of, select = select_of }

-- The value of a node; nil: it is not known.
function constant(node)
    local op = node[1]
    if op == "const" then return node[2] end
    local make = computed_by[op]
    if make then return make(node) end
    return node.known
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
    local wrong = left.wrong or right.wrong
    if wrong then
        node.wrong = wrong
        return node
    end
    local a, b = constant(left), constant(right)
    if a == nil or b == nil then return node end
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
    local v, wrong = constant(node[3]), node[3].wrong
    if wrong then node.wrong = wrong end
    if v == nil or wrong then return node end
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
    local v
    if node[3][1] == "pat" then v = constant(node[2]) end
    local wrong = node[2].wrong
    if wrong then node.wrong = wrong end
    if v == nil or wrong then return node end
    if is_beyond(v) then
        node.wrong = "NUMOFLOW"
    else
        local ok, matches = pcall(require("mumps.values.pattern").is_match, v, node[3][2])
        if ok then node.known = flag(matches ~= (node[4] or false)) end
    end
    return node
end

--- The error of a function of constants whose arguments are right otherwise; nil: there is none.
function fold.wrong_call(node)
    local name = node[2]
    if name ~= "CHAR" and name ~= "ZCHAR" then return nil end
    local first = node[3][1]
    local plain = first[1] == "const" or first[1] == "bin"
    return plain and is_beyond(constant(first)) and "NUMOFLOW" or nil
end

--- Is a constant true as a condition?  Beyond the range it is.
function fold.holds(v)
    return is_beyond(v) or N.truth(v)
end

--- Is it true because it is a constant beyond the range, as far as conditions go?
function fold.is_true(node)
    return is_beyond(constant(node))
end

--- Is it known to be false?
function fold.is_false(node)
    local v = constant(node)
    return v ~= nil and not fold.holds(v)
end

--- Where GT.M tells what is wrong with the expression of `s` that ends before p: it is a word ahead there.
function fold.column(mnemonic, s, p)
    if mnemonic ~= "NUMOFLOW" then return p end
    local following = byte(s, p + 1)
    return following and following ~= 59 and p + 2 or p - 2
end

return fold
