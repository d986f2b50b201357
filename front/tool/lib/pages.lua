-- Help, the man page and the completion of shells, all made from the tables of the commands.

local command = require "tool.lib.command"
local caret = require "caret"

local pages = {}

local ABOUT = "a hierarchical key-value database inside the process"

-- Chapters that belong to all commands: caret help NAME, and sections of the man page.
pages.chapters = {
    {"nodes", "Nodes", [[
A node is written as in ZWR text: the name of a global variable with its ^, and subscripts in
parentheses. Subscripts that are numbers are written bare, others in double quotes, a quote in them
twice; bytes that can't be printed are joined in by _$C(number). Shells take most of these signs for
themselves, zsh (with EXTENDED_GLOB) even the ^ alone, so put the whole into single quotes; or tell zsh that
the arguments of caret are not patterns: alias caret='noglob caret'.

    '^oaks'   '^oaks(1)'   '^oaks(1,"shadow")'   '^log("a""b"_$C(10))']]},
    {"formats", "Formats of dump and load", [[
All of them bring back exactly what was there: any bytes in values and subscripts, empty ones, numbers that
look like strings. A subscript that is a canonical number is a number, wherever it is read.

zwr: two lines of a header, the first ending in UTF-8 unless --bytes was given, the second in ZWR; then a
line NODE=VALUE for each node, as M databases write it.

    Caret 0.1.0 dump UTF-8
    21-NOV-2026  08:30:00 ZWR
    ^oaks(1,"shadow")="10"

jsonl: a line for each node. A subscript or value is a JSON number if it is a whole one of at most 15 digits
in canonical form, and a string else; a byte that is not UTF-8 is a lone surrogate, as Python's
surrogateescape has it: byte FF is "\udcff". When it is read, any number of at most 18 digits is taken, and
true, false and null are values of these letters.

    {"node":["^oaks",1,"shadow"],"value":10}

json: one object whose members are globals. A node with children is an object of them, and "__" is its own
value; the subscript "__" is the key "___", one more _ each time. Strings and numbers are as in jsonl; keys
are always strings. An array that is read stands for the subscripts from 1 up. It is read as a whole, so it
has to fit into memory.

    {
     "^oaks": {
      "1": {
       "shadow": 10
      }
     }
    }

csv: a row for each node, with as many columns as the deepest one needs, as RFC 4180 has it, with line ends
of LF. A field that is empty stands for a subscript that the node does not have; the empty subscript is in
quotes: "". All bytes are as they are.

    global,sub1,sub2,value
    ^oaks,1,shadow,10]]},
    {"environment", "Environment", [[
    CARET_DB            the database, for commands that are not given --db; without it data.caret in the
                        current folder. For `caret m` $ydb_gbldir comes before it
    CARET_ROUTINES      folders of routines in M; else $ydb_routines, else $gtmroutines
    CARET_WEB_PASSWORD  the password of `caret web`, unless --password is given
    REDISCLI_AUTH       the password with which `caret top` asks a `caret serve`
    XDG_STATE_HOME      where prompts keep their history and `caret web` its sessions, in caret/; else
                        ~/.local/state
    TMPDIR              where benchmarks make their databases; else /tmp]]},
    {"status", "Exit status", [[
    0   fine
    1   no: nothing is there, or something is wrong, lost or missing
    2   wrong arguments
    3   the database, a file or the system failed

`caret m` ends with the status of the program in M, and with 2 also where it can't read or write a source that
it is to look at. `caret run` ends with 1 after an error of the program in Lua.

A command whose standard output is closed early, or which is interrupted, ends by that signal when it has
cleaned up. Another one a second later ends it at once.]]},
}

-- ----------------------------------------------------------------------- text

-- Paragraphs: text and whether it stays as it is.
local function paragraphs(text)
    return coroutine.wrap(function()
        for paragraph in (text .. "\n\n"):gmatch("(.-)\n\n+") do
            if paragraph ~= "" then coroutine.yield(paragraph, paragraph:find("^ ") ~= nil) end
        end
    end)
end

