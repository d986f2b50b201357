-- The arguments of the commands that begin with Z.

local lex = require "mumps.compiler.lex"
local words = require "mumps.compiler.words"
local command = require "mumps.compiler.command"
local device = require "mumps.compiler.device"
local expr = require "mumps.compiler.functions"

local byte, find, sub, upper = string.byte, string.find, string.sub, string.upper
local fail, ended = lex.fail, lex.ended
local parse, place = expr.parse, expr.place
local rules = command.rules

local function zgoto(s, p)
    local level, entry
    local b = byte(s, p)
    if b ~= 58 then
        level, p = expr.argument(s, p)
        if level[1] == "argind" then
            if ended(byte(s, p)) then return level, p end
            level[1] = "ind"
        end
        if not ended(byte(s, p)) and byte(s, p) ~= 58 then fail("COLON", p) end
    end
    if byte(s, p) == 58 then
        if byte(s, p + 1) ~= 58 then entry, p = expr.entry(s, p + 1, true) else p = p + 1 end
    end
    return command.conditional({ "zgoto", level, entry }, s, p)
end

-- A pattern after ?, in ZWRITE.
local function pattern(s, p)
    local to, wrong, where = require("mumps.values.pattern").scan(s, p)
    if not to then fail(wrong, where or p) end
    return { "pat", sub(s, p, to - 1) }, to
end

-- One subscript of ZWRITE: *, ?pattern, lo:hi with either left out, a value, or nothing: any.
local function zwrite_subscript(s, p)
    local b = byte(s, p)
    if b == 42 then return { "any" }, p + 1 end
    if b == 63 then
        local list
        list, p = pattern(s, p + 1)
        b = byte(s, p)
        if b ~= 44 and b ~= 41 then fail("ZWRSPONE", p) end
        return list, p
    end
    if b == 44 or b == 41 then return { "range" }, p end
    local lo, hi
    if b ~= 58 then lo, p = parse(s, p) end
    if byte(s, p) ~= 58 then
        if not find(s, "^[,)]", p) then fail("COMMA", p) end
        return lo, p
    end
    b = byte(s, p + 1)
    if b == 44 or b == 41 then return { "range", lo, nil }, p + 1 end
    hi, p = parse(s, p + 1)
    if not find(s, "^[,)]", p) then fail("EXPR", p) end
    return { "range", lo, hi }, p
end

