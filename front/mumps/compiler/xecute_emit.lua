-- xecute_emit.lua - XECUTE of a text that is known: compiled in place, as GT.M and YottaDB do, without a
-- level of its own.
--
-- What stays a level of its own: what is within such a text, or in a text that was compiled at run time; NEW,
-- GOTO, QUIT, FOR with ranges and indirection. A text with TSTART or TCOMMIT becomes part of the line around
-- it, as what is after them has to be known (tstart_emit.lua); with IF, ELSE or FOR it stays a level.

local M = {}

local apart = {NEW = true, GOTO = true, QUIT = true, ERROR = true}
local transactions = {TSTART = true, TCOMMIT = true, TROLLBACK = true, TRESTART = true}
local xecutes = {XECUTE = true}
local governing = {IF = true, ELSE = true, FOR = true}
local indirect = {ind = true, argind = true, indpat = true}

local function any_indirection(node)
    if indirect[node[1]] then
        return true
    end
    for _, part in pairs(node) do
        if type(part) == "table" and any_indirection(part) then
            return true
        end
    end
    return false
end

local function has(cmds, set)
    for _, cmd in ipairs(cmds) do
        if set[cmd[1]] then
            return true
        end
    end
    return false
end

-- FOR I=1:1:9, not FOR I=1,2.
local function any_range(cmds)
    for _, cmd in ipairs(cmds) do
        for _, spec in ipairs(cmd[1] == "FOR" and cmd[2] or {}) do
            if #spec > 1 then
                return true
            end
        end
    end
    return false
end

-- The commands of a literal text, or nil if they have to be a level.
local function commands_of(k, arg, ctx)
    if arg[1] ~= "x" or arg[2][1] ~= "const" or k.at_run_time or ctx.literal then
        return nil
    end
    local cmds = require("mumps.compiler.parse").line(tostring(arg[2][2])).cmds
    if has(cmds, apart) or any_range(cmds) or any_indirection(cmds) then
        return nil
    end
    return cmds
end

-- One argument as a statement, or nil; sequence is flow.lua's.
function M.in_place(k, arg, ctx, sequence)
    local cmds = commands_of(k, arg, ctx)
    if not cmds or has(cmds, transactions) then
        return nil
    end
    k.literal = true -- labels that it calls are looked at when it runs
    local text = sequence(k, cmds, 1, {pos = ctx.pos, literal = true})
    k.literal = nil
    return string.format("do %s end", text)
end

-- The commands of its text, which become part of the line; false or nil: it has none such.
local function part_of_line(k, cmd)
    local arg = cmd[1] == "XECUTE" and #cmd[2] == 1 and not cmd.pc and cmd[2][1]
    local cmds = arg and not arg.pc and commands_of(k, arg, {})
    return cmds and has(cmds, transactions) and not has(cmds, governing) and cmds
end

local function spread(k, cmds)
    local out = {}
    for _, cmd in ipairs(cmds) do
        local text = part_of_line(k, cmd)
        for _, one in ipairs(text or {cmd}) do
            one.literal = text and true
            out[#out + 1] = one
        end
    end
    return out
end

-- Texts with transactions become part of their lines.
function M.spread(k, ast)
    for _, line in ipairs(ast.lines) do
        if has(line.cmds, xecutes) then
            line.cmds = spread(k, line.cmds)
        end
    end
end

return M
