-- caret m: programs in M, which another program beside this one compiles and runs.

local command = require "tool.lib.command"
local host = require "caret.host"
local programs = require "caret.programs"

local function run(o)
    local arguments = {programs.folder() .. "/caret-m"}
    for _, word in ipairs(o) do arguments[#arguments + 1] = word end
    command.fail(host.replace(arguments))
end

return {
    summary = "run programs written in M",
    operands = {"[WORD...]"},
    options = {},
    verbatim = true,
    plain = true,
    about = [[
Without a word: a prompt, at which a line of M is run when it is entered (direct mode).

    -run [LABEL^]ROUTINE ARGUMENTS   run a routine; $ZCMDLINE is what follows it
    -compile FILE.m...               list all errors, with line and column
    -format [-short] [-write] FILE.m...
                                     write sources in one form: commands and functions in capitals
                                     and in full (-short: abbreviated), on standard output or over
                                     the file (-write)
    -cover -run ...                  also which lines ran, on standard error
    -trace -run ...                  also each line as it begins, on standard error
    -direct                          a prompt
    -version

Routines are files NAME.m (_NAME.m for %NAME) in the folders of $CARET_ROUTINES, else $ydb_routines, else
$gtmroutines, else the current one. They are compiled when they are first used. Globals are in the database
$ydb_gbldir (a name that ends with .gld stands for that with .caret), else $CARET_DB, else
./data.caret. The exit status is that of the program, 1 when an error ended it.]],
    examples = {
        {"caret m -run ^HELLO", "the file HELLO.m"},
        {"caret m -compile *.m"},
    },
    run = run,
}
