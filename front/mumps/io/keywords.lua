-- keywords.lua - the deviceparameters: which there are, which take a value, and on which command.
--
-- A word after a name: v a value is needed, o it may have one, - it has none; then the commands: O U C.
local K = {}

local LIST = [[
APPEND - O, ATTACH v OU, CANONICAL - U, CENABLE - U, CHSET v OU, CLEARSCREEN - U, COMMAND v O, CONNECT v OU,
CONVERT - U, CTRAP v U, DELETE - C, DELIMITER v OU, DESTROY - C, DETACH v U, DOWNSCROLL - U, ECHO - U,
    EDITING - U,
EMPTERM - U, ERASELINE - U, ESCAPE - U, EXCEPTION v OUC, FFLF - OU, FIFO - O, FILTER v U, FIXED - O,
    FLUSH - U,
FOLLOW - OU, GROUP v OUC, HOSTSYNC - U, HUPENABLE - U, ICHSET v OUC, IKEY v OU, INDEPENDENT - O, INREWIND - U,
INSEEK v U, INSERT - U, IOERROR v OU, KEY v OU, LENGTH v U, LISTEN v OU, MOREREADTIME v OU, NEWVERSION - O,
NOCENABLE - U, NOCONVERT - U, NODELIMITER - OU, NODESTROY - C, NOECHO - U, NOEDITING - U, NOEMPTERM - U,
NOESCAPE - U, NOFFLF - OU, NOFILTER - U, NOFIXED - O, NOFOLLOW - OU, NOHOSTSYNC - U, NOHUPENABLE - U,
NOINSERT - U, NOPASTHRU - U, NOREADONLY - O, NOREADSYNC - U, NOTERMINATOR - U, NOTRUNCATE - OU, NOTTSYNC - U,
NOTYPEAHEAD - U, NOWRAP - OU, NOZFF - OU, OCHSET v OUC, OKEY v OU, OPTIONS v OU, OUTREWIND - U, OUTSEEK v U,
OVERSTRIKE - U, OWNER v OUC, PAD v OU, PARSE - O, PASTHRU - U, READONLY - O, READSYNC - U, RECORDSIZE v O,
RENAME v C, REPLACE v C, REWIND - OUC, SEEK v OU, SHELL v O, SOCKET v UC, STDERR v O, STREAM - O, SYSTEM v OC,
TERMINATOR v U, TIMEOUT v C, TRUNCATE - OU, TTSYNC - U, TYPEAHEAD - U, UIC v OC, UPSCROLL - U, VARIABLE - O,
WIDTH v U, WORLD v OUC, WRAP - OU, WRITEONLY - O, X v U, Y v U, ZBFSIZE v OU, ZDELAY - OU, ZFF v OU,
ZIBFSIZE v OU, ZLENGTH v U, ZNODELAY - OU, ZNOFF - OU, ZNOWRAP - OU, ZWIDTH v U, ZWRAP - OU,
ALLOCATION v O, BIGRECORD - O, BLOCKSIZE v O, CONTIGUOUS - O, EXTENSION v O, NOWRITE - O, SHARED - O
]]

K.takes_value, K.commands = {}, {}
local names = {}
for name, value, commands in LIST:gmatch "(%u+) ([vo%-]) (%u+)" do
    names[#names + 1] = name
    K.takes_value[name] = value == "v"
    K.commands[name] = commands
end

-- Shorter than the least prefix, but known since ever.
local SHORT = { EXC = "EXCEPTION", COMM = "COMMAND", REC = "RECORDSIZE", NEW = "NEWVERSION",
    READ = "READONLY" }

-- The full name of a deviceparameter: that name, the only or the first one that begins with it; nil: none.
function K.canonical(text)
    local word = text:upper()
    if K.commands[word] then
        return word
    end
    if SHORT[word] then
        return SHORT[word]
    end
    for _, name in ipairs(names) do
        if name:sub(1, #word) == word then
            return name
        end
    end
end

return K
