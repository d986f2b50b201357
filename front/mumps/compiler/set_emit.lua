-- set_emit.lua - assignments: SET in all forms, and the targets of READ and FOR.
--
-- M evaluates the subscripts of what is on the left, then the right side, then assigns.  A call a.set2(X, s1,
-- s2, value) does that by itself; where it does not, subscripts are put into locals of Lua first.

local expr = require "mumps.compiler.expr_emit"
local draft = require "mumps.compiler.draft_emit"
local format, concat, find = string.format, table.concat, string.find
local value, more, quote, has_effects = expr.value, expr.more, expr.quote, expr.has_effects
local is_plain = expr.is_plain

local M = {}

-- The value of any target := the Lua expression v, which is evaluated after the subscripts.
function M.assign(k, node, v)
    local op = node[1]
    if is_plain(node) and not find(v, "[(.]") then -- a constant
        return k:slot(node[2]) .. ".c.v=" .. v .. " "
    elseif is_plain(node) then
        return "do local t=" .. v .. " " .. k:slot(node[2]) .. ".c.v=t end"
    elseif op == "ind" then
        if not node[3] then
            return format("%s(%s(C,%s),%s)", k:h "ind_set", k:h "ind_place", value(k, node[2]), v)
        end
        local at = expr.below(k, "at", node)
        if at then
            local ref, sub = k:fresh("s"), k:fresh("s")
            return format("do local %s,%s=%s %s(%s,%s,%s) end", ref, sub, at, k:h("below_set"), ref, sub, v)
        end
        return format("%s(%s,%s)", k:h("r_set_late"), expr.late_ref(k, node), v)
    elseif op == "ERROR" then
        return format("%s(%s)", k:h("compile_error"), k:p(k:const{"error", node[2]}))
    elseif op == "svn" then
        return format("%s(%s)", k:h("set_" .. node[2]), v)
    end
    return expr.apply(k, "set", node, "," .. v)
end

-- ---- a target in two steps: `before` puts its subscripts into locals, then it is read and written

