--- The constants of the module yottadb, and how its errors are made.
--
-- An error is the string "YDB Error: <code>: <text>".  Errors of Caret, which have names, become the
-- code that YottaDB has for the case; the text goes on to tell what Caret said about it.

local errors = {
    zstatus = "", -- "code,entry,text" of the last one, for $ZSTATUS
}

local outcomes = {
    YDB_TP_RESTART = 0x7ffffffe,
    YDB_TP_ROLLBACK = 0x7ffffffd,
    YDB_NOTOK = 0x7ffffffc,
    YDB_LOCK_TIMEOUT = 0x7ffffffb,
    YDB_DEFER_HANDLER = 0x7ffffffa,
}

errors.constants = {
    YDB_OK = 0,

    YDB_DEL_TREE = 1,
    YDB_DEL_NODE = 2,

    YDB_DATA_UNDEF = 0,
    YDB_DATA_VALUE_NODESC = 1,
    YDB_DATA_NOVALUE_DESC = 10,
    YDB_DATA_VALUE_DESC = 11,
    YDB_DATA_ERROR = 0x7fffff00,

    YDB_MAX_IDENT = 31,
    YDB_MAX_NAMES = 35,
    YDB_MAX_STR = 1048576,
    YDB_MAX_SUBS = 31,
    YDB_MAX_PARMS = 32,
    YDB_MAX_ERRORMSG = 1024,
    YDB_MAX_TIME_NSEC = 0x7fffffff * 1000000,
    YDB_MAX_YDBERR = 0x40000000,
    YDB_MIN_YDBERR = 0x08000000,

    YDB_SEVERITY_WARNING = 0,
    YDB_SEVERITY_SUCCESS = 1,
    YDB_SEVERITY_ERROR = 2,
    YDB_SEVERITY_INFORMATIONAL = 3,
    YDB_SEVERITY_FATAL = 4,

    YDB_NOTTP = 0,
    YDB_RELEASE = 206,
}

local codes = {
    CALLINAFTERXIT = -150381530,
    DBFILERR = -150372546,
    DIVZERO = -150373210,
    GVSUBOFLOW = -150372986,
    GVUNDEF = -150372994,
    INSUFFSUBS = -151027778,
    INVNAMECOUNT = -151027818,
    INVSTRLEN = -150375522,
    INVSVN = -150373074,
    INVTPTRANS = -151027938,
    INVVARNAME = -151027762,
    INVYDBEXIT = -150380242,
    KEY2BIG = -150373178,
    LVNULLSUBS = -150375938,
    LVUNDEF = -150373850,
    MAXNRSUBSCRIPTS = -150373282,
    MAXSTRLEN = -150373290,
    NAMECOUNT2HI = -151027810,
    NOCANONICNAME = -150379530,
    NODEEND = -151027922,
    NULSUBSC = -150373498,
    NUMOFLOW = -150373506,
    PARAMINVALID = -151027770,
    REC2BIG = -150373602,
    SIMPLEAPINEST = -151027850,
    SIMPLEAPINOTALLOWED = -151027954,
    STAPIFORKEXEC = -151027962,
    SVNOSET = -150373770,
    THREADEDAPINOTALLOWED = -151027946,
    TIME2LONG = -151027834,
    TPRETRY = -150376098,
    TPTIMEOUT = -150377322,
    TPTOODEEP = -150376106,
    UNIMPLOP = -150373858,
    VARNAME2LONG = -151027842,
    ZGBLDIRACC = -418809578,
}

local names = {} -- by code
for name, code in pairs(codes) do
    errors.constants["YDB_ERR_" .. name] = code
    names[code] = name
end
for name, code in pairs(outcomes) do
    errors.constants[name] = code
    names[code] = name
end

-- What Caret's errors are called there; those of the outside world are DBFILERR.
local translations = {
    INVALID = "PARAMINVALID",
    KEY2BIG = "KEY2BIG",
    MAXSUBS = "MAXNRSUBSCRIPTS",
    NUMOFLOW = "NUMOFLOW",
    SYNTAX = "PARAMINVALID",
    TXN_TOO_DEEP = "TPTOODEEP",
    VALUE2BIG = "REC2BIG",
}

-- The letter of the severity, which is in the low three bits of a code.
local function letter(code)
    return ("WSEIF"):sub(-code % 8 + 1, -code % 8 + 1)
end

--- The string for an error of that name.
function errors.message(name, text)
    local code = codes[name]
    text = ("%%YDB-%s-%s, %s"):format(letter(code), name, text)
    errors.zstatus = ("%d,(SimpleAPI),%s"):format(-code, text)
    return ("YDB Error: %d: %s"):format(code, text)
end

--- The string for YDB_LOCK_TIMEOUT and its like, which are no errors of YottaDB.
function errors.outcome(name, detail)
    return ("YDB Error: %d: %s"):format(outcomes[name], name) .. (detail and " (" .. detail .. ")" or "")
end

function errors.raise(name, text)
    error(errors.message(name, text), 0)
end

--- Raise what is known by its code: what a transaction's function returned.
function errors.raise_code(code)
    local name = names[code]
    if outcomes[name] then
        error(errors.outcome(name), 0)
    end
    error(("YDB Error: %d: %s"):format(code, name and "%YDB-" .. letter(code) .. "-" .. name or "unknown"), 0)
end

--- Is it a code of an error, rather than any number?
function errors.is_code(code)
    return type(code) == "number" and (names[code] ~= nil or -code >= 0x08000000 and -code <= 0x40000000)
end

--- What Caret reports, by its name of the error and its text, as a string of ours.
function errors.translate(name, message)
    if name == "RESTART" or name == "ROLLBACK" then
        return errors.outcome("YDB_TP_" .. name)
    end
    local text = message:gsub("^" .. name .. ": ", "")
    if name == "NAME" then
        local variable = text:match("^'%^?([%%%a]%w*)' is no variable name")
        return errors.message(variable and #variable > 31 and "VARNAME2LONG" or "INVVARNAME", text)
    end
    local known = translations[name]
    return errors.message(known or "DBFILERR", known and text or name .. ": " .. text)
end

--- The code in an error's text, or nil.
function errors.code_of(message)
    return tonumber(tostring(message):match("YDB Error: (%-?%d+): "))
end

return errors
