-- Device parameters and job parameters: keyword[=expr], one, or several in parentheses with `:` between them.

local lex = require "mumps.compiler.lex"
local expr = require "mumps.compiler.expr"

local device = {}

local byte, find, sub, upper = string.byte, string.find, string.sub, string.upper
local fail = lex.fail

-- Each keyword: the commands it belongs to (o OPEN, u USE, c CLOSE), `=` if it takes a value.
local keywords = {}

local function add(use, names)
    for word in names:gmatch("%S+") do keywords[word] = use end
end

add("c", "DELETE DESTROY LOWERCASE NODESTROY NOTIMEOUT PAGE SPOOL")
add("c=", "QUEUE RENAME REPLACE TIMEOUT USER")
add("o", [[APPEND BIGRECORD CONTIGUOUS FIFO FIXED INDEPENDENT NEWVERSION NOFIXED NOREAD NOREADONLY NOSEEK
    NOSEQUENTIAL NOSTDERR
    NOSTREAM NOWRITE NOWRITELB NOWRITEOF NOWRITEONLY NOWRITETM PARSE READ READONLY SEQUENTIAL SHARED STREAM
    SUBMIT
    VARIABLE WRITE WRITEONLY]])
add("o=", "ALLOCATION BLOCKSIZE BLOCK_SIZE COMMAND EXTENSION EXTGAP PAD RECORDSIZE SHELL STDERR")
add("oc=", "GROUP OWNER PROTECTION SYSTEM UIC WORLD")
add("ou", [[CANONICAL EBCDIC EMPTERM FFLF FOLLOW INREWIND NOCANONICAL NODELIMITER NOEBCDIC NOEMPTERM
    NOFFLF NOFOLLOW
    NOTRUNCATE NOWRAP OUTREWIND RCHK TRUNCATE WRAP ZDELAY ZNODELAY ZNOFF ZNOWRAP ZWRAP]])
add("ou=", [[ATTACH CHSET CONNECT DELIMITER ICHSET IKEY INSEEK IOERROR KEY LABEL LISTEN MOREREADTIME
    OCHSET OKEY
    OPTIONS OUTSEEK SEEK ZBFSIZE ZFF ZIBFSIZE ZLISTEN]])
add("ouc", "REWIND")
add("ouc=", "EXCEPTION SOCKET ZEXCEPTION")
add("u", [[CENABLE CLEARSCREEN CONVERT DOWNSCROLL ECHO EDITING ERASELINE ESCAPE FLUSH HOSTSYNC HUPENABLE
    INRTNL INSERT
    NOCENABLE NOCONVERT NOECHO NOEDITING NOESCAPE NOFILTER NOHOSTSYNC NOHUPENABLE NOPASTHRU NOREADSYNC
    NOTERMINATOR
    NOTTSYNC NOTYPEAHEAD NOWAIT PASTHRU READSYNC TTSYNC TYPEAHEAD UPPERCASE UPSCROLL URGENT WAIT]])
add("u=", "CTRAP DETACH FILTER LENGTH TERMINATOR WIDTH WRITELB X Y ZFILTER ZLENGTH ZWIDTH")
add("uc", "NOINDEPENDENT NOINREWIND NOINRTNL NOINSEEK NOINSERT WRITEOF WRITETM")
add("uc=", "SPACE")

local jobs = {
    CMDLINE = "=", DEFAULT = "=", DETACHED = "", ERROR = "=", GBLDIR = "=", IMAGE = "=", INPUT = "=",
    LOGFILE = "=", NODETACHED = "", NOSWAPPING = "", OUTPUT = "=", PASSCURLVN = "", PRIORITY = "=",
    PROCESS_NAME = "=", SCHEDULE = "=", STARTUP = "=", SWAPPING = "",
}

