-- emit.lua - a parsed routine as the text of a Lua chunk.
--
-- The chunk is called with the code object and the tables it needs, and fills in
--
--     F.L<n>   what begins at line n, up to the next label, and goes on there: for GOTO, and DO of labels
--              without formals
--     F.M<n>   the same after the NEWs that a label begins with
--     F.E<n>   the entry of a label with formals, or NEWs first: (kind, number of actuals or -1, actuals)
--     F.B<n>   the block of an argumentless DO that begins at line n
--
-- F is the code object itself (load.lua); C is the routine whose labels are meant, which is F but for XECUTE
-- and indirection.

local flow = require "mumps.compiler.flow"
local names = require "mumps.compiler.names"
local tstart = require "mumps.compiler.tstart_emit"
local xecute = require "mumps.compiler.xecute_emit"
require "mumps.compiler.func_emit"
local format, concat = string.format, table.concat

local M = {}
local MOST_SAVED = 24
local MOST_LOCALS, MOST_SLOTS = 185, 230 -- of an entry: Lua has 200 and 250
local HEAD = "local F,C,V,H,P,R,T,L,N,KD,pcall,type=..."

-- ---- lines

local function has_tstart(ast, from, to)
    for n = from, to do
        if tstart.contains(ast.lines[n].cmds, 1, "TSTART") then
            return true
        end
    end
    return false
end

