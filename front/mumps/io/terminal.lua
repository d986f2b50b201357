-- terminal.lua - terminals: $PRINCIPAL at a screen.
--
-- The terminal is in raw mode only while a READ waits: M echoes, erases and finds terminators itself.
-- While a prompt, or the code of a signal, goes on in the middle of a READ, it is as it was before.
local ffi = require "ffi"
local C = require "mumps.host"
local B = require "mumps.io.base"
local R = require "mumps.io.record"
local E = require "mumps.io.edit"

local T = setmetatable({}, { __index = R })

local raw, back = C.caret_mumps__io_tty_raw, C.caret_mumps__io_tty_back
local columns, lines = ffi.new "int[1]", ffi.new "int[1]"
local DEFAULT_TERMINATORS = { [10] = true, [13] = true, [27] = true }
local EDITING_WORDS = { EDITING = true, NOEDITING = true, INSERT = true, NOINSERT = true, EMPTERM = true,
    NOEMPTERM = true }
local READ_MAX = 1023 -- the terminal input buffer of the manual

-- ydb_principal_editing has words between colons.
local function start_editing(d)
    local text = os.getenv "ydb_principal_editing" or os.getenv "gtm_principal_editing" or ""
    for word in text:upper():gmatch "[^:]+" do
        local set = EDITING_WORDS[word] and T.params[word]
        if set then
            set(d)
        end
    end
end

function T.start(d)
    d.width, d.length = 80, 24
    if C.caret_mumps__io_tty_size(d.fd >= 0 and d.fd or d.ofd, columns, lines) == 0 and columns[0] > 0 then
        d.width, d.length = columns[0], lines[0]
    end
    d.wrap, d.echo, d.terminators, d.eager = true, true, DEFAULT_TERMINATORS, true
    start_editing(d)
end

function T.set_limit(d)
    d.limit = d.filter and -1 or d.wrap and d.width or math.huge
end

-- FILTER=CHARACTERS: what control characters do to the cursor.
local MOVES = {
    ["\b"] = function(d) d.x = math.max(d.x - 1, 0) end,
    ["\r"] = function(d) d.x = 0 end,
    ["\n"] = B.down,
    ["\f"] = function(d) d.x, d.y = 0, 0 end,
    ["\v"] = B.down,
}

-- FILTER=ESCAPE: escape sequences do not move the cursor.
local function without_escapes(d, text)
    local at = 1
    while at <= #text do
        local from, to = text:find("\27%[[0-?]*[ -/]*[@-~]", at)
        R.wrapped(d, text:sub(at, (from or 0) - 1))
        B.put(d, from and text:sub(from, to) or "")
        at = from and to + 1 or #text + 1
    end
end

local function filtered(d, text)
    for part, control in text:gmatch "([^%c]*)(%c?)" do
        R.wrapped(d, part)
        B.put(d, control)
        local move = MOVES[control]
        if move then
            move(d)
        end
    end
end

function T.write(d, text)
    if d.filter then
        d.filter(d, text)
    elseif d.wrap then
        R.wrapped(d, text)
    else
        B.put(d, text)
        d.x = d.x + B.columns(text, d)
    end
end

function T.newline(d)
    B.put(d, "\n")
    d.x = 0
    B.down(d)
end

function T.formfeed(d)
    B.put(d, ("\27[%d;1H\27[1;1H\27[J"):format(d.y + 1))
    d.x, d.y = 0, 0
    B.flush(d)
end

local function next_byte(d, deadline)
    if d.ip == d.ie then
        local got = B.fill(d, deadline)
        if not got or got == 0 then
            return nil, got == 0
        end
    end
    d.ip = d.ip + 1
    return d.ibuf[d.ip - 1] % 256
end

-- How many bytes follow the first one of a character of UTF-8; none where it can't be that.
local function following(byte)
    return byte >= 0xF5 and 0 or byte >= 0xF0 and 3 or byte >= 0xE0 and 2 or byte >= 0xC0 and 1 or 0
end

