-- The arguments of the commands, each a rule (s, p, cmd) -> argument, the byte after it.  zcommand.lua has
-- those of the commands that begin with Z.

local lex = require "mumps.compiler.lex"
local words = require "mumps.compiler.words"
local expr = require "mumps.compiler.functions"
local device = require "mumps.compiler.device"

local command = {}

local byte, find, sub, upper = string.byte, string.find, string.sub, string.upper
local fail, soft, ended, mark = lex.fail, lex.soft, lex.ended, lex.mark
local argument_expr, parse, place = expr.argument, expr.parse, expr.place

-- `:condition` after an argument, kept in it.
local function conditional(node, s, p)
    if byte(s, p) ~= 58 then return node, p end
    node.pc, p = parse(s, p + 1)
    return node, p
end

command.conditional = conditional

-- Things in parentheses, from `(` on, each read by the rule.
local function group(s, p, rule)
    local list = {}
    repeat
        list[#list + 1], p = rule(s, p + 1)
    until byte(s, p) ~= 44
    if byte(s, p) ~= 41 then fail("RPARENMISSING", p) end
    return list, p + 1
end

-- A name that may be a whole argument by indirection.
local function place_or_argument(s, p)
    local node
    node, p = place(s, p)
    if node[1] == "ind" and not node[3] and ended(byte(s, p)) then return { "argind", node[2] }, p end
    return node, p
end

command.place_or_argument = place_or_argument

-- SET: a special variable or a function on the left, from the byte after $ on.
local function dollar_target(s, p)
    local last = lex.last_of(s, p)
    if not last then fail("VAREXPECTED", p) end
    local word = upper(sub(s, p, last))
    if byte(s, last + 1) == 40 then
        local full = words.functions[word]
        if not full then return expr.call(nil, s, last + 2, p) end
        mark("functions", p, last, full)
        return expr.assigned(full, s, last + 2, p)
    end
    local full = words.variables[word]
    if not full then return soft("INVSVN", p), last + 1 end
    mark("variables", p, last, full)
    if not words.settable[full] then return soft("SVNOSET", p), last + 1 end
    return { "svn", full }, last + 1
end

-- Past the = at p.
local function equal(s, p)
    if byte(s, p) ~= 61 then fail("EQUAL", p) end
    return p + 1
end

local function target(s, p)
    if byte(s, p) == 36 then return dollar_target(s, p + 1) end
    return place(s, p)
end

-- The name of an alias: a local.
local function alias_name(s, p)
    if byte(s, p) == 40 then fail("NOALIASLIST", p) end
    if not find(s, "^[%a%%]", p) then fail("ALIASEXPECTED", p) end
    return place(s, p)
end

-- SET *a=b, from the byte after * on.
local function alias(s, p)
    local to, from
    if not find(s, "^[%a%%(^@$]", p) then fail("VAREXPECTED", p) end
    to, p = alias_name(s, p)
    p = equal(s, p)
    if not find(s, "^[%a%%]", p) and not find(s, "^%$%$", p) then fail("ALIASEXPECTED", p) end
    from, p = expr.atom(s, p)
    return { "setalias", to, from }, p
end

local function listed_target(s, p)
    if byte(s, p) == 42 then fail("NOALIASLIST", p) end
    return target(s, p)
end

local function set(s, p)
    local b = byte(s, p)
    if b == 42 then return alias(s, p + 1) end
    local targets, value
    if b == 40 then
        targets, p = group(s, p, listed_target)
    else
        local one
        one, p = target(s, p)
        if one[1] == "ind" and byte(s, p) ~= 61 then
            if one[3] then fail("EQUAL", p) end
            return { "argind", one[2] }, p
        end
        targets = { one }
    end
    value, p = parse(s, equal(s, p))
    if b == 40 then return { "set", targets, value, paren = true }, p end
    return { "set", targets, value }, p
end

-- What KILL and NEW spare: a name without subscripts.
local function spared(s, p)
    local node
    if byte(s, p) == 64 then
        node, p = expr.indirection(s, p)
        return { "ind", node[2] }, p
    end
    node, p = lex.name(s, p)
    if not node then fail(byte(s, p) == 42 and "NOALIASLIST" or "VAREXPECTED", p) end
    return { "local", node }, p
end

local function kill(s, p)
    local b = byte(s, p)
    if b == 40 then
        local list
        list, p = group(s, p, spared)
        return { "exclusive", list }, p
    end
    if b ~= 42 then return place_or_argument(s, p) end
    if byte(s, p + 1) == 44 then fail("ALIASEXPECTED", p + 1) end
    if ended(byte(s, p + 1)) then return { "killaliases" }, p + 1 end
    local node
    node, p = alias_name(s, p + 1)
    return { "killalias", node }, p
end

local function new_special(s, p)
    local _, last = find(s, "^%a%w*", p)
    local full = last and words.variables[upper(sub(s, p, last))]
    if not last then fail("SVNEXPECTED", p) end
    if not full then return soft("INVSVN", p), last + 1 end
    mark("variables", p, last, full)
    if not words.newable[full] then return soft("SVNONEW", p), last + 1 end
    return { "svn", full }, last + 1
end

local function new(s, p)
    local b = byte(s, p)
    local node
    if b == 40 then
        node, p = group(s, p, spared)
        return { "exclusive", node }, p
    end
    if b == 36 then return new_special(s, p + 1) end
    if b == 64 then return place_or_argument(s, p) end
    node, p = lex.name(s, p)
    if not node then fail("VAREXPECTED", p) end
    return { "local", node }, p
end

-- Is this entry nothing but @x?
local function only_indirect(entry)
    return type(entry[2]) == "table" and not entry[3] and not entry[4] and not entry[5]
end

-- An entry, with arguments if `called`, that may be a whole argument by indirection.  JOB takes an offset and
-- arguments, and does nothing with these then.
local function entry(s, p, called)
    local node
    node, p = expr.entry(s, p, true, called)
    -- @x@(...) is the entry that x names, called.
    local more = called and byte(s, p) == 64 and byte(s, p + 1) == 40
    if more then p = p + 1 end
    if called and byte(s, p) == 40 then
        if node[3] and called ~= "JOB" then fail("ACTOFFSET", p) end
        node[5], p = expr.actuals(s, p, more and "RPARENMISSING")
    end
    if only_indirect(node) then node = { "argind", node[2][2] } end
    return node, p
end

command.entry = entry

-- A label of this routine has to be there.
local function own(node)
    local is_own = node[1] == "entry" and not node[4] and type(node[2]) == "string"
    if is_own then lex.calls(node[2], node[5] and #node[5]) end
end

local function do_(s, p)
    local node
    if byte(s, p) == 38 then node, p = expr.external(s, p + 1) else node, p = entry(s, p, true) end
    own(node)
    return conditional(node, s, p)
end

local function goto_(s, p)
    local node
    node, p = entry(s, p, false)
    own(node)
    return conditional(node, s, p)
end

-- Another process can't have a variable by reference: the first one is told.
local function by_value(actuals, s, p)
    for _, value in ipairs(actuals or {}) do
        local op = value and value[1]
        if op == "ref" or op == "refind" then fail("JOBACTREF", select(2, find(s, "[(,]%.", p))) end
    end
end

local function job(s, p)
    local node
    local from = p
    node, p = entry(s, p, "JOB")
    by_value(node[5], s, from)
    if byte(s, from) == 43 then fail("LABELEXPECTED", from) end
    if node[1] == "argind" then
        if byte(s, p) ~= 58 then return node, p end
        node = { "entry", { "ind", node[2] } }
    end
    local params, timeout
    params, timeout, p = device.job(s, p)
    return { "job", node, params, timeout }, p
end

local function xecute(s, p)
    local node
    node, p = argument_expr(s, p)
    if node[1] ~= "argind" then node = { "x", node } end
    return conditional(node, s, p)
end

local function break_(s, p)
    local node
    node, p = argument_expr(s, p)
    if node[1] ~= "argind" then node = { "break", node } end
    return conditional(node, s, p)
end

-- ! # ?e and /NAME(...), shared by READ and WRITE; nil if it is something else.
local function format(s, p)
    local b = byte(s, p)
    if b == 33 then return { "nl" }, p + 1 end
    if b == 35 then return { "ff" }, p + 1 end
    local node, args
    if b == 63 then
        node, p = parse(s, p + 1)
        return { "tab", node }, p
    end
    if b ~= 47 then return nil, p end
    if byte(s, p + 1) == 64 then
        node, p = expr.indirection(s, p + 1)
    else
        node, p = lex.name(s, p + 1)
        if not node then fail("CTLMNEXPECTED", p) end
        node = upper(node)
    end
    if sub(s, p, p + 1) == "()" then fail("EXPR", p + 1) end
    args, p = expr.actuals(s, p)
    return { "control", node, args or {} }, p
end

-- After ! and # no comma is needed before another of these, ? or /
local function joined(node, s, p, cmd)
    local b = byte(s, p)
    local op = node[1]
    if (op == "nl" or op == "ff") and (b == 33 or b == 35 or b == 63 or b == 47) then
        local args = cmd[2]
        args[#args + 1] = node
        node, p = format(s, p)
        return joined(node, s, p, cmd)
    end
    return node, p
end

local function write(s, p, cmd)
    local node, to = format(s, p)
    if node then return joined(node, s, to, cmd) end
    if byte(s, p) == 42 then
        node, p = parse(s, p + 1)
        return { "char", node }, p
    end
    return argument_expr(s, p)
end

local function timeout(s, p)
    if byte(s, p) ~= 58 then return nil, p end
    return parse(s, p + 1)
end

command.timeout = timeout

local function read_variable(s, p)
    local node, length, limit
    node, p = place(s, p)
    if node[1] == "ind" and not node[3] and ended(byte(s, p)) then return { "argind", node[2] }, p end
    if byte(s, p) == 35 then length, p = parse(s, p + 1) end
    limit, p = timeout(s, p)
    return { "read", node, length, limit }, p
end

local function read(s, p, cmd)
    local node, to = format(s, p)
    if node then return joined(node, s, to, cmd) end
    local b = byte(s, p)
    if b == 34 then
        node, to = lex.text(s, p)
        if not node then fail("EXPR", to) end
        return { "const", node }, to
    end
    if b ~= 42 then
        if not find(s, "^[%a%%^@]", p) then fail("RWARG", p) end
        return read_variable(s, p)
    end
    node, p = place(s, p + 1)
    if byte(s, p) == 35 then fail("RWARG", p) end
    to, p = timeout(s, p)
    return { "readchar", node, to }, p
end

-- The name of a lock: a node, without ^ as well after an environment.
local function lock_name(s, p)
    local b = byte(s, p)
    if b == 94 and not find(s, "^[%a%%|%[]", p + 1) then fail("LKNAMEXPECTED", p + 1) end
    local at = b == 94 and p + 1 or p
    if not find(s, "^[|%[]", at) then
        if b == 94 or b == 64 or find(s, "^[%a%%]", p) then return place(s, p) end
        fail("LKNAMEXPECTED", p)
    end
    local env, id, list
    env, p = expr.environment(s, at)
    id, p = lex.name(s, p)
    if not id then fail("LKNAMEXPECTED", p) end
    if byte(s, p) == 40 then list, p = expr.subscripts(s, p + 1) end
    return { b == 94 and "global" or "local", id, list, env }, p
end

-- LOCK @e; the sign of LOCK +@e counts for all that e names: +(names).
local function lock_argument(sign, e)
    if sign == "" then return { "argind", e } end
    local names = { "bin", "_", { "const", sign .. "(" }, e }
    return { "argind", { "bin", "_", names, { "const", ")" } } }
end

local function lock(s, p, cmd)
    local b = byte(s, p)
    local sign = ""
    local names, limit
    if (b == 43 or b == 45) and cmd[1] == "LOCK" then sign, p = sub(s, p, p), p + 1 end
    if byte(s, p) == 40 then
        names, p = group(s, p, lock_name)
    else
        local one
        one, p = lock_name(s, p)
        if one[1] == "ind" and not one[3] and ended(byte(s, p)) then return lock_argument(sign, one[2]), p end
        names = { one }
    end
    if cmd[1] ~= "ZDEALLOCATE" then limit, p = timeout(s, p) end
    return { "lock", sign, names, limit }, p
end

local function merge(s, p)
    local to, from
    to, p = place_or_argument(s, p)
    if to[1] == "argind" then return to, p end
    if to[1] == "ind" and not to[3] and byte(s, p) ~= 61 then fail("SPOREOL", p) end
    from, p = place(s, equal(s, p))
    return { "merge", to, from }, p
end

local function quit(s, p)
    if byte(s, p) ~= 42 then return argument_expr(s, p) end
    local node
    node, p = alias_name(s, p + 1)
    return { "quitalias", node }, p
end

local transaction_words = { S = "SERIAL", SERIAL = "SERIAL", T = "TRANSACTIONID" }

-- TRANSACTION may have any letters after it.
local function transaction_word(s, p)
    local _, last = find(s, "^%a%w*", p)
    local word = last and upper(sub(s, p, last))
    local full = word and (find(word, "^TRANSACTION") and "TRANSACTIONID" or transaction_words[word])
    if not full then fail("TSTRTPARM", p) end
    mark("keywords", p, last, full)
    if full == "SERIAL" then return { full }, last + 1 end
    local value
    if byte(s, last + 1) ~= 61 then fail("TSTRTPARM", last + 1) end
    value, p = parse(s, last + 2)
    return { full, value }, p
end

local function transaction_words_at(s, p)
    local list = {}
    if byte(s, p) ~= 40 then
        list[1], p = transaction_word(s, p)
        return list, p
    end
    repeat
        list[#list + 1], p = transaction_word(s, p + 1)
    until byte(s, p) ~= 58
    if byte(s, p) ~= 41 then fail("TSTRTPARM", p) end
    return list, p + 1
end

-- A name of TSTART's list, which may end with a comma.
local function restored(s, p)
    if byte(s, p) == 41 and byte(s, p - 1) == 44 then return nil, p end
    return spared(s, p)
end

local function tstart(s, p)
    local b = byte(s, p)
    local names, params
    if b == 42 then
        names, p = "*", p + 1
    elseif b == 40 and byte(s, p + 1) == 41 then
        names, p = {}, p + 2
    elseif b == 40 then
        names, p = group(s, p, restored)
    elseif b ~= 58 and b ~= 44 then -- an argument may be left out
        if not find(s, "^[%a%%@]", p) then fail("SPOREOL", p) end
        local one
        one, p = spared(s, p)
        names = { one }
    end
    if byte(s, p) == 58 then params, p = transaction_words_at(s, p + 1) end
    return { "tstart", names, params or {} }, p
end

-- expr:expr:...
function command.colons(op)
    return function(s, p)
        local node = { op }
        repeat
            local value
            value, p = (#node == 1 and argument_expr or parse)(s, #node == 1 and p or p + 1)
            if value[1] == "argind" and #node == 1 then
                if ended(byte(s, p)) then return value, p end
                value[1] = "ind"
            end
            node[#node + 1] = value
        until byte(s, p) ~= 58
        return node, p
    end
end

-- FOR reads all of its arguments at once.
local function for_spec(s, p)
    local spec = {}
    spec[1], p = parse(s, p)
    if byte(s, p) == 58 then spec[2], p = parse(s, p + 1) end
    if byte(s, p) == 58 and spec[2] then spec[3], p = parse(s, p + 1) end
    return spec, p
end

function command.for_(s, p, cmd)
    local specs = cmd[2]
    if not find(s, "^[%a%%@]", p) then fail("VAREXPECTED", p) end
    cmd.var, p = place(s, p)
    p = equal(s, p)
    while true do
        specs[#specs + 1], p = for_spec(s, p)
        if byte(s, p) ~= 44 then return p end
        p = p + 1
    end
end

-- Each command: its rule; whether it must have (+), may have (?) or may not have (-) an argument, whether
-- only one (1), and whether it may not be postconditional (:).
command.rules = {
    BREAK = { break_, "?" }, CLOSE = { device.argument, "+" }, DO = { do_, "?" }, ELSE = { nil, "-:" },
    FOR = { command.for_, "?:" }, GOTO = { goto_, "+" }, HALT = { nil, "-" }, HANG = { argument_expr, "+" },
    IF = { argument_expr, "?:" }, JOB = { job, "+" }, KILL = { kill, "?" }, LOCK = { lock, "?" },
    MERGE = { merge, "+" }, NEW = { new, "?" }, OPEN = { device.argument, "+" }, QUIT = { quit, "?1" },
    READ = { read, "+" }, SET = { set, "+" }, TCOMMIT = { nil, "-" }, TRESTART = { nil, "-" },
    TROLLBACK = { argument_expr, "?" }, TSTART = { tstart, "?" }, USE = { device.argument, "+" },
    VIEW = { command.colons("view"), "+" }, WRITE = { write, "+" }, XECUTE = { xecute, "+" },
    ZALLOCATE = { lock, "+" }, ZDEALLOCATE = { lock, "?" }, ZTSTART = { nil, "-" }, ZTCOMMIT = {
    argument_expr, "?" },
}

return command