-- The function that goes on after line n: one for all that do, each of which would double them otherwise.
local function rest_after(k, n, to, level, last)
    local key = concat({n, to, level, tostring(last)}, " ")
    local name = k.rest_names[key]
    if not name then
        name = k:rest_name()
        k.rest_names[key] = name
        k.todo_rests[#k.todo_rests + 1] = {name, n + 1, to, level, last}
    end
    return name
end

-- Lines from to to of that level; last: what comes at their end, for what goes on there in a function of its
-- own.
local function emit_lines(k, ast, from, to, level, first, last)
    local commits = has_tstart(ast, from, to)
    local at
    local function rest()
        return format("return %s()", rest_after(k, at, to, level, last))
    end
    for n = from, to do
        local line = ast.lines[n]
        if line.level == level and #line.cmds >= first then
            at = n
            k:line(n, flow.line(k, line.cmds, first, n * 65536 + k.id, rest, commits or k.commits))
            if tstart.always_leaves(line.cmds, first, commits or k.commits) then
                return -- what follows is there once, not in each of these functions
            end
        end
        first = 1
    end
end

-- What goes on after lines with a TSTART.
local function emit_rests(k, ast)
    k.commits = true
    while #k.todo_rests > 0 do
        local name, from, to, level, last = unpack(table.remove(k.todo_rests))
        k:begin(name)
        emit_lines(k, ast, from, to, level, 1, last)
        k:finish(last)
    end
    k.commits = false
end

-- Lua has limits for a function: many lines are several, which end by calling the next one.
local MOST_LINES = 2000

-- The last line of the part that begins at from.
local function part_end(ast, from, last, level)
    local to = from + MOST_LINES
    while to < last and ast.lines[to + 1].level > level do
        to = to + 1
    end
    return to < last and to or last
end

-- Lines from to last of that level as a function, which goes on as told.
local function emit_long(k, ast, name, from, first, last, level, goes_on)
    local to = part_end(ast, from, last, level)
    local ends = to < last and format("return F.S%d()", to + 1) or goes_on
    local f = k:begin(name)
    emit_lines(k, ast, from, to, level, first, ends)
    f.last_line = to
    k:finish(ends)
    emit_rests(k, ast)
    if to < last then
        return emit_long(k, ast, format("F.S%d", to + 1), to + 1, 1, last, level, goes_on)
    end
end

-- Blocks of the DOs of these lines which are not there yet.
local function note_blocks(k, ast, from, to)
    for n = from, to do
        local cmds = ast.lines[n].cmds
        for i = 1, #cmds do
            local cmd = cmds[i]
            if cmd[1] == "DO" and #cmd[2] == 0 and cmd.first and cmd.last >= cmd.first
                and not k.blocks[cmd.first] then
                k.blocks[cmd.first] = true
                k.todo[#k.todo + 1] = {cmd.first, cmd.last, ast.lines[n].level + 1}
            end
        end
    end
end

local function emit_blocks(k, ast)
    while #k.todo > 0 do
        local first, last, level = unpack(table.remove(k.todo))
        local ends = format("return nil,%.0f", last * 65536 + k.id)
        emit_long(k, ast, format("F.B%d", first), first, 1, last, level, ends)
        note_blocks(k, ast, first, last)
    end
end

-- ---- what a label begins with

-- How many NEWs an entry with these formals can keep in Lua's locals: each formal is five of them, a NEW is
-- three, and two more slots while they are cleared.
local function most_saved(formals)
    local count = 0
    for _ in pairs(formals) do
        count = count + 1
    end
    return math.floor(math.min((MOST_LOCALS - 5 * count) / 3, (MOST_SLOTS - 5 * count) / 5))
end

-- Names of NEW commands at the beginning of lines n to last, after which commands begin at line, index.
-- used: the formals.
local function leading_news(ast, n, last, used)
    local list, most = {}, most_saved(used)
    while n <= last do
        local line = ast.lines[n]
        if line.level ~= 0 then
            return list, n, 1
        end
        for i, cmd in ipairs(line.cmds) do
            local full = #list >= MOST_SAVED or #list + #cmd[2] > most
            if cmd[1] ~= "NEW" or cmd.pc or #cmd[2] == 0 or full then
                return list, n, i
            end
            for _, arg in ipairs(cmd[2]) do
                if arg[1] ~= "local" or used[arg[2]] then
                    return list, n, i
                end
            end
            for _, arg in ipairs(cmd[2]) do
                if not used[arg[2]] then
                    used[arg[2]] = true
                    list[#list + 1] = arg[2]
                end
            end
        end
        n = n + 1
    end
    return list, n, 1
end

-- ---- entries

local function each_name(count, pattern, from)
    local out = {}
    for i = from or 1, count do
        out[#out + 1] = (string.gsub(pattern, "#", tostring(i)))
    end
    return out
end

local listed = {} -- such texts with a comma between: there are few of them

local function list_of(count, pattern, from)
    local by_pattern = listed[pattern] or {}
    listed[pattern] = by_pattern
    local key = count * 64 + (from or 1)
    local text = by_pattern[key] or concat(each_name(count, pattern, from), ",")
    by_pattern[key] = text
    return text
end

-- When an entry leaves the work to frames.slow: a container is shared, or that of an actual is also the one
-- of another name which is saved here.
local function unusual(k, n, count)
    local out = each_name(count, "c#.s and " .. k:entry_h("shared") .. "(c#)")
    for i = 1, n do
        for j = 1, count do
            if count > 5 then
                out[#out + 1] = format("b%d", i)
                break
            elseif i ~= j then
                out[#out + 1] = format("b%d==c%d", i, j)
            end
        end
    end
    return concat(out, " or ")
end

local function too_many(k, label, at)
    return format("%s(k,%s,%.0f)", k:entry_h("too_many"), names.quote(label), at * 65536 + k.id)
end

-- An actual that is a slot is by reference: the formal takes its container, b#, until the end.
local function entry_head(k, label, formals, all, slots, at)
    local n = #formals
    local args = list_of(n, "a#")
    k:line(nil, format("if n>%d then return %s end local %s=%s", n, too_many(k, label, at),
        list_of(#all, "c#"), concat(slots, ".c,") .. ".c"))
    if n > 0 then
        k:line(nil, format("local %s=%s", list_of(n, "b#"),
            list_of(n, "type(a#)==\"table\" and a#.c")))
    end
    k:line(nil, format("if %s then return %s(k,F.M%d,{%s},%d,n%s) end", unusual(k, n, #all),
        k:entry_h("slow"), at,
        concat(slots, ","), n, n > 0 and "," .. args or ""))
end

local function entry_bind(k, n, count, slots)
    for i = 1, n do
        k:line(nil, format("if b%d then %s.c=b%d %s(b%d) else c%d.v,c%d.a=a%d,false end", i, slots[i], i,
            k:entry_h("share"), i,
            i, i, i))
    end
    if count > n then
        k:line(nil, list_of(count, "c#.v,c#.a", n + 1) .. "=" .. list_of(count, "nil,false", n + 1))
    end
end

local function entry_body(k, n, all, at, slots)
    local count = #all
    k:line(nil, format("local d=L.n+1 if d>L.limit then return %s(d,F.E%d,k,n%s) end local %s=%s",
        k:entry_h("too_deep"), at, n > 0 and "," .. list_of(n, "a#") or "",
        list_of(count, "x#,y#"), list_of(count, "c#.v,c#.a")))
    entry_bind(k, n, count, slots)
    k:line(nil, "L.n=d KD[d]=k")
    k:line(nil, format("local top,t=N.top,T.t local ok,v,p=pcall(F.M%d) local e", at))
    k:line(nil, format("if not ok or N.top~=top or (v~=nil)~=(k==2) then v,e=%s(k,d,top,ok,v,p) end",
        k:entry_h("finish")))
end

local function entry_tail(k, n, all, slots)
    local leave = k:entry_h("leave")
    for i = 1, #all do
        local by_reference = i <= n and format("if b%d then %s(%s.c) %s.c=c%d else", i, k:entry_h("unshare"),
            slots[i], slots[i],
            i) or ""
        k:line(nil, by_reference
            .. format("if %s.c==c%d and not (c%d.s or c%d.a) then c%d.v,c%d.a=x%d,y%d "
                .. "else %s(%s,c%d,x%d,y%d) end",
                slots[i], i, i, i, i, i, i, i, leave, slots[i], i, i, i))
    end
    k:line(nil, format("L.n=d-1 if k==2 then T.t=t end if e then return %s(e) end return v",
        k:entry_h("pass_on")))
end

-- The entry of a label: formals, then NEWs.
local function emit_entry(k, label, formals, news, at)
    local all, slots = {}, {}
    local f = k:begin(format("F.E%d", at))
    f.params = "k,n" .. (formals[1] and "," or "") .. list_of(#formals, "a#")
    for _, name in ipairs(formals) do
        all[#all + 1] = name
    end
    for _, name in ipairs(news) do
        all[#all + 1] = name
    end
    for i, name in ipairs(all) do
        slots[i] = k:slot(name)
    end
    if #all == 0 then
        k:line(nil, format("if n>0 then return %s end return %s(k,F.M%d,{},0,0)", too_many(k, label, at),
            k:entry_h("slow"), at))
    else
        entry_head(k, label, formals, all, slots, at)
        entry_body(k, #formals, all, at, slots)
        entry_tail(k, #formals, all, slots)
    end
    k:finish()
end

-- For GOTO, and for falling into it: formals are new, and without values, then the NEWs, then the same.
local function emit_by_jump(k, formals, news, at)
    k:begin(format("F.L%d", at))
    local out = {}
    for _, list in ipairs({formals, news}) do
        for _, name in ipairs(list) do
            out[#out + 1] = format("%s(%s)", k:entry_h("new"), k:slot(name))
        end
    end
    k:line(at, concat(out, " ") .. format(" return F.M%d()", at))
    k:finish()
end

-- ---- segments: from a label, or a line, to the next label

-- The line at which a routine begins. What comes before the first label or command is not a place of its own:
-- one enters there what follows, and does not fall into it.
function M.first_line(ast)
    for n, line in ipairs(ast.lines) do
        if line.label or line.cmds[1] then
            return n
        end
    end
    return 1
end

local function after(k, ast, n)
    if n > #ast.lines then
        return format("return nil,%.0f", #ast.lines * 65536 + k.id)
    end
    local line = ast.lines[n]
    if line.listed and n > M.first_line(ast) then
        return format("do local e=H.fall_into(%s) return e end", names.quote(line.label))
    end
    return format("return F.L%d()", n)
end

local function emit_body(k, ast, name, from, first, last)
    emit_long(k, ast, name, from, first, last, 0, after(k, ast, last + 1))
end

local function segment(k, ast, from, last)
    local line = ast.lines[from]
    local formals = line.label and line.formals
    local used = {}
    for _, name in ipairs(formals or {}) do
        used[name] = true
    end
    local news, n, first = {}, from, 1
    if line.label and line.level == 0 then
        news, n, first = leading_news(ast, from, last, used)
    end
    if #news == 0 and not formals then
        return emit_body(k, ast, format("F.L%d", from), from, 1, last)
    end
    k.entries[from] = true
    emit_body(k, ast, format("F.M%d", from), n, first, last)
    emit_by_jump(k, formals or {}, news, from)
    emit_entry(k, line.label, formals or {}, news, from)
end

-- A label within a block: the rest of the block.
local function inner_label(k, ast, n)
    local level, last = ast.lines[n].level, n
    while ast.lines[last + 1] and ast.lines[last + 1].level >= level do
        last = last + 1
    end
    local ends = format("return nil,%.0f", last * 65536 + k.id)
    emit_long(k, ast, format("F.L%d", n), n, 1, last, level, ends)
end

-- ---- what calls of labels of this routine become

-- The actuals come first, also where the call is an error.
local function local_call(k, kind, label, n, args)
    local ast = k.ast
    local at = ast.labels[label or ""]
    if not at then
        local fail = k.literal and "missing_label" or "unknown_label"
        return format("%s(%s%s)", k:h(fail), names.quote(label or ""), args)
    end
    local line = ast.lines[at]
    if k.has_entry[at] then
        if n >= 0 and not line.formals then
            return format("%s(%s%s)", k:h("no_formals"), names.quote(label), args)
        elseif not k.literal and n > #(line.formals or {}) then
            return format("%s(%s%s)", k:h("list_too_long"), names.quote(label), args)
        end
        return format("F.E%d(%d,%d%s)", at, kind, n, args)
    elseif n >= 0 then
        return format("%s(%s%s)", k:h("no_formals"), names.quote(label), args)
    end
    return format("%s(F.L%d)", k:h(kind == 2 and "extrinsic" or "call"), at)
end

local function local_target(k, label)
    local at = k.ast.labels[label or ""]
    if not at then
        return format("%s(%s)", k:h("no_label"), names.quote(label or ""))
    end
    return format("F.L%d", at)
end

-- Labels of level 0 with formals or NEWs first: known before anything is emitted.
local function find_entries(ast, bounds)
    local has = {}
    for i, from in ipairs(bounds) do
        local line = ast.lines[from]
        local last = (bounds[i + 1] or #ast.lines + 1) - 1
        if line.label and line.level == 0 then
            local used = {}
            for _, name in ipairs(line.formals or {}) do
                used[name] = true
            end
            has[from] = line.formals ~= nil or #leading_news(ast, from, last, used) > 0
        end
    end
    return has
end

local function boundaries(ast)
    local bounds = {}
    for n, line in ipairs(ast.lines) do
        if line.level == 0 and (line.label or n == 1) then
            bounds[#bounds + 1] = n
        end
    end
    return bounds
end

local function start(id, ast)
    local k = names.chunk(id)
    k.ast, k.blocks, k.todo, k.entries, k.todo_rests, k.rest_names = ast, {}, {}, {}, {}, {}
    k.lines[1] = HEAD
    xecute.spread(k, ast)
    return k
end

-- The chunk of a routine.
function M.routine(ast, id)
    local k = start(id, ast)
    k.local_call, k.local_target = local_call, local_target
    local bounds = boundaries(ast)
    k.has_entry = find_entries(ast, bounds)
    for i, from in ipairs(bounds) do
        segment(k, ast, from, (bounds[i + 1] or #ast.lines + 1) - 1)
    end
    for n, line in ipairs(ast.lines) do
        if line.label and line.level > 0 then
            inner_label(k, ast, n)
        end
    end
    note_blocks(k, ast, 1, #ast.lines)
    emit_blocks(k, ast)
    return k
end

-- A chunk with one more function, for what begins at a line that has no label.
function M.line_of_routine(ast, id, n)
    local k = start(id, ast)
    k.local_call, k.local_target = local_call, local_target
    local bounds = boundaries(ast)
    k.has_entry = find_entries(ast, bounds)
    if ast.lines[n].level > 0 then
        inner_label(k, ast, n)
        return k
    end
    local last = n
    while last < #ast.lines and not (ast.lines[last + 1].label and ast.lines[last + 1].level == 0) do
        last = last + 1
    end
    emit_body(k, ast, format("F.L%d", n), n, 1, last)
    return k
end

-- ---- XECUTE and indirection

local function other_call(k, kind, label, n, args)
    return format("%s(C,%s,%d,%d%s)", k:h("enter"), names.quote(label or ""), kind, n, args)
end

local function other_target(k, label)
    return format("%s(C,%s)", k:h("label_of"), names.quote(label or ""))
end

-- Commands in a row, as F.L1; `last` is what comes at the end.
function M.commands(cmds, id, last, params)
    local k = start(id, {lines = {}, labels = {}})
    k.local_call, k.local_target = other_call, other_target
    k.at_run_time = true
    local f = k:begin("F.L1")
    f.params = params or ""
    k:line(1, flow.line(k, cmds, 1, 65536 + id, function()
        return last or "return"
    end, tstart.contains(cmds, 1, "TSTART")))
    f.last_line = 1
    k:finish(last)
    return k
end

-- One statement or `return` of an expression, whose text is made by write(k).
function M.snippet(id, write, params)
    local k = start(id, {lines = {}, labels = {}})
    k.local_call, k.local_target = other_call, other_target
    k.at_run_time = true
    local f = k:begin("F.L1")
    f.params = params or ""
    k:line(1, write(k))
    k:finish()
    return k
end

return M