-- The next character that is typed, and its code; nil: none, or not all of it, and whether the terminal is
-- gone. A byte that is wrong is an error at once.
local function next_character(d, deadline)
    local byte, closed = next_byte(d, deadline)
    if not byte or byte < 128 or not B.utf8 or d.ichset == "M" then
        return byte and string.char(byte), byte or closed
    end
    local text = string.char(byte)
    for _ = 1, following(byte) do
        byte, closed = next_byte(d, deadline)
        if not byte then
            return nil, closed
        end
        text = text .. string.char(byte)
        if byte < 0x80 or byte > 0xBF then
            break
        end
    end
    require("mumps.values.utf8").check(text)
    return text, require("mumps.values.functions").ASCII(text)
end

function T.resume(d)
    raw(d.fd, d.pasthru and 1 or 0)
    B.raw = d
end

function T.pause()
    back()
    B.raw = nil
end

-- Ctrl-C while a READ waits: a prompt, and it begins again; where nobody wants it, the end of the process.
local function interrupted(d)
    T.pause()
    require("mumps.runtime.interrupt").control_c_typed()
    T.resume(d)
end

local function echo(d, text)
    if d.echo and d.ofd >= 0 then
        B.put(d, text)
        B.flush(d)
    end
end

-- The rest of an escape sequence: CSI up to its final byte, SS3 and one byte, or one byte.
local function sequence(d)
    local soon = B.deadline(1)
    local all, final = "\27", nil
    while not final and #all < 15 do
        local byte = next_byte(d, soon)
        if not byte then
            break
        end
        all = all .. string.char(byte)
        local introducer = #all == 2 and (byte == 91 or byte == 79)
        local parameter = all:byte(2) == 91 and byte < 64
        final = not introducer and not parameter
    end
    return all
end

-- The last one of these characters goes.  What is shown ends at the row of the cursor.
local function rub(d, chars)
    local n = #chars
    if n == 0 or d.echo and d.x == 0 then
        return
    end
    local wide = d.echo and math.min(B.columns(chars[n], d), d.x) or 0
    chars[n] = nil
    d.x = d.x - wide
    echo(d, ("\b \b"):rep(wide))
end

-- What CONVERT makes of a character: one that has several for it stays.
local function upper(char)
    if #char == 1 then
        return char:upper()
    end
    local large = require("mumps.values.case").zconvert(char, "U")
    return require("mumps.values.utf8").length(large) > 1 and char or large
end

-- What was typed moves the cursor; at the end of a row it goes to the next one.
local function shown(d, char)
    if not d.echo then
        return
    end
    echo(d, char)
    d.x = d.x + B.columns(char, d)
    if d.wrap and d.width > 0 and d.x >= d.width then
        echo(d, "\n")
        d.x = d.x - d.width
        B.down(d)
    end
end

