--- The constants of the module yottadb, and how its errors are made.
--
-- An error is the string "YDB Error: <code>: <text>".  Numbers, names and texts are those of the library that
-- libyottadb.so has as well (front/m), which also says what Caret's errors are to M.

local core = require "caret.core"

local m = core.m

local errors = {
    constants = m.constants(), -- YDB_... = number, errors and outcomes included
    zstatus = "", -- "code,entry,text" of the last one, for $ZSTATUS
}

local constants = errors.constants
local fill = {}     -- by code: what is put into YottaDB's own text, made of Caret's
local outcomes = {} -- names of what is not an error, by code: YDB_TP_RESTART
local known = {}    -- codes of errors, as a set

for name, code in pairs(constants) do
    if name:find "^YDB_ERR_" then known[code] = true end
end
for _, name in ipairs {"TP_RESTART", "TP_ROLLBACK", "NOTOK", "LOCK_TIMEOUT", "DEFER_HANDLER"} do
    outcomes[constants["YDB_" .. name]] = "YDB_" .. name
end

local SHOWN = 63 -- bytes of a name in a text, as libyottadb.so has it; a NUL ends it

-- The name that Caret's text is about, as far as it has it: in quotes, or in ZWR form if it is not readable.
local function name_in(text)
    local shown = text:match "^(.*) is not a variable name" or text
    return shown:match "^'(.*)'$" or core.text.zwr2str(shown:gsub("%.%.%.$", ""), true) or shown
end

for name, f in pairs {
    INVVARNAME = function(text) return (name_in(text):sub(1, SHOWN):gsub("%z.*", "")) end,
    VARNAME2LONG = function() return constants.YDB_MAX_IDENT end,
    MAXNRSUBSCRIPTS = function() end,
    NUMOFLOW = function() end,
    TPTOODEEP = function() end,
    TPTIMEOUT = function() end,
    TPLOCK = function() end,
} do
    fill[constants["YDB_ERR_" .. name]] = f
end

--- The text of that error's with what follows in the places that it has for that.
function errors.words(code, ...)
    local operands, i = {...}, 0
    local text = m.message(code):gsub("^%%YDB%-%a%-%w+, ", ""):gsub("!%u%u", function()
        i = i + 1
        return tostring(operands[i] or "")
    end)
    return text
end

--- The string for an error of that code.
local function worded(code, text)
    errors.zstatus = m.status(code, text)
    return ("YDB Error: %d: %s"):format(code, m.message(code, text))
end

--- The string for an error of that name.
function errors.message(name, text)
    return worded(constants["YDB_ERR_" .. name], text)
end

--- The string for YDB_LOCK_TIMEOUT and its like, which are not errors of YottaDB.
function errors.outcome(name, detail)
    return ("YDB Error: %d: %s"):format(constants[name], name) .. (detail and " (" .. detail .. ")" or "")
end

function errors.raise(name, text)
    error(errors.message(name, text), 0)
end

--- The same with YottaDB's own text, filled in.
function errors.raise_filled(name, ...)
    errors.raise(name, errors.words(constants["YDB_ERR_" .. name], ...))
end

--- The same by its code.
function errors.raise_text(code, text)
    error(worded(code, text), 0)
end

-- Raise what is wrong with the name of a local variable.
local function check_local(name, call)
    local first = name:sub(1, 1)
    if first == "^" then
        errors.raise_filled("GVNUNSUPPORTED", name, call)
    elseif first == "$" then
        errors.raise_text(select(2, m.special(name, "other", 0, call)))
    elseif #name > constants.YDB_MAX_IDENT or not name:find "^[%%A-Za-z][0-9A-Za-z]*$" then
        local code = m.name_error(name)
        errors.raise_text(code, errors.words(code, fill[code]("'" .. name .. "'")))
    end
end

--- Raise what is wrong with a list of names of local variables, as one of those functions of YottaDB does.
-- star: "*" alone is fine as well.
function errors.check_locals(names, call, star)
    if #names > constants.YDB_MAX_NAMES then
        errors.raise_filled("NAMECOUNT2HI", call, #names, constants.YDB_MAX_NAMES)
    end
    if star and #names == 1 and names[1] == "*" then return end
    for _, name in ipairs(names) do check_local(name, call) end
end

--- $ZSTATUS is set: to that, as far as there is room in messages.
function errors.set_zstatus(text)
    errors.zstatus = text:sub(1, constants.YDB_MAX_ERRORMSG - 1)
end

--- Raise what is known by its code: what a transaction's function returned.
function errors.raise_code(code)
    if outcomes[code] then
        error(errors.outcome(outcomes[code]), 0)
    end
    error(("YDB Error: %d: %s"):format(code, m.message(code) or "unknown"), 0)
end

--- Is it a code of an error or an outcome, rather than any number?
function errors.is_code(code)
    return type(code) == "number" and (outcomes[code] ~= nil or known[code] ~= nil
        or -code >= constants.YDB_MIN_YDBERR and -code <= constants.YDB_MAX_YDBERR)
end

-- The address of that variable's (nil: of some) is too long, in the words of YottaDB.
local function too_long(name)
    local words = errors.words(constants.YDB_ERR_GVSUBOFLOW)
    return name and words .. ",%YDB-I-GVIS, \t\tGlobal variable: " .. name .. "(*" or words
end

--- Raise that.
function errors.raise_too_long(name) errors.raise("GVSUBOFLOW", too_long(name)) end

--- What Caret reports, by M's code for it and its text, as a string of ours.
function errors.translate(code, text)
    if outcomes[code] then
        return errors.outcome(outcomes[code])
    end
    if code == constants.YDB_ERR_LOCKINCR2HIGH then
        return worded(code, errors.words(code, 511) .. ",%YDB-I-LOCKIS, \t\tResource name: " .. text)
    end
    if code == constants.YDB_ERR_KEY2BIG then
        return worded(constants.YDB_ERR_GVSUBOFLOW, too_long(text:match "^the key of (%^?[%%%w]+)"))
    end
    if code == constants.YDB_ERR_INVVARNAME then
        code = m.name_error(name_in(text))
    end
    return worded(code, fill[code] and errors.words(code, fill[code](text)) or text)
end

--- A transaction's function returned a number: begin again, raise the error that it is, or nothing.
function errors.obey(code)
    if code == constants.YDB_TP_RESTART then
        core.trestart()
    elseif errors.is_code(code) then
        errors.raise_code(code)
    end
end

--- The code in an error's text, or nil.
function errors.code_of(message)
    return tonumber(tostring(message):match("YDB Error: (%-?%d+): "))
end

return errors
