-- Device parameters and job parameters: keyword[=expr], one, or several in parentheses with `:` between them.

local lex = require "mumps.compiler.lex"
local expr = require "mumps.compiler.expr"

local device = {}

local byte, find, sub, upper = string.byte, string.find, string.sub, string.upper
local fail = lex.fail

-- Each keyword: the commands it belongs to (o OPEN, u USE, c CLOSE), `=` if it takes a value; and its least
-- form. As in GT.M, whatever follows that counts for nothing: DELE, DELETE and DELETTE are the same.
local keywords, least = {}, {}

-- Words with their least forms in capitals; a word all in capitals has no other form, but for one with a *.
local function add(use, names)
    for word in names:gmatch("%S+") do
        local full = upper((word:gsub("%*", "")))
        keywords[full] = use
        least[full] = word ~= full and word:match("^[%u_]+") or nil
    end
end

add("c", "DELEte DESTroy LOWercase NODESTroy NOTImeout PAGe SPOol")
add("c=", "QUEue REName REPlace TIMeout USer")
add("o", [[
    APpend BIGRECORD CONTiguous FIFo FIXed INdependent NEWversion NOFIXed NOREAD NOREADONLY NOSEek
    NOSEquential NOSTderr NOSTream NOWRITE* NOWRITElb NOWRITEof NOWRITEonly NOWRITEtm PARSe READ READONLY
    SEquential SHARed STReam SUbmit VAriable WRITE WRITEONLY*
]])
add("o=", "ALLOcation BLocksize BLock_size COMMand EXTension EXTgap PAD RECordsize SHELl STDErr")
add("oc=", "GROUP OWner PROtection SYstem UIc WOrld")
add("ou", [[
    CANOnical EBcdic EMPTerm FFLF FOLlow INrewind NOCAnonical NODELImiter NOEBcdic NOEMPTerm NOFFLF
    NOFOLlow NOTRUncate NOWRAP OUTREWIND RCHK* TRUncate WRAP ZDelay ZNODELAY ZNOFF ZNOWRAP ZWRAp
]])
add("ou=", [[
    ATtach CHSet CONNect DELImiter ICHSET IKEY INseek IOError KEY LABel LIsten MOREreadtime OCHSET OKEY
    OPTIONS OUTSEEK SEek ZBfsize ZFF ZIbfsize ZLISten
]])
add("ouc", "REWind")
add("ouc=", "EXCeption SOcket ZEXception")
add("u", [[
    CEnable CLEarscreen CONVert DOWnscroll ECho EDiting ERASELine EScape FLUsh HOStsync HUpenable INrtnl
    INsert NOCEnable NOCONVert NOECho NOEDiting NOEScape NOFILter NOHOStsync NOHUpenable NOPASThru
    NOREADSync NOTERminator NOTTsync NOTYpeahead NOWAit PASThru READSync TTSYnc TYPEahead UPpercase
    UPscroll URgent WAit
]])
add("u=", "CTrap DETach FILter LEngth TErminator WIdth WRITELB X Y ZFILter ZLENgth ZWIDth")
add("uc", "NOINdependent NOINrewind NOINrtnl NOINseek NOINsert WRITEOF WRITETM")
add("uc=", "SPAce")

local jobs = {
    CMDLINE = "=", DEFAULT = "=", DETACHED = "", ERROR = "=", GBLDIR = "=", IMAGE = "=", INPUT = "=",
    LOGFILE = "=", NODETACHED = "", NOSWAPPING = "", OUTPUT = "=", PASSCURLVN = "", PRIORITY = "=",
    PROCESS_NAME = "=", SCHEDULE = "=", STARTUP = "=", SWAPPING = "",
}

-- How many bytes of two words are alike, from the first on.
local function alike(a, b)
    local n = 0
    while n < #a and byte(a, n + 1) == byte(b, n + 1) do n = n + 1 end
    return n
end

-- Of words that a short one may mean, the likest, of those the shortest, of those the first in the alphabet.
local function better(a, b, word)
    local alike_a, alike_b = alike(a, word), alike(b, word)
    if alike_a ~= alike_b then return alike_a > alike_b end
    return #a < #b or #a == #b and a < b
end

-- The word of a list that `word` means, if fits(word, full) says so.
local function whole(list, word, fits)
    if list[word] then return word end
    local best
    for full in pairs(list) do
        if fits(word, full) and (not best or better(full, best, word)) then best = full end
    end
    return best
end

-- Shorter than any least form, but known.
local shorter = {
    G = "GROUP", M = "MOREREADTIME", NOWR = "NOWRAP", O = "OWNER", S = "SYSTEM", SH = "SHARED", ST = "STREAM",
    W = "WORLD", WR = "WRAP",
}

local function device_word(word)
    return shorter[word] or whole(keywords, word, function(w, full)
        return least[full] ~= nil and sub(w, 1, #least[full]) == least[full]
    end)
end

-- JOB's words may be short, too; fis-gtm knows these, and words in full.
local job_shorts = {}
for word in string.gmatch("CMD DEF DET ERR GBL IN LOG NODET NOSWAP OUT PRI PRO SCH STA SWA", "%S+") do
    job_shorts[word] = true
end

local function job_word(word)
    return whole(jobs, word, function(w, full) return sub(full, 1, #w) == w end)
end

local letter = { OPEN = "o", USE = "u", CLOSE = "c" }

local function word_at(s, p)
    local _, last = find(s, "^%a[%w_]*", p)
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
    local full = word and device_word(word)
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
    local full = word and job_word(word)
    if not full then fail("JOBPARUNK", p) end
    lex.mark("keywords", p, to - 1, full)
    if jobs[full] == "" then
        if byte(s, to) == 61 then fail("JOBPARNOVAL", to) end
        return { full }, to
    end
    if byte(s, to) ~= 61 then
        if full ~= word and not job_shorts[word] then fail("JOBPARUNK", p) end
        fail("JOBPARVALREQ", to)
    end
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
