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
for name, f in pairs {
    INVVARNAME = function(text) return text:match "^'(.-)' " or text end,
    VARNAME2LONG = function() return constants.YDB_MAX_IDENT end,
    MAXNRSUBSCRIPTS = function() end,
    NUMOFLOW = function() end,
    TPTOODEEP = function() end,
    GVSUBOFLOW = function() end,
    TPTIMEOUT = function() end,
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

--- Raise what is wrong with a list of names of local variables, as one of those functions of YottaDB does.
function errors.check_locals(names, call)
    if #names > constants.YDB_MAX_NAMES then
        errors.raise_filled("NAMECOUNT2HI", call, #names, constants.YDB_MAX_NAMES)
    end
    for _, name in ipairs(names) do
        local first = name:sub(1, 1)
        if first == "^" then errors.raise_filled("GVNUNSUPPORTED", name, call) end
        if first == "$" then errors.raise_filled("ISVUNSUPPORTED", name, call) end
    end
end

--- The same by its code.
function errors.raise_text(code, text)
    error(worded(code, text), 0)
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

--- What Caret reports, by M's code for it and its text, as a string of ours.
function errors.translate(code, text)
    if outcomes[code] then
        return errors.outcome(outcomes[code])
    end
    if code == constants.YDB_ERR_KEY2BIG then code = constants.YDB_ERR_GVSUBOFLOW end
    if code == constants.YDB_ERR_INVVARNAME then
        local name = text:match "^'(%^?[%%%w]*)' "
        code = name and m.name_error(name) or code
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