local function hold(k, nodes, out)
    local held = {}
    for i, node in ipairs(nodes or {}) do
        if node[1] == "const" then
            held[i] = node
        else
            local name = k:fresh("s")
            out[#out + 1] = format("local %s=%s ", name, value(k, node))
            held[i] = {"lua", name}
        end
    end
    return held
end

expr.emit["lua"] = function(_, node)
    return node[2]
end

-- A node like the given one, whose subscripts are evaluated by the statements added to out.
function M.held(k, node, out)
    local op = node[1]
    if is_plain(node) or op == "svn" then
        return node
    elseif op == "local" then
        return {op, node[2], hold(k, node[3], out)}
    elseif op == "global" then
        local env = node[4] and {node[4][1], hold(k, {node[4][2]}, out)[1]}
        return {op, node[2], hold(k, node[3], out), env}
    elseif op == "naked" then
        return {op, hold(k, node[2], out)}
    end
    local name = k:fresh("s")
    out[#out + 1] = format("local %s=%s ", name, expr.late_ref(k, node))
    return {"late", name}
end

-- Write and read what held() made.
local function put(k, node, v)
    if node[1] == "ref" or node[1] == "late" then
        return format("%s(%s,%s) ", k:h(node[1] == "ref" and "r_set" or "r_set_late"), node[2], v)
    elseif is_plain(node) then
        return format("%s.c.v=%s ", k:slot(node[2]), v)
    end
    return M.assign(k, node, v) .. " "
end

M.put = put

local function look(k, node)
    if node[1] == "ref" then
        return format("%s(%s)", k:h("r_peek"), node[2])
    elseif node[1] == "svn" then
        return value(k, node)
    elseif is_plain(node) then
        return format("%s(%s)", k:h("peek"), k:slot(node[2]))
    end
    return expr.apply(k, "peek", node)
end

function M.get(k, node)
    if node[1] == "late" then
        return format("%s(%s(%s))", k:h("r_get"), k:h("r_now"), node[2])
    end
    return value(k, node)
end

-- ---- SET $PIECE(x,..)= and the like

local function arguments(k, args, out)
    local list = {}
    for i = 2, #args do
        if args[i] then
            list[#list + 1] = "," .. value(k, hold(k, {args[i]}, out)[1])
        else
            list[#list + 1] = ",nil"
        end
    end
    return list
end

local least = {PIECE = 3, ZPIECE = 3, EXTRACT = 2, ZEXTRACT = 2}

-- What has to hold so that anything is set, or nil: pieces or characters up to one before the first, or
-- before them all, are none.
local function any_set(k, name, args, list)
    local i = least[name]
    local first, last = args[i], args[i + 1]
    if draft.always_sets(first, last) then
        return nil
    end
    return format("%s(%s%s)", k:h("sets_any"), string.sub(list[i - 1], 2), list[i])
end

-- Statements: first into out what is evaluated before the value; returns what assigns v, and any_set().
-- Where nothing is set a global is not referred to, and the naked indicator stays.
local function function_target(k, node, out)
    local name, args = node[2], node[3]
    local target = M.held(k, args[1], out)
    local list = arguments(k, args, out)
    while #list < least[name] do
        list[#list + 1] = ",nil"
    end
    local some = any_set(k, name, args, list)
    local function assign(v)
        local t, before = k:fresh("t"), ""
        if target[1] == "naked" or target[1] == "late" then -- one reference, at this time
            local r = k:fresh("s")
            local made = target[1] == "late" and format("%s(%s)", k:h("r_now"), target[2])
            before = format("local %s=%s ", r, made or expr.ref_of(k, target))
            target = {"ref", r}
        end
        return before .. format("local %s=%s(%s or \"\"%s,%s) if %s~=nil then %s end ", t, k:h("f_SET_"
            .. name),
            look(k, target),
            concat(list), v, t, put(k, target, t))
    end
    if not some or args[1][1] == "local" then
        return assign, some
    end
    return function(v)
        return format("if %s then %send ", some, assign(v))
    end, some
end

-- What is set: a global is referred to before a plain variable is looked at, which may be undefined.  Second
-- result: it may be nil, which is to be told then.
local function right_side(k, target, e)
    local late = (target[1] == "global" or target[1] == "naked") and is_plain(e)
    return late and expr.plain_local(k, e, "offer") or value(k, e), late
end

-- A plain variable on the right is not looked at where nothing is set: it may be undefined.
local function set_function(k, node, e)
    local out = {}
    local assign, some = function_target(k, node, out)
    local v = k:fresh("v")
    local right, late = right_side(k, node[3][1], e)
    if late then
        local given = v .. " or " .. k:h("unset") .. "()"
        return format("do %slocal %s=%s %send", concat(out), v, right, assign(given))
    elseif some and is_plain(e) then
        right = format("%s and %s or \"\"", some, right)
    end
    return format("do %slocal %s=%s %send", concat(out), v, right, assign(v))
end

-- ---- SET X=X_expr: a string that grows

local function grows(target, e)
    if not is_plain(target) or e[1] ~= "bin" or e[2] ~= "_" then
        return nil
    end
    local parts = expr.chain(e, {})
    if is_plain(parts[1]) and parts[1][2] == target[2] then
        table.remove(parts, 1)
        return parts
    end
end

-- A draft that what is appended may change is no longer the old value.
local function append(k, target, parts)
    local rest
    if #parts == 1 then
        rest = format("%s(%s)", k:h("str"), value(k, parts[1]))
    else
        rest = format("%s(%s(%d%s))", k:h("str"), k:h("concat_list"), #parts, more(k, parts))
    end
    local slot = k:slot(target[2])
    local draft_is_old = not has_effects(parts)
    return format("do local o=%s.c.v or %s(%s) local m=%s %s(%s,o,m) end", slot,
        k:h(draft_is_old and "pending" or "undefined"), slot, rest, k:h("append"), slot)
end

-- ---- the command

local function set_many(k, targets, e)
    local out, writes = {}, {}
    for i, node in ipairs(targets) do
        if node[1] == "fn" then
            writes[i] = function_target(k, node, out)
        elseif node[1] == "ERROR" then
            out[#out + 1] = value(k, node) .. " "
            writes[i] = function() return "" end
        else
            local held = M.held(k, node, out)
            writes[i] = function(v)
                return put(k, held, v)
            end
        end
    end
    local v = k:fresh("v")
    out[#out + 1] = format("local %s=%s ", v, (right_side(k, targets[1], e)))
    for _, write in ipairs(writes) do
        out[#out + 1] = write(v)
    end
    return "do " .. concat(out) .. "end"
end

-- A target that a text names: what evaluates its subscripts, and gives what is to be written: a reference, or
-- a function that assigns.  Also whether that is the same function each time.
function M.place(k, node)
    if node[1] == "local" or node[1] == "global" or node[1] == "ind" then
        return "return " .. expr.late_ref(k, node)
    end
    local out, assign = {}
    if node[1] == "fn" then
        assign = function_target(k, node, out)
    else
        local held = M.held(k, node, out)
        assign = function(v) return put(k, held, v) end
    end
    return format("%sreturn function(v) %s end", concat(out), assign "v"), #out == 0
end

-- A variable or node for the functions of aliases: slot, number of subscripts, subscripts.
function M.alias_place(k, node)
    local subs = node[3] or {}
    return format("%s,%d%s", k:slot(node[2]), #subs, more(k, subs))
end

-- The subscripts of the target come first. What the target's node was an alias of ends before a node on the
-- right is taken, which may be the same one, but not before that is known to have a value.
local function set_alias(k, arg)
    local from, out, after, taken = arg[3], {}, ""
    local target = M.held(k, arg[2], out)
    local place = M.alias_place(k, target)
    if type(from) == "string" then
        taken = format("%s(%s,0)", k:h("alias_container"), k:slot(from))
    elseif from[1] == "extrinsic" then
        taken = format("%s(%s)", k:h("alias_result"), value(k, from))
        out[#out + 1] = k:h("alias_called") .. "() "
        after = format(" %s(c)", k:h("unshare")) -- QUIT * counted it
    else
        from = M.held(k, from, out)
        local ended = #(target[3] or {}) > 0 and format("%s(%s) ", k:h("alias_end"), place) or ""
        out[#out + 1] = format("%s(%s) %s", k:h("alias_valued"), M.alias_place(k, from), ended)
        taken = format("%s(%s)", k:h("alias_container"), M.alias_place(k, from))
    end
    return format("do %slocal c=%s %s(c,%s)%s end", concat(out), taken, k:h("alias_set"), place, after)
end

function M.set(k, arg)
    if arg[1] == "argind" then
        return format("%s(C,\"SET\",%s)", k:h("argument"), value(k, arg[2]))
    elseif arg[1] == "setalias" then
        return set_alias(k, arg)
    end
    local targets, e = arg[2], arg[3]
    if #targets > 1 then
        return set_many(k, targets, e)
    elseif targets[1][1] == "fn" then
        return draft.set_piece(k, targets[1], e) or set_function(k, targets[1], e)
    end
    local parts = grows(targets[1], e)
    if parts then
        return append(k, targets[1], parts)
    end
    if is_plain(targets[1]) and expr.is_number(e) then
        return k:h("set_number") .. "(" .. k:slot(targets[1][2]) .. "," .. expr.number(k, e) .. ")"
    end
    if is_plain(targets[1]) and is_plain(e) then
        local to, from = k:slot(targets[1][2]), k:slot(e[2])
        return format("do local t=%s.c.v if t then %s.c.v=t else %s(%s,%s) end end", from, to,
            k:h("set_copy"), to, from)
    end
    local made = is_plain(targets[1]) and draft.set(k, targets[1], e)
    if made then
        return made
    end
    return M.assign(k, targets[1], (right_side(k, targets[1], e)))
end

M.quote = quote

return M