local function accept(d, chars, char)
    if d.convert then
        char = upper(char)
    end
    chars[#chars + 1] = char
    shown(d, char)
end

-- Is it Erase?
local function erases(d, code)
    return (code == 127 or code == 8) and not d.pasthru
end

-- One character of a READ, and its code; true if the READ ends.
local function consume(d, chars, char, code)
    if d.ctrap and d.ctrap[code] then
        return B.fail(d, "CTRAP", tostring(code))
    elseif code == 3 and not d.pasthru then
        interrupted(d)
        for i = #chars, 1, -1 do
            chars[i] = nil
        end
    elseif d.escape and code == 27 then
        d.zb = sequence(d)
        return true
    elseif d.terminators[code] then
        d.zb = char
        return true
    elseif erases(d, code) then
        if #chars == 0 and d.empterm then
            d.zb = char
            return true
        end
        rub(d, chars)
    else
        accept(d, chars, char)
    end
end

local function line(d, max, deadline)
    local chars, ended = {}, false
    d.zb, d.za, d.status = "", 0, "0"
    while not ended and #chars < max do
        local char, code = next_character(d, deadline)
        if not char then
            return table.concat(chars), code and "eof" or "timeout"
        end
        ended = consume(d, chars, char, code)
    end
    if ended and d.echo and d.x == 0 and #chars > 0 then -- as if the row went on
        echo(d, "\n")
    end
    return table.concat(chars), "ended"
end

-- EDITING counts where what is typed is shown.
local function edits(d)
    return d.editing and d.echo and not d.pasthru
end

-- One key of an edited READ: what is done, or true if the READ ends.
local function edit_key(d, e, char, byte, max)
    local action = E.control(byte)
    if byte == 27 then
        local all = sequence(d)
        action = E.key(all:sub(2))
        if not action and d.escape then
            d.zb = all
            return true
        end
        action = action or function() end
    elseif not action and d.terminators[byte] then
        d.zb = string.char(byte)
        return true
    elseif byte == 127 or byte == 8 then
        if not E.erase(e) and e.empty and d.empterm then
            d.zb = string.char(byte)
            return true
        end
        return false
    end
    if action then
        action(e, max)
    else
        E.type(e, d.convert and upper(char) or char)
    end
    return false
end

local function edited(d, e, max, deadline)
    local ended = false
    while not ended and #e.chars < max do
        local char, byte = next_character(d, deadline)
        if not char then
            return byte and "eof" or "timeout"
        elseif d.ctrap and d.ctrap[byte] then
            return B.fail(d, "CTRAP", tostring(byte))
        elseif byte == 3 then
            interrupted(d)
            e.chars, e.at, e.column, e.from = {}, 0, d.x, d.x
        else
            e.empty = #e.chars == 0
            ended = edit_key(d, e, char, byte, max)
        end
        B.flush(d)
    end
    return "ended"
end

-- The same with EDITING.
local function edited_line(d, max, deadline)
    d.zb, d.za, d.status = "", 0, "0"
    local e = E.new(d)
    B.put(d, E.begins)
    B.flush(d)
    local ok, why = pcall(edited, d, e, max, deadline)
    E.finish(e)
    B.put(d, E.ends)
    B.flush(d)
    if not ok then
        error(why, 0)
    end
    return E.text(e), why
end

-- Runs a READ with the terminal in raw mode, and puts it back whatever happens.
local function in_raw(d, read, ...)
    B.flush(d)
    T.resume(d)
    local ok, a, b = pcall(read, d, ...)
    T.pause()
    if not ok then
        error(a, 0)
    end
    return a, b
end

local function hung_up(d)
    local again = d.zeof == 1
    d.zeof, d.za, d.status = 1, 9, "1,Device detected EOF"
    if again or d.exception then
        return B.fail(d, "IOEOF")
    end
end

function T.read(d, max, deadline)
    local read = edits(d) and edited_line or line
    local text, why = in_raw(d, read, math.min(max or READ_MAX, READ_MAX), deadline)
    d.key = d.zb
    if why == "eof" and text == "" then
        hung_up(d)
        return "", true
    end
    return text, why ~= "timeout"
end

local function one(d, deadline)
    d.zb, d.za, d.status = "", 0, "0"
    local char, code = next_character(d, deadline)
    if not char then
        return -1, code
    elseif d.ctrap and d.ctrap[code] then
        return B.fail(d, "CTRAP", tostring(code))
    elseif code == 3 and not d.pasthru then
        interrupted(d)
        return one(d, deadline)
    elseif code == 27 and d.escape then
        d.zb = sequence(d)
    elseif d.terminators[code] then
        d.zb = char
    else
        shown(d, char)
        d.recalled = edits(d) and char or d.recalled
    end
    return code, true
end

function T.read_char(d, deadline)
    local code, ok = in_raw(d, one, deadline)
    if d.zb ~= "" then
        d.key = d.zb
    end
    if code == -1 and ok then
        hung_up(d)
    end
    return code, ok
end

function T.complete(d)
    B.flush(d)
end

local known

function T.known()
    known = known or require("mumps.io.params").of("TT", T.params)
    return known
end

function T.describe(d)
    local t = { "OPEN TERMINAL" }
    local function add(condition, text)
        if condition then
            t[#t + 1] = text
        end
    end
    add(true, d.pasthru and "PAST" or "NOPAST")
    add(true, d.escape and "ESCA" or "NOESCA")
    add(true, d.readsync and "READS" or "NOREADS")
    add(true, d.notype and "NOTYPE" or "TYPE")
    add(not d.echo, "NOECHO")
    add(d.editing, "EDIT")
    add(d.overstrike, "NOINSE")
    add(not d.wrap, "NOWRAP")
    add(true, "WIDTH=" .. d.width)
    add(true, "LENG=" .. d.length)
    add(d.filter, "FIL=" .. (d.filter_name or ""))
    add(d.empterm, "EMPTERM")
    add(d.exception, d.exception and "EXCE=" .. require("mumps.values.names").quote(d.exception))
    add(not d.nottsync, "TTSYNC")
    add(true, d.hostsync and "HOSTSYNC" or "NOHOSTSYNC")
    return table.concat(t, " ") .. " "
end

-- USE's parameters that only terminals have.
local function flag(name, on)
    return function(d) d[name] = on end
end

T.params = {
    ECHO = flag("echo", true), NOECHO = flag("echo", false), ESCAPE = flag("escape", true),
    NOESCAPE = flag("escape", false), CONVERT = flag("convert", true), NOCONVERT = flag("convert", false),
    PASTHRU = flag("pasthru", true), NOPASTHRU = flag("pasthru", false), EDITING = flag("editing", true),
    NOEDITING = flag("editing", false), EMPTERM = flag("empterm", true), NOEMPTERM = flag("empterm", false),
    INSERT = flag("overstrike", false), NOINSERT = flag("overstrike", true),
        OVERSTRIKE = flag("overstrike", true),
    TYPEAHEAD = flag("notype", false), NOTYPEAHEAD = flag("notype", true), CANONICAL = flag("canonical",
        true),
    TTSYNC = flag("nottsync", false), NOTTSYNC = flag("nottsync", true),
    CENABLE = flag("deaf", false), NOCENABLE = flag("deaf", true), -- to Ctrl-C
    HOSTSYNC = flag("hostsync", true), NOHOSTSYNC = flag("hostsync", false),
    READSYNC = flag("readsync", true), NOREADSYNC = flag("readsync", false),
}

function T.params.TERMINATOR(d, value)
    if value == "" then
        d.terminators = DEFAULT_TERMINATORS
        return
    end
    d.terminators = {}
    for i = 1, #value do -- in UTF-8 mode those of ASCII count
        d.terminators[value:byte(i)] = not B.utf8 or value:byte(i) < 128 or nil
    end
end

function T.params.CTRAP(d, value)
    d.ctrap = value ~= "" and {} or nil
    for i = 1, #value do
        d.ctrap[value:byte(i)] = value:byte(i) < 32 or nil
    end
end

function T.params.NOTERMINATOR(d)
    d.terminators = {}
end

function T.params.FILTER(d, value)
    local word = value:upper()
    if ("CHARACTERS"):sub(1, #word) == word then
        d.filter, d.filter_name = filtered, "CHARACTERS"
    elseif ("ESCAPES"):sub(1, #word) == word then
        d.filter, d.filter_name = without_escapes, "ESCAPES"
    else
        return B.fail(d, "TTINVFILTER")
    end
end

function T.params.NOFILTER(d)
    d.filter = nil
end

function T.params.FLUSH(d)
    d.ip, d.ie = 0, 0
    C.caret_mumps__io_tty_flush(d.fd)
end

local function send(text)
    return function(d) B.put(d, text) end
end

T.params.CLEARSCREEN, T.params.ERASELINE = send "\27[J", send "\27[K"


local function position(d)
    B.put(d, ("\27[%d;%dH"):format(d.y + 1, d.x + 1))
end

function T.params.UPSCROLL(d)
    B.down(d)
    position(d)
end

function T.params.DOWNSCROLL(d)
    d.y = math.max(d.y - 1, 0)
    position(d)
end

function T.params.X(d, value)
    d.x = math.max(value, 0)
    position(d)
end

function T.params.Y(d, value)
    d.y = math.max(value, 0)
    position(d)
end

return T
