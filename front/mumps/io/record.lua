-- record.lua - devices that are streams of records: files, pipes, FIFOs, /dev/null, and $PRINCIPAL when it
-- is one.
--
-- Formats: variable (the default) and stream differ where a line is longer than WIDTH and does not wrap:
-- variable drops the rest, stream writes it.  Fixed has records of WIDTH bytes without line ends, filled
-- with PAD. A file has one position: after a READ the bytes read ahead are given back before a WRITE.
local ffi = require "ffi"
local C = require "mumps.host"
local B = require "mumps.io.base"

ffi.cdef 'char *caret_mumps__find(const char *, int, size_t) __asm__("memchr");'
local find_byte = ffi.C.caret_mumps__find
local seek = C.caret_mumps__io_seek

local R = {}

-- How far WRITE may go without asking.
function R.set_limit(d)
    if d.ofd < 0 and not d.discard or d.readonly or d.reading then
        d.limit = -1
    elseif d.stream and not d.wrap then
        d.limit = math.huge
    else
        d.limit = d.width
    end
end

-- The write that a full or a closed pipe refuses.
function R.broken(d, number)
    d.n = 0
    if d.principal then
        require("mumps.io.principal").lost(d, number)
    end
    return B.fail_errno(d, number)
end

-- Gives back what was read ahead, so that the position is where READ left off.
function R.settle(d)
    if d.regular and d.ie > d.ip then
        seek(d.fd, d.wide_in and -require("mumps.io.wide").unread(d) or d.ip - d.ie, 1)
    end
    if d.regular then
        d.ip, d.ie = 0, 0
    end
end

-- Before the first WRITE after a READ.
local function prepare(d)
    if d.readonly or d.ofd < 0 and not d.discard then
        d.status = "0"
        return B.fail(d, "DEVICEREADONLY")
    end
    if d.reading then
        R.settle(d)
        d.reading = false
    end
    if not d.collect then -- it writes elsewhere than it reads: the end stays
        d.zeof = 0
    end
    if d.regular then
        d.za, d.status = 0, "0"
    end
    R.set_limit(d)
end

local function spaces(d, n, byte)
    B.put(d, (byte or " "):rep(n))
end

-- The part of a text from that byte on that takes at most so many columns.
local function part_of(d, text, at, room)
    if B.utf8 and d.ochset ~= "M" and not d.fixed then
        return require("mumps.values.utf8").within(text, at, room)
    end
    return text:sub(at, at + room - 1)
end

-- Text that goes past WIDTH, with line ends or records in between.
function R.wrapped(d, text)
    local at, len = 1, #text
    while at <= len do
        if d.x >= d.width then
            d.class.newline(d)
        end
        local part = part_of(d, text, at, d.width - d.x)
        if part == "" then -- a wide character that no line has room for
            part = d.x == 0 and part_of(d, text, at, 2) or ""
            d.x = d.width
        end
        B.put(d, part)
        d.x, at = d.x + B.columns(part, d), at + #part
    end
end

function R.write(d, text)
    if d.limit < 0 then
        prepare(d)
    end
    d.wrote = true
    local x = d.x + B.columns(text, d)
    if x <= d.limit then
        B.put(d, text)
        d.x = x
    elseif d.wrap then
        R.wrapped(d, text)
    elseif d.x < d.width then
        B.put(d, part_of(d, text, 1, d.width - d.x))
        d.x = d.width
    end
end

function R.newline(d)
    if d.limit < 0 then
        prepare(d)
    end
    d.wrote = true
    if d.fixed then
        spaces(d, math.max(d.width - d.x, 0), d.pad)
    else
        B.put(d, "\n")
    end
    d.x = 0
    B.down(d)
end

function R.formfeed(d)
    if d.limit < 0 then
        prepare(d)
    end
    d.wrote = true
    if d.fixed then
        spaces(d, d.x > 0 and math.max(d.width - d.x, 0) or 0, d.pad)
        B.put(d, "\f")
        spaces(d, d.width - 1, d.pad)
    else
        if d.x > 0 then
            B.put(d, "\n")
        end
        B.put(d, (d.nofflf or d.principal) and "\f" or "\f\n")
    end
    d.x, d.y = 0, 0
