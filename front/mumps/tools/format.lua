-- `caret m -format`: M source in one form, meaning kept.
--
-- Commands, functions, special variables and keywords are written in capitals, in full or as short as they
-- can be; one blank is between commands, two after one without arguments; dots have a blank after each.
-- All else stays as it is: names, literals, comments, the blanks before a comment.  The parser tells where
-- its words are (lex.mark()); a line that it does not understand is not touched.  What is formatted twice
-- is as formatted once.

local lex = require "mumps.compiler.lex"
local words = require "mumps.compiler.words"
local parse = require "mumps.compiler.parse"

local format = {}

-- The shortest word for each one in full, by kind.
local shortest = {}

local function shorten(list)
    local result = {}
    for word, full in pairs(list) do
        local best = result[full] or full
        local own = word ~= "Z" and word ~= "ZW" -- these are short for too many
        if own and (#word < #best or #word == #best and word < best) then result[full] = word end
    end
    return result
end

for _, kind in ipairs { "commands", "functions", "variables" } do shortest[kind] = shorten(words[kind]) end
shortest.commands.HANG = "H"

-- The word to write.
local function word_for(mark, short)
    if not short then return mark.full end
    local list = shortest[mark.kind]
    return list and list[mark.full] or mark.full
end

-- The line with each marked word written anew; and where each mark is then.
local function rewritten(s, marks, short)
    local parts, at, shift = {}, 1, 0
    for _, mark in ipairs(marks) do
        local word = word_for(mark, short)
        parts[#parts + 1] = s:sub(at, mark.from - 1)
        parts[#parts + 1] = word
        mark.new = mark.from + shift
        mark.new_end = mark.new + #word
        shift = shift + #word - (mark.to - mark.from + 1)
        at = mark.to + 1
    end
    parts[#parts + 1] = s:sub(at)
    return table.concat(parts)
end

local function commands_of(marks)
    local list = {}
    for _, mark in ipairs(marks) do
        if mark.kind == "commands" then list[#list + 1] = mark end
    end
    return list
end

-- The beginning of a line up to its first command: label, one blank, dots with a blank after each.
local function head(s, first)
    local before = s:sub(1, first - 1)
    local label, rest = before:match "^([%%%w]*)(.*)$"
    if rest:sub(1, 1) == "(" then
        local formals = rest:match "^%b()"
        label, rest = label .. formals, rest:sub(#formals + 1)
    end
    if rest:sub(1, 1) == ":" then label, rest = label .. ":", rest:sub(2) end
    local _, dots = rest:gsub("%.", "")
    return label .. " " .. (". "):rep(dots)
end

-- A command's text, from its word to the next one, with the blanks after it as they should be.
local function trimmed(text, argumentless, last)
    local body = text:gsub("[ \t]+$", "")
    if last then return body end
    return body .. (argumentless and "  " or " ")
end

-- The end of the last command and a comment after it.
local function tail(text, argumentless, comment)
    if not comment then return trimmed(text, argumentless, true) end
    local body = text:sub(1, comment - 1)
    local blanks = body:match "[ \t]*$"
    body = body:sub(1, #body - #blanks)
    if blanks == "" or argumentless and #blanks < 2 then blanks = argumentless and "  " or " " end
    return body .. blanks .. text:sub(comment)
end

-- One line, which compiled to `line` with these marks.
function format.line(s, line, marks, short, comment)
    local list = commands_of(marks)
    if #list == 0 then return (s:gsub("[ \t]+$", "")) end
    local shift = #s
    s = rewritten(s, marks, short)
    shift = #s - shift
    local parts = { head(s, list[1].new) }
    for i, mark in ipairs(list) do
        local cmd = line.cmds[i]
        local none = #cmd[2] == 0 and cmd[1] ~= "FOR" or cmd[1] == "FOR" and not cmd.var
        local following = list[i + 1]
        local text = s:sub(mark.new, following and following.new - 1 or #s)
        if following then
            parts[#parts + 1] = trimmed(text, none, false)
        else
            parts[#parts + 1] = tail(text, none, comment and comment + shift - mark.new + 1)
        end
    end
    return table.concat(parts)
end

-- What the parser tells, one list for each line.
local function collector(marks)
    return function(kind, from, to, full)
        if kind == "line" then
            marks[from] = {}
        elseif kind == "comment" then
            marks[#marks].comment = from
        else
            local list = marks[#marks]
            list[#list + 1] = { kind = kind, from = from, to = to, full = full }
        end
    end
end

-- A whole text.  `short`: abbreviated.  Lines keep their ends.
function format.text(text, short)
    local marks = {}
    lex.set_marker(collector(marks))
    local ok, ast = pcall(parse.routine, text, "")
    lex.set_marker(nil)
    if not ok then error(ast, 0) end
    local wrong, out = {}, { text:sub(1, ast.starts[1] - 1) }
    for _, e in ipairs(ast.errors) do
        if e.line and not e.warning then wrong[e.line] = true end
    end
    for i, line in ipairs(ast.lines) do
        local s = parse.source(text, ast.starts, i)
        local new = s
        if not wrong[i] and (#line.cmds > 0 or #marks[i] == 0) then
            table.sort(marks[i], function(a, b) return a.from < b.from end)
            new = format.line(s, line, marks[i], short, marks[i].comment)
        end
        out[#out + 1] = new
        out[#out + 1] = text:sub(ast.starts[i] + #s, ast.starts[i + 1] - 1)
    end
    return table.concat(out), ast.errors
end

-- ---------------------------------------------------------------- command line

local USAGE = "usage: caret m -format [-short] [-write] FILE.m...\n"

local function write_file(path, text)
    local file, why = io.open(path, "wb")
    local done
    if file then
        done, why = file:write(text)
        file:close()
    end
    if not done then io.stderr:write(tostring(why), "\n") end
    return done
end

-- One file, to standard output or over itself: an exit status.
local function one(path, options)
    local compile = require "mumps.tools.compile"
    local text, why = compile.read(path)
    if not text then
        io.stderr:write(why, "\n")
        return 2
    end
    local new = format.text(text, options.short)
    if not options.write then
        io.write(new)
    elseif new ~= text and not write_file(path, new) then
        return 2
    end
    return compile.file(path, io.stderr)
end

function format.main(...)
    local options, worst, n = {}, 0, 0
    for _, word in ipairs { ... } do
        if word == "-short" or word == "-write" then
            options[word:sub(2)] = true
        else
            n = n + 1
            worst = math.max(worst, one(word, options))
        end
    end
    if n > 0 then return worst end
    io.stderr:write(USAGE)
    return 2
end

return format