-- Words in lines of at most `width`, those after the first indented.
local function wrap(text, width, indent)
    local lines, line = {}, nil
    for word in text:gmatch("%S+") do
        if line and #line + 1 + #word > width then
            lines[#lines + 1], line = line, nil
        end
        line = line and line .. " " .. word or (#lines > 0 and indent or "") .. word
    end
    lines[#lines + 1] = line
    return table.concat(lines, "\n")
end

-- "[--raw] [--db FILE] NODE..."
local function arguments(spec)
    local words = {}
    for _, option in ipairs(spec.options or {}) do
        if not option.hidden then
            words[#words + 1] = "[" .. option[1]:gsub("^%-%a, ", "") .. "]"
        end
    end
    for _, operand in ipairs(spec.operands or {}) do words[#words + 1] = operand end
    return table.concat(words, " ")
end

local function visible(spec)
    local list = {}
    for _, option in ipairs(spec.options or {}) do
        if not option.hidden then
            local default = option.default and (" (%s)"):format(option.default) or ""
            list[#list + 1] = {option[1], option[2] .. default, option = option}
        end
    end
    return list
end

local function columns(out, rows, indent)
    local width = 0
    for _, row in ipairs(rows) do width = math.max(width, #row[1]) end
    for _, row in ipairs(rows) do
        local space = (" "):rep(indent + width + 2)
        out[#out + 1] = (" "):rep(indent) .. row[1] .. (" "):rep(width - #row[1] + 2)
            .. wrap(row[2], 78, space)
    end
end

local function prose(out, text)
    for paragraph, fixed in paragraphs(text) do
        out[#out + 1] = ""
        out[#out + 1] = fixed and paragraph or wrap(paragraph, 78, "")
    end
end

--- Help for one command.
function pages.command(name, spec)
    local out = {("caret %s - %s"):format(name, spec.summary), ""}
    out[#out + 1] = wrap(("usage: caret %s %s"):format(name, arguments(spec)), 78, "           ")
    if spec.about then prose(out, spec.about) end
    local options = visible(spec)
    if #options > 0 then
        out[#out + 1] = "\noptions:"
        columns(out, options, 2)
    end
    if spec.examples then
        out[#out + 1] = "\nexamples:"
        for _, example in ipairs(spec.examples) do
            out[#out + 1] = "  " .. example[1]
            if example[2] then out[#out + 1] = "        " .. example[2] end
        end
    end
    return table.concat(out, "\n")
end

--- Help for a chapter; nil if there is none of that name.
function pages.chapter(name)
    for _, chapter in ipairs(pages.chapters) do
        if chapter[1] == name then
            local out = {chapter[2]}
            prose(out, chapter[3])
            return table.concat(out, "\n")
        end
    end
    return nil
end

--- Help: all commands.
function pages.overview()
    local out = {("caret - %s"):format(ABOUT), "", "usage: caret COMMAND [ARGUMENT...]"}
    for _, group in ipairs(command.groups) do
        out[#out + 1] = "\n" .. group[1] .. ":"
        local rows = {}
        for i = 2, #group do rows[i - 1] = {("%-10s"):format(group[i]), command.find(group[i]).summary} end
        columns(out, rows, 2)
    end
    out[#out + 1] = "\nMore: `caret help COMMAND`; about all of them `caret help CHAPTER`:"
    local rows = {}
    for i, chapter in ipairs(pages.chapters) do rows[i] = {("%-11s"):format(chapter[1]), chapter[2]} end
    columns(out, rows, 2)
    return table.concat(out, "\n")
end

-- ------------------------------------------------------------------ man page

local function roff(text)
    return (text:gsub("\\", "\\e"):gsub("%-", "\\-"):gsub("^([.'])", "\\&%1"):gsub("\n([.'])", "\n\\&%1")
        :gsub("%^", "\\(ha"):gsub("`", "\\(ga"):gsub("'", "\\(aq"))
end

local function roff_prose(out, text)
    for paragraph, fixed in paragraphs(text) do
        out[#out + 1] = ".PP"
        if fixed then
            out[#out + 1] = ".EX\n" .. roff(paragraph) .. "\n.EE"
        else
            out[#out + 1] = roff((paragraph:gsub("%s+", " ")))
        end
    end
end

local function roff_command(out, name, spec)
    out[#out + 1] = (".SS caret %s %s"):format(roff(name), roff(arguments(spec)))
    out[#out + 1] = roff((spec.summary:gsub("^%l", string.upper))) .. "."
    if spec.about then roff_prose(out, spec.about) end
    for _, row in ipairs(visible(spec)) do
        out[#out + 1] = (".TP\n.B %s\n%s"):format(roff(row[1]), roff(row[2]))
    end
    for _, example in ipairs(spec.examples or {}) do
        out[#out + 1] = (".PP\n.EX\n    %s\n.EE"):format(roff(example[1]))
        if example[2] then out[#out + 1] = (".RS 8\n%s\n.RE"):format(roff(example[2])) end
    end
end

--- The page caret(1), as man macros.
function pages.man()
    local out = {
        '.\\" Made by `caret help --man`.',
        ('.TH CARET 1 "" "Caret %s" "Caret"'):format(caret._VERSION),
        ".SH NAME", "caret \\- " .. roff(ABOUT), ".SH SYNOPSIS",
        ".B caret\n.I COMMAND\n[\\fIARGUMENT\\fR...]",
        ".SH DESCRIPTION",
        "Commands look at and change databases, keep them well, and run Lua programs over them.",
    }
    for _, group in ipairs(command.groups) do
        out[#out + 1] = ".SH " .. roff(group[1]:upper())
        for i = 2, #group do roff_command(out, group[i], command.find(group[i])) end
    end
    for _, chapter in ipairs(pages.chapters) do
        out[#out + 1] = ".SH " .. roff(chapter[2]:upper())
        roff_prose(out, chapter[3])
    end
    return table.concat(out, "\n")
end

-- ---------------------------------------------------------------- completion

local function names_to_help()
    local names = {}
    for name in command.all() do names[#names + 1] = name end
    for _, chapter in ipairs(pages.chapters) do names[#names + 1] = chapter[1] end
    return names
end

-- All commands with the names of their options, and what their first operand can be: "get", "print ...",
-- {{"--db", "FILE", "the database", choices}, ...}, nil
local function each_command()
    return coroutine.wrap(function()
        for name, spec in command.all() do
            local options = {}
            for _, row in ipairs(visible(spec)) do
                local names, value = command.declared(row.option)
                local about, choices = row.option[2], row.option.choices
                for _, n in ipairs(names) do options[#options + 1] = {n, value, about, choices} end
            end
            coroutine.yield(name, spec.summary, options, name == "help" and names_to_help() or spec.choices)
        end
    end)
end

local completions = {}

function completions.bash()
    local names, cases, values = {}, {}, {}
    local function add_values(command_name, before, choices)
        if not choices then return end
        values[#values + 1] = ("    '%s %s') words=\"%s\" ;;"):format(command_name, before,
            table.concat(choices, " "))
    end
    for name, _, options, operands in each_command() do
        names[#names + 1] = name
        add_values(name, name, operands)
        local words = {"--help"}
        for _, option in ipairs(options) do
            words[#words + 1] = option[1]
            add_values(name, option[1], option[4])
        end
        cases[#cases + 1] = ("        %s) words=\"%s\" ;;"):format(name, table.concat(words, " "))
    end
    local commands = table.concat(names, " ")
    return ([[
# Completion of caret for bash, made by `caret completion bash`.
_caret()
{
    local word=${COMP_WORDS[COMP_CWORD]} words=
    case "${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD - 1]}" in
@VALUES@
    esac
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="@COMMANDS@"
    elif [ "${word#-}" != "$word" ]; then
        case ${COMP_WORDS[1]} in
@CASES@
        esac
    elif [ -z "$words" ]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o filenames -F _caret caret]]):gsub("@(%u+)@",
        {COMMANDS = commands, VALUES = table.concat(values, "\n"), CASES = table.concat(cases, "\n")})
end

-- Text within single quotes, of an option's description in _arguments.
local function zsh_text(text)
    return (text:gsub("'", "'\\''"):gsub("[%[%]:]", "\\%0"))
end

-- What completes the value of an option.
local function zsh_value(option)
    if option[4] then return ("(%s)"):format(table.concat(option[4], " ")) end
    return option[2] == "FILE" and "_files" or option[2] == "FOLDER" and "_files -/" or " "
end

function completions.zsh()
    local names, cases = {}, {}
    for name, summary, options, operands in each_command() do
        names[#names + 1] = ("        '%s:%s'"):format(name, zsh_text(summary))
        local words = {"'--help[tell how]'"}
        for _, option in ipairs(options) do
            local value = option[2] and (":%s:%s"):format(option[2], zsh_value(option)) or ""
            words[#words + 1] = ("'%s[%s]%s'"):format(option[1], zsh_text(option[3]), value)
        end
        if operands then words[#words + 1] = ("'1:word:(%s)'"):format(table.concat(operands, " ")) end
        words[#words + 1] = "'*:argument:_files'"
        cases[#cases + 1] = ("    %s) _arguments %s ;;"):format(name, table.concat(words, " "))
    end
    return ([[
#compdef caret
# Completion of caret for zsh, made by `caret completion zsh`: _caret in a folder of $fpath, or sourced after
# compinit.
_caret() {
local -a names
if (( CURRENT == 2 )); then
    names=(
@COMMANDS@
    )
    _describe command names
    return
fi
shift words
(( CURRENT-- ))
case $words[1] in
@CASES@
esac
}
if [ "$funcstack[1]" = _caret ]; then _caret "$@"; else compdef _caret caret; fi]]):gsub("@(%u+)@",
        {COMMANDS = table.concat(names, "\n"), CASES = table.concat(cases, "\n")})
end

local function fish_text(text)
    return "'" .. text:gsub("[\\']", "\\%0") .. "'"
end

local function fish_value(option)
    if option[4] then return (" -x -a '%s'"):format(table.concat(option[4], " ")) end
    return option[2] and " -r" or ""
end

function completions.fish()
    local out = {"# Completion of caret for fish, made by `caret completion fish`."}
    for name, summary, options, operands in each_command() do
        out[#out + 1] = ("complete -c caret -n __fish_use_subcommand -f -a %s -d %s"):format(name,
            fish_text(summary))
        if operands then
            out[#out + 1] = ("complete -c caret -n '__fish_seen_subcommand_from %s' -a '%s'"):format(name,
                table.concat(operands, " "))
        end
        for _, option in ipairs(options) do
            local kind = option[1]:find("^%-%-") and "-l" or "-s"
            out[#out + 1] = ("complete -c caret -n '__fish_seen_subcommand_from %s' %s %s%s -d %s"):format(
                name, kind, option[1]:gsub("^%-+", ""), fish_value(option), fish_text(option[3]))
        end
    end
    return table.concat(out, "\n")
end

--- The completion script for a shell.
function pages.completion(shell)
    return (completions[shell]())
end

return pages