-- The word that `word` abbreviates: the shortest that begins with it, of those the first in the alphabet.
local function whole(list, word)
    local best
    for full in pairs(list) do
        if sub(full, 1, #word) == word
            and (not best or #full < #best or #full == #best and full < best) then
            best = full
        end
    end
    return best
end

-- Every word that was ever asked for; false: there is none.
local function known(list)
    return setmetatable({}, {
        __index = function(t, word)
            local full = list[word] and word or whole(list, word) or false
            if full then t[word] = full end
            return full
        end,
    })
end

local device_words, job_words = known(keywords), known(jobs)
local letter = { OPEN = "o", USE = "u", CLOSE = "c" }

local function word_at(s, p)
    local _, last = find(s, "^[%a_]+", p)
    if not last then return nil, p end
    return upper(sub(s, p, last)), last + 1
end

-- After what is wrong among the keywords: the end of the argument.
local function rest(s, p)
    local deep = 0
    while p <= #s do
        local b = byte(s, p)
        local to
        if b == 34 then to = select(2, lex.text(s, p)) end
        deep = deep + (b == 40 and 1 or b == 41 and -1 or 0)
        if b == 32 or b == 44 and deep <= 0 then break end
        p = to or p + 1
    end
    return p
end

-- One keyword of a device, of the command whose letter is given.
local function device_keyword(s, p, use)
    local word, to = word_at(s, p)
    local full = word and device_words[word]
    if not full then return lex.soft("DEVPARUNK", p), rest(s, p) end
    lex.mark("keywords", p, to - 1, full)
    if not find(keywords[full], use, 1, true) then fail("DEVPARINAP", p) end
    if not find(keywords[full], "=", 1, true) then return { full }, to end
    if byte(s, to) ~= 61 then return lex.soft("DEVPARVALREQ", to), rest(s, to) end
    local value
    value, to = expr.parse(s, to + 1)
    return { full, value }, to
end

local function job_keyword(s, p)
    local word, to = word_at(s, p)
    local full = word and job_words[word]
    if not full then fail("JOBPARUNK", p) end
    lex.mark("keywords", p, to - 1, full)
    if jobs[full] == "" then
        if byte(s, to) == 61 then fail("JOBPARNOVAL", to) end
        return { full }, to
    end
    if byte(s, to) ~= 61 then fail("JOBPARVALREQ", to) end
    local value
    value, to = expr.parse(s, to + 1)
    return { full, value }, to
end

-- One that soft() gave, and not JOB's keyword ERROR.
local function is_wrong(node) return node[1] == "ERROR" and node[2].mnemonic ~= nil end

-- A list of keywords at p, in parentheses, or one; what is after it; the node that is wrong, if there is one.
local function keywords_at(s, p, rule, use)
    local list = {}
    if byte(s, p) ~= 40 then
        list[1], p = rule(s, p, use)
        return list, p, is_wrong(list[1]) and list[1]
    end
    repeat
        list[#list + 1], p = rule(s, p + 1, use)
        if is_wrong(list[#list]) then return list, p, list[#list] end
    until byte(s, p) ~= 58
    if byte(s, p) ~= 41 then fail("RPARENMISSING", p) end
    return list, p + 1
end

-- After the device or the entry of JOB: the keywords. Only OPEN and JOB may have none before the next `:`.
local function keywords_after(s, p, rule, use)
    if byte(s, p) ~= 58 then return {}, p end
    if (use == "o" or rule == job_keyword) and byte(s, p + 1) == 58 then return {}, p + 1 end
    return keywords_at(s, p + 1, rule, use)
end

-- An expression after the `:` at p, unless another `:` follows.
local function optional(s, p)
    if byte(s, p) ~= 58 then return nil, p end
    if byte(s, p + 1) == 58 then return nil, p + 1 end
    return expr.parse(s, p + 1)
end

-- An argument of OPEN, USE or CLOSE.
function device.argument(s, p, cmd)
    local op = cmd[1]
    local name, params, timeout, space, wrong
    name, p = expr.argument(s, p)
    if name[1] == "argind" then
        if byte(s, p) ~= 58 then return name, p end
        name[1] = "ind"
    end
    params, p, wrong = keywords_after(s, p, device_keyword, letter[op])
    if wrong then return wrong, p end
    if op == "CLOSE" then return { "close", name, params }, p end
    if op == "USE" then return { "use", name, params }, p end
    timeout, p = optional(s, p)
    if byte(s, p) == 58 then space, p = expr.parse(s, p + 1) end
    return { "open", name, params, timeout, space }, p
end

-- After the entry of JOB: its parameters and its timeout.
function device.job(s, p)
    local params, timeout
    params, p = keywords_after(s, p, job_keyword)
    if byte(s, p) == 58 then timeout, p = expr.parse(s, p + 1) end
    return params, timeout, p
end

device.optional = optional

return device