end

-- What the buffer has of the record, at most n bytes: the text, and whether its end was found.
local function piece(d, n)
    local from = d.ibuf + d.ip
    local lf = find_byte(from, 10, d.fixed and 0 or n)
    if lf == nil then
        d.ip = d.ip + n
        return ffi.string(from, n), n, false
    end
    n = lf - from
    d.ip = d.ip + n + 1
    return ffi.string(from, n), n, true
end

local function by_characters(d)
    return B.utf8 and d.ichset ~= "M"
end

-- What ends a line in UTF-8 mode; CR and LF together are one end.
local ENDS = { ["\n"] = true, ["\f"] = true, ["\r"] = true, ["\194\133"] = true, ["\226\128\168"] = true,
    ["\226\128\169"] = true }

local function has_end(text)
    return text:find "[\f\r]" or text:find("\194\133", 1, true) or text:find "\226\128[\168\169]"
end

local function lf_follows(d, deadline)
    if d.ip == d.ie and d.regular then
        B.fill(d, deadline)
    end
    return d.ip < d.ie and d.ibuf[d.ip] == 10
end

-- The next record, or the first `want` bytes of it: text, and why it ended: "lf", "count", "eof", "timeout".
local function take(d, want, deadline)
    local text = ""
    while true do
        local left = d.ie - d.ip
        if left == 0 then
            left = B.fill(d, deadline)
            if not left or left == 0 then
                return text, left and "eof" or "timeout"
            end
        end
        local part, n, ended = piece(d, math.min(left, want))
        text = text == "" and part or text .. part
        want = want - n
        if ended or want == 0 then
            return text, ended and "lf" or "count"
        end
    end
end

local function begin_read(d)
    if d.fd < 0 or d.writeonly then
        return B.fail(d, "DEVICEWRITEONLY")
    end
    if d.wrote and d.x > 0 and not d.pipe and not d.principal and not d.readonly then
        R.newline(d)
    end
    if d.wrote and d.regular and not d.principal then
        d.y = 0
    end
    d.wrote = d.principal
    if d.n > 0 then
        B.flush(d)
    end
    if d.reading ~= true then
        d.reading, d.limit = true, -1
    end
end

-- READ of a file counts lines without regard to LENGTH.
local function down(d)
    if d.principal then
        return B.down(d)
    end
    d.y = d.y + 1
end

-- The end of the file: told by $ZEOF once; an error the second time, or at once for those that have an
-- EXCEPTION. A process that reads standard input again after its end has nothing more to do: it halts.
local function at_end(d)
    local again = d.zeof == 1
    if again and d.principal then
        return require("mumps.runtime.indirect").halt()
    end
    d.zeof, d.za, d.zb, d.key, d.status = 1, 9, "", "", "1,Device detected EOF"
    d.x = 0
    down(d)
    if again or d.exception then
        return B.fail(d, "IOEOF")
    end
end

-- A READ of n columns has ended: at the end of its line, or as it has all that it wanted.
local function after(d, n, why, ended)
    d.za, d.status = 0, "0"
    ended = why == "lf" and (ended or "\n") or ""
    d.zb, d.key = ended, ended
    local x = d.x + n
    if why == "lf" then
        d.x = 0
        down(d)
    elseif x >= d.width and (d.wrap or d.fixed) then
        d.x = x - d.width
        B.down(d)
    else
        d.x = x
    end
end

-- The whole line that is in the buffer already, if there is one that is shorter than WIDTH: the
-- common case.
local function line_at_hand(d)
    local ip = d.ip
    local from = d.ibuf + ip
    local lf = find_byte(from, 10, d.ie - ip)
    if lf == nil then
        return nil
    end
    local n = lf - from
    if n >= d.width then
        return nil
    end
    local text = ffi.string(from, n)
    if by_characters(d) and has_end(text) then
        return nil
    end
    d.ip, d.x = ip + n + 1, 0
    d.zeof, d.za, d.status, d.zb, d.key = 0, 0, "0", "\n", "\n"
    down(d)
    return text
end

