-- base.lua - what all devices share: the list of open devices, buffers of bytes, errors of devices.
--
-- A device is a table:
--
--     name kind      as OPEN named it; "RM" files and the like, "TT" terminal, "SO" sockets, "NL" null
--     class          its functions: write newline formfeed read use close show ...
--     fd ofd         descriptors to read and to write; -1: none
--     buf n          bytes written but not yet handed to the system
--     x y width length wrap      the virtual cursor and page
--     limit          WRITE may put bytes into buf without asking while x stays within it; -1: always ask
--     eager flushes moment       of what somebody looks at: how often it was flushed since that moment
--     za zb key zeof status      $ZA $ZB $KEY $ZEOF $DEVICE
--     exception      text of EXCEPTION=, or nil
--     input          where READ reads: another device if $PRINCIPAL's two sides differ, or nil
local ffi = require "ffi"
local C = require "mumps.host"

local open_file, read_bytes, write_bytes = C.caret_mumps__io_open, C.caret_mumps__io_read,
    C.caret_mumps__io_write
local wait_for, ticks = C.caret_mumps__io_wait, C.caret_mumps__io_ticks

local M = { devices = {}, CAP = 65536, INCAP = 65536, WOKEN = -4 }

local one_fd, one_what, done = ffi.new("int[1]"), ffi.new("int[1]"), ffi.new("size_t[1]")
local bytes_type = ffi.typeof("char *")

-- Room for bytes that is not touched before it is used.
local function bytes(n)
    local memory = C.malloc(n)
    if memory == nil then error("not enough memory", 0) end
    return ffi.gc(ffi.cast(bytes_type, memory), C.free)
end

function M.strerror(number)
    return ffi.string(C.caret_mumps__io_strerror(number))
end

-- Raises an M error on behalf of a device: its EXCEPTION, if there is one, is the handler.
function M.fail(d, mnemonic, ...)
    local errors = require "mumps.runtime.error"
    errors.device_exception = d and d.exception or nil
    return errors.fail(mnemonic, ...)
end

-- The system's error `number` (positive), which leaves the device's status as it is.
function M.fail_errno_of(d, number)
    local errors = require "mumps.runtime.error"
    errors.device_exception = d and d.exception or nil
    return errors.fail_errno(number, M.strerror(number))
end

-- The same, remembered as the device's status.
function M.fail_errno(d, number)
    if d then
        d.za, d.status = 9, "1," .. M.strerror(number)
    end
    return M.fail_errno_of(d, number)
end

local ends = ffi.new "int[2]"

-- The ends of a new pipe: the one to read from, the one to write to. It fails on behalf of d, or of nil.
function M.pipe(d)
    ends[0] = -1 -- mumps.host says why
    local rc = C.caret_mumps__io_pipe(ends)
    if rc < 0 then return M.fail_errno(d, -rc) end
    return ends[0], ends[1]
end

-- An error of M's with another, `tail`, after it.
function M.fail_tail(d, tail, mnemonic, ...)
    local errors = require "mumps.runtime.error"
    errors.device_exception = d and d.exception or nil
    return errors.fail_with("," .. tail, mnemonic, ...)
end

-- A device with what all have.
function M.new(name, kind, class)
    local d = { name = name, kind = kind, class = class, fd = -1, ofd = -1, n = 0, x = 0, y = 0,
        width = 32767,
        length = 66, wrap = true, limit = -1, za = 0, zb = "", key = "", zeof = 0, status = "", ip = 0,
            ie = 0,
        flushes = 0, moment = 0 }
    d.buf = bytes(M.CAP)
    return d
end

local function wide() return require "mumps.io.wide" end

-- Hands a text to the system.
function M.hand(d, text)
    local rc = write_bytes(d.ofd, text, #text, d.patience or -1, done)
    if rc < 0 then
        return d.class.broken(d, -rc)
    end
end

-- Hands everything that was written to the system.
function M.flush(d)
    local n = d.n
    if n == 0 then
        return
    end
    d.n = 0
    if d.collect then
        return d:collect(ffi.string(d.buf, n))
    elseif d.ofd < 0 then
        return
    end
    if d.wide_out then
        return M.hand(d, wide().encode(d, ffi.string(d.buf, n)))
    end
    local rc = write_bytes(d.ofd, d.buf, n, d.patience or -1, done)
    if rc < 0 then
        return d.class.broken(d, -rc)
    end
end

-- Appends text to the buffer, whatever its length.
function M.put(d, text)
    local len = #text
    if d.n + len > M.CAP then
        M.flush(d)
    end
    if len > M.CAP then
        if d.collect then
            return d:collect(text)
        end
        return M.hand(d, d.wide_out and wide().encode(d, text) or text)
    end
    ffi.copy(d.buf + d.n, text, len)
    d.n = d.n + len
end

-- A time limit in seconds as an end on the clock: nil for none.
function M.deadline(timeout)
    if timeout == nil then
        return nil
    end
    local number = require "mumps.values.number"
    local seconds = tonumber(number.num(timeout))
    return ticks() + math.min(math.max(seconds, 0), 2147483) * 1000
end

-- A wait was ended: what asked for that is done now. Meanwhile a terminal that reads is as it was before.
function M.heed()
    local d = M.raw
    if d then
        d.class.pause(d)
    end
    require("mumps.runtime.interrupt").heed()
    if d then
        d.class.resume(d)
    end
end

-- Milliseconds until a time, -1 for none.
local function left_until(deadline)
    return deadline and math.max(deadline - ticks(), 0) or -1
end

M.left_until = left_until

-- Waits until fd can be read (what 1) or written (2): false if the deadline came first.
function M.wait(fd, what, deadline)
    while true do
        one_fd[0], one_what[0] = fd, what
        local ready = wait_for(one_fd, one_what, 1, left_until(deadline))
        if ready ~= M.WOKEN then
            return ready > 0
        end
        M.heed()
    end
end

-- Waits for a time.
function M.sleep_until(deadline)
    while wait_for(nil, nil, 0, left_until(deadline)) == M.WOKEN do
        M.heed()
    end
end

local GROWS = 20 -- milliseconds between two looks at a file that FOLLOW reads

-- Reads what there is into the input buffer: the number of bytes, 0 at the end, nil at the deadline.
function M.fill(d, deadline)
    if not d.ibuf then
        d.ibuf = bytes(M.INCAP)
    end
    while true do
        if d.fd >= 0 and not d.regular and not M.wait(d.fd, 1, deadline) then
            return nil
        end
        local got = tonumber(read_bytes(d.fd, d.ibuf, d.wide_in and M.INCAP / 2 or M.INCAP))
        if got == 0 and d.follow and d.regular then
            if deadline and ticks() >= deadline then
                return nil
            end
            M.sleep_until(ticks() + GROWS)
        elseif got >= 0 and d.wide_in then
            got = wide().decode(d, got)
            if got then
                return got
            end
        elseif got >= 0 then
            d.ip, d.ie = 0, got
            return got
        elseif got ~= -11 then
            return M.fail_errno(d, -got)
        end
    end
end

-- One line more on the virtual page.
function M.down(d)
    local y = d.y + 1
    if d.length > 0 and y >= d.length then
        y = y % d.length
    end
    d.y = y
end

function M.open_file(path, how)
    return open_file(path, how)
end

-- The text of a path as open(2) wants it: fails for a byte 0.
function M.path(d, text)
    if text:find("\0", 1, true) then
        return M.fail_errno(d, 2)
    end
    return text
end

return M
