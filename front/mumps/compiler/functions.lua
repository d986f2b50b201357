-- The arguments of the intrinsic functions, by name.
--
-- A rule is a text with one letter for each argument: e expression, l the name of a node (local, global,
-- naked or indirect), v the name of a local; those after `/` may be left out, `*` repeats the last one.
-- Small letters must be there, capitals may be empty.

local lex = require "mumps.compiler.lex"
local expr = require "mumps.compiler.expr"
local fold = require "mumps.compiler.fold"

local byte, find = string.byte, string.find
local fail, soft = lex.fail, lex.soft

local rules = {
    ASCII = "e/e", CHAR = "e/*", DATA = "l", EXTRACT = "e/ee", FIND = "ee/e", FNUMBER = "ee/e", GET = "l/e",
    INCREMENT = "i/e", JUSTIFY = "ee/e", LENGTH = "e/e", NAME = "l/e", NEXT = "l", ORDER = "l/e", PIECE
    = "ee/ee",
    QLENGTH = "e", QSUBSCRIPT = "ee", QUERY = "l/e", RANDOM = "e", REVERSE = "e", STACK = "e/e",
    TRANSLATE = "e/ee", VIEW = "e/*",
    ZAHANDLE = "l", ZASCII = "e/e", ZATRANSFORM = "ee/ee", ZAUDITLOG = "e", ZBITAND = "ee", ZBITCOUNT = "e",
    ZBITFIND = "ee/e", ZBITGET = "ee", ZBITLEN = "e", ZBITNOT = "e", ZBITOR = "ee", ZBITSET = "eee",
    ZBITSTR = "e/e", ZBITXOR = "ee", ZCHAR = "e/*", ZCOLLATE = "ee/e", ZCONVERT = "ee/e", ZDATA = "l",
    ZDATE = "e/eee", ZEXTRACT = "e/ee", ZFIND = "ee/e", ZGETJPI = "ee", ZJOBEXAM = "/Ee", ZJUSTIFY = "ee/e",
    ZLENGTH = "e/e", ZMESSAGE = "e", ZPARSE = "e/EEEE", ZPEEK = "eee/e", ZPIECE = "ee/ee",
    ZPREVIOUS = "l", ZQGBLMOD = "l", ZSEARCH = "e/e", ZSIGPROC = "ee", ZSOCKET = "Ee/ee",
    ZSUBSTR = "e/ee", ZSYSLOG = "e", ZTRANSLATE = "e/ee", ZTRIGGER = "e/e", ZTRNLNM = "e/EEEEE", ZWIDTH = "e",
    ZWRITE = "e/e", ZYCOMPILE = "e/e", ZYHASH = "e/e", ZYISSQLNULL = "e", ZYSUFFIX = "e",
}

-- One rule, taken apart: least and most arguments, and the letter of each.
local function prepared(rule)
    local must, may = rule:match("^([^/]*)/?(.*)$")
    local letters = {}
    for letter in (must .. may):gmatch("[^*]") do letters[#letters + 1] = letter end
    return { least = #must, most = may:find("*", 1, true) and 1 / 0 or #letters, letters = letters }
end

for key, rule in pairs(rules) do rules[key] = prepared(rule) end
rules.QSUBSCRIPT.missing = "EXPR"

local function argument(letter, s, p)
    if letter == "l" then return expr.place(s, p) end
    local b = byte(s, p)
    if letter == "i" then
        if not find(s, "^[%a%%^@]", p) then fail("EXPR", p) end
        return expr.place(s, p)
    end
    if letter == "E" and (b == 44 or b == 41) then return false, p end
    return expr.parse(s, p)
end

-- The arguments from p on, up to the byte after `)`.
local function arguments(rule, s, p)
    local args, n = {}, 0
    local letters = rule.letters
    if byte(s, p) == 41 and rule.least == 0 then return args, p + 1 end
    while true do
        n = n + 1
        args[n], p = argument(letters[n] or letters[#letters], s, p)
        local b = byte(s, p)
        if n < rule.least then
            if b ~= 44 then fail(rule.missing or "COMMA", p) end
        elseif b == 41 then
            return args, p + 1
        elseif b ~= 44 or n >= rule.most then
            fail("RPARENMISSING", p)
        end
        p = p + 1
    end
end

local function select(s, p)
    local pairs_ = {}
    repeat
        local cond, value
        cond, p = expr.parse(s, p)
        if byte(s, p) ~= 58 then fail("COLON", p) end
        value, p = expr.parse(s, p + 1)
        pairs_[#pairs_ + 1] = { cond, value }
        local b = byte(s, p)
        p = p + 1
        if b ~= 44 and b ~= 41 then fail("RPARENMISSING", p - 1) end
    until b == 41
    return { "select", pairs_ }, p
end

local function text(s, p)
    local entry
    if not find(s, "^[%w%%+^@]", p) then fail("TEXTARG", p) end
    entry, p = expr.entry(s, p, true)
    if byte(s, p) ~= 41 then fail("RPARENMISSING", p) end
    local label = entry[2]
    if type(label) == "table" and not entry[3] and not entry[4] then entry = { "argind", label[2] } end
    return { "text", entry }, p + 1
end

-- Past the `)` of a function that there is not.
local function skip(s, p)
    local deep = 1
    while deep > 0 do
        local b = byte(s, p)
        if not b then fail("RPARENMISSING", p) end
        if b == 34 then
            local value
            value, p = lex.text(s, p)
            if not value then fail("RPARENMISSING", p) end
        else
            deep = deep + (b == 40 and 1 or b == 41 and -1 or 0)
            p = p + 1
        end
    end
    return p
end

-- The function `full` (nil: unknown), with arguments from p on; its name is at col.
function expr.call(full, s, p, col)
    if full == "SELECT" then return select(s, p) end
    if full == "TEXT" then return text(s, p) end
    local rule = rules[full]
    if not rule then return soft("INVFCN", col), skip(s, p) end
    local args
    local from = p
    args, p = arguments(rule, s, p)
    if full == "NEXT" and args[1][1] == "local" and not args[1][3] then fail("LVORDERARG", from) end
    local node = { "fn", full, args }
    local wrong = fold.wrong_call(node)
    if wrong then fail(wrong, from + 1) end
    return node, p
end

-- The same for the left side of SET: $PIECE and $EXTRACT, of a node; the name is at col.  These are the
-- rules of what follows it.
local assigned = { PIECE = "e/ee", EXTRACT = "/ee", ZPIECE = "e/ee", ZEXTRACT = "/ee" }
for key, rule in pairs(assigned) do assigned[key] = prepared(rule) end

function expr.assigned(full, s, p, col)
    local rule = assigned[full]
    if not rule then fail("VAREXPECTED", col) end
    local target, args
    target, p = expr.place(s, p)
    local b = byte(s, p)
    if b == 41 and rule.least == 0 then return { "fn", full, { target } }, p + 1 end
    if b ~= 44 then fail(rule.least > 0 and "COMMA" or "RPARENMISSING", p) end
    args, p = arguments(rule, s, p + 1)
    table.insert(args, 1, target)
    return { "fn", full, args }, p
end

return expr