-- The next character of a device in UTF-8: its bytes, "" at the end, nil when the time is over.
local function character(d, deadline)
    local text, left = "", 1
    while left > 0 do
        if d.ie == d.ip then
            local got = B.fill(d, deadline)
            if got == nil or got == 0 then
                return got and text
            end
        end
        local b = d.ibuf[d.ip] % 256
        if text == "" then
            left = b >= 0xF0 and 3 or b >= 0xE0 and 2 or b >= 0xC0 and 1 or 0
        elseif b < 0x80 or b > 0xBF then
            return text -- the next character is here already
        else
            left = left - 1
        end
        text, d.ip = text .. string.char(b), d.ip + 1
        if left == 0 then break end
    end
    return text
end

local function take_byte(d, deadline)
    local text, why = take(d, 1, deadline)
    return why == "lf" and "\n" or why ~= "timeout" and text or nil
end

-- As take, by characters; and what ended the record.
local function take_characters(d, want, deadline)
    local parts = {}
    while want > 0 do
        local c = character(d, deadline)
        if not c or c == "" then
            return table.concat(parts), c and "eof" or "timeout"
        elseif not d.fixed and ENDS[c] then
            if c == "\r" and lf_follows(d, deadline) then
                c, d.ip = "\r\n", d.ip + 1
            end
            return table.concat(parts), "lf", c
        end
        parts[#parts + 1], want = c, want - 1
    end
    return table.concat(parts), "count"
end

local function checked(d, text)
    if by_characters(d) and text:find "[\128-\255]" then
        require("mumps.values.utf8").check(text)
    end
    return text
end

-- READ of at most max characters (nil: a record).
function R.read(d, max, deadline)
    if d.reading and d.ie > d.ip and not max and not d.fixed then
        local text = line_at_hand(d)
        if text then
            return checked(d, text), true
        end
    end
    begin_read(d)
    if d.zeof == 1 and d.regular then
        return at_end(d)
    end
    local room = d.width - d.x
    if not max and not d.fixed then
        room = d.width
    elseif room <= 0 then -- what does not wrap gives characters one by one
        room = (d.wrap or d.fixed) and d.width or 1
    end
    local want = max and math.min(max, room) or room
    local characters = by_characters(d) and (max or not d.fixed)
    local text, why, ended = (characters and take_characters or take)(d, want, deadline)
    if why == "eof" and text == "" then
        at_end(d)
        return "", true
    end
    d.zeof = 0
    if why == "timeout" then
        d.x = #text
        d.za, d.status, d.zb, d.key = 0, "0", "", ""
        return text, false
    end
    after(d, by_characters(d) and B.columns(text, d) or #text, why, ended)
    return checked(d, text), true
end

-- READ *x: the code of a character; -1 at the end and when the time is over.
function R.read_char(d, deadline)
    begin_read(d)
    if d.zeof == 1 and d.regular then
        return at_end(d)
    end
    local c = (by_characters(d) and character or take_byte)(d, deadline)
    if not c then
        return -1, false
    elseif c == "" then
        at_end(d)
        return -1, true
    end
    local code = #checked(d, c) == 1 and c:byte() or require("mumps.values.functions").ASCII(c)
    d.zeof, d.za, d.status, d.zb, d.key = 0, 0, "0", "", ""
    d.x = d.x + 1
    if not d.fixed and (c == "\n" or by_characters(d) and ENDS[c]) then
        local ended = c == "\r" and lf_follows(d, deadline) and "\r\n" or c
        d.x, d.zb, d.key = 0, ended, ended
        down(d)
    elseif d.x >= d.width and d.wrap and not d.principal then
        d.x = 0
        B.down(d)
    end
    return code, true
end

-- Completes the record, as CLOSE and WRITE /EOF do.
function R.complete(d)
    if d.wrote and d.x > 0 and not d.readonly and d.ofd >= 0 then
        R.newline(d)
    end
    if d.ofd >= 0 then
        B.flush(d)
    end
end

-- WRITE /EOF: the program at the other end sees the end; what is written later is dropped.
function R.control(d, name)
    if name == "EOF" and d.pipe and d.ofd >= 0 then
        R.complete(d)
        C.caret_mumps__io_close(d.ofd)
        d.ofd, d.discard, d.x = -1, true, 0
        R.set_limit(d)
    end
end

return R