local function zwrite_subscripts(s, p)
    if byte(s, p) ~= 40 then return nil, p end
    local list = {}
    repeat
        if byte(s, p + 1) == 41 then -- () is all, and nothing is after the last comma
            return #list == 0 and { { "any" } } or list, p + 2
        end
        list[#list + 1], p = zwrite_subscript(s, p + 1)
    until byte(s, p) ~= 44 or list[#list][1] == "any" -- * is the last one
    if byte(s, p) ~= 41 then fail("RPARENMISSING", p) end
    return list, p + 1
end

-- A name, or a pattern of names.
local function zwrite_name(s, p)
    if byte(s, p) == 63 then return pattern(s, p + 1) end
    local id
    id, p = lex.name(s, p)
    if not id then fail("VAREXPECTED", p) end
    return id, p
end

local function zwrite_special(s, p)
    local _, last = find(s, "^%a+", p)
    if not last then fail("SVNEXPECTED", p) end
    local full = words.variables[upper(sub(s, p, last))]
    if not ended(byte(s, last + 1)) and byte(s, last + 1) ~= 44 then
        fail(full and "SVNEXPECTED" or "INVSVN", full and last + 1 or p)
    end
    if not full then return lex.soft("INVSVN", p), last + 1 end
    lex.mark("variables", p, last, full)
    return { "svn", full }, last + 1
end

local function zwrite_target(s, p)
    local b = byte(s, p)
    local env, id, list
    if b == 36 then return zwrite_special(s, p + 1) end
    if b ~= 94 then
        id, p = zwrite_name(s, p)
        list, p = zwrite_subscripts(s, p)
        return { "local", id, list }, p
    end
    b, p = byte(s, p + 1), p + 1
    if b == 40 then
        list, p = zwrite_subscripts(s, p)
        return { "naked", list }, p
    end
    if b == 124 or b == 91 then env, p = expr.environment(s, p) end
    id, p = zwrite_name(s, p)
    list, p = zwrite_subscripts(s, p)
    return { "global", id, list, env }, p
end

local function zwrite(s, p)
    local node
    if byte(s, p) == 64 then
        node, p = expr.indirection(s, p, zwrite_subscripts)
        if not node[3] and ended(byte(s, p)) then return { "argind", node[2] }, p end
        return { "zwrite", node }, p
    end
    node, p = zwrite_target(s, p)
    if node[1] == "ERROR" then return node, p end
    return { "zwrite", node }, p
end

local function zshow(s, p)
    local what, into
    what, p = expr.argument(s, p)
    if what[1] == "argind" then
        if ended(byte(s, p)) then return what, p end
        what[1] = "ind"
    end
    if byte(s, p) == 58 then into, p = place(s, p + 1) end
    return { "zshow", what, into }, p
end

local function zprint(s, p)
    local from, to
    from, p = command.entry(s, p, false)
    if byte(s, p) ~= 58 then
        if from[1] == "argind" then return from, p end
        return { "zprint", from }, p
    end
    if from[1] == "argind" then from = { "entry", { "ind", from[2] } } end
    to, p = expr.entry(s, p + 1, true)
    if to[4] then fail("SPOREOL", p - #sub(s, 1, p - 1):match "%^[^^]*$") end
    return { "zprint", from, to }, p
end

local function zbreak(s, p)
    local remove = byte(s, p) == 45 or nil
    local entry, action, count
    if remove then p = p + 1 end
    if remove and byte(s, p) == 42 then return { "zbreakall" }, p + 1 end
    entry, p = command.entry(s, p, false)
    if entry[1] == "argind" then
        if ended(byte(s, p)) and not remove then return entry, p end
        entry = { "entry", { "ind", entry[2] } }
    end
    if not remove then
        action, p = device.optional(s, p)
        if byte(s, p) == 58 then count, p = parse(s, p + 1) end
    end
    return { "zbreak", entry, action, count, remove = remove }, p
end

local steps = {
    I = "INTO", INTO = "INTO", O = "OVER", OV = "OVER", OVER = "OVER", OU = "OUTOF", OUTOF = "OUTOF",
}

local function zstep(s, p)
    local _, last = find(s, "^[%a%%]%w*", p)
    local kind, action
    if not last and byte(s, p) ~= 58 and not ended(byte(s, p)) then fail("ZSTEPARG", p) end
    if last then
        kind = steps[upper(sub(s, p, last))]
        if not kind then fail("INVZSTEP", p) end
        lex.mark("keywords", p, last, kind)
        p = last + 1
    end
    if byte(s, p) == 58 then
        if not kind then fail("ZSTEPARG", p) end
        action, p = parse(s, p + 1)
    end
    return { "zstep", kind, action }, p
end

-- e or e:e; @e may be all of it.
local function pair(s, p)
    local first, second
    first, p = expr.argument(s, p)
    if byte(s, p) ~= 58 then return first, nil, p end
    if first[1] == "argind" then first[1] = "ind" end
    second, p = parse(s, p + 1)
    return first, second, p
end

-- paired(kind): the rule of a command whose arguments are such pairs.
local function paired(kind)
    return function(s, p)
        local first, second
        first, second, p = pair(s, p)
        if first[1] == "argind" then return first, p end
        return { kind, first, second }, p
    end
end

-- ZEDIT: a second part counts for nothing.
local function zedit(s, p)
    local name, _
    name, _, p = pair(s, p)
    return name, p
end

local function ztrigger(s, p)
    if not find(s, "^[%^@]", p) then fail("GBLEXPECTED", p) end
    return command.place_or_argument(s, p)
end

for name, rule in pairs {
    ZATTACH = { expr.argument, "?1" }, ZAUDIT = { expr.argument, "?" }, ZBREAK = { zbreak, "+" },
    ZCOMPILE = { expr.argument, "+" }, ZCONTINUE = { nil, "-" }, ZEDIT = { zedit, "?" },
    ZGOTO = { zgoto, "?" }, ZHALT = { expr.argument, "?" }, ZHELP = { paired "zhelp", "?" },
    ZINVCMD = { expr.argument, "?" }, ZKILL = { command.place_or_argument, "+" },
    ZLINK = { paired "zlink", "?" }, ZMESSAGE = { command.colons("zmessage"), "+" },
    ZPRINT = { zprint, "?" }, ZRUPDATE = { expr.argument, "+" },
    ZSHOW = { zshow, "?" }, ZSTEP = { zstep, "?1" }, ZSYSTEM = { expr.argument, "?" },
    ZTRIGGER = { ztrigger, "+" }, ZWRITE = { zwrite, "?" },
} do rules[name] = rule end

return command
