-- pipe.lua - PIPE devices: a shell command whose input and output are a device.
local ffi = require "ffi"
local C = require "mumps.host"
local B = require "mumps.io.base"
local P = require "mumps.io.params"
local R = require "mumps.io.record"

local I = { status = 0 } -- status: $ZCLOSE

local fds = ffi.new "int[3]"

local function env(name)
    local text = C.caret_mumps__io_env(name)
    return text ~= nil and ffi.string(text) or nil
end

-- Is there such a program?  By the PATH, as a shell looks; or one of $ydb_dist.
local function found(word)
    if word:find("/", 1, true) then
        return C.caret_mumps__io_is_program(word) == 1
    end
    for folder in ((env "PATH" or "") .. ":" .. (env "ydb_dist" or "")):gmatch "[^:]+" do
        if C.caret_mumps__io_is_program(folder .. "/" .. word) == 1 then
            return true
        end
    end
    return false
end

-- PARSE: the first word of each part of the pipeline must be a program. cd is none, but right; the one of
-- nohup is the word after it. No quotes or parentheses are understood.
local function check(d, command)
    for part in command:gmatch "[^|]+" do
        local next_word = part:gmatch "[^ &;>]+"
        local word = next_word()
        word = word == "nohup" and next_word() or word
        if word and word ~= "cd" and not found(word) then
            return B.fail_tail(d, "%YDB-I-TEXT, Invalid command string: " .. word, "DEVOPENFAIL", d.name)
        end
    end
end

local function words(...)
    local text = table.concat({ ... }, "\0") .. "\0"
    local room = ffi.new("char[?]", #text + 1)
    ffi.copy(room, text, #text)
    return room, #text
end

-- Starts argv with these as 0, 1 and 2: its process.
function I.spawn(argv, into, out, err, session)
    fds[0], fds[1], fds[2] = into, out, err
    local room, n = words(unpack(argv))
    return C.caret_mumps__io_spawn(room, n, fds, 3, session and 1 or 0)
end

local function stderr_device(d, name, fd)
    local e = B.new(name, "RM", R)
    e.fd, e.pipe, e.readonly, e.stderr_of = fd, true, true, d
    R.set_limit(e)
    B.devices[name] = e
    d.stderr, d.stderr_name = e, name
end

-- The three pipes as the parameters want them: the child's ends, and ours in d.
local function connect(d, named)
    local theirs = { C.caret_mumps__io_open("/dev/null", 1), -1, -1 }
    if not named.READONLY then
        C.caret_mumps__io_close(theirs[1])
        theirs[1], d.ofd = B.pipe(d)
        C.caret_mumps__io_nonblock(d.ofd, 1)
    end
    if not named.WRITEONLY then
        d.fd, theirs[2] = B.pipe(d)
    end
    if named.STDERR then
        local mine, other = B.pipe(d)
        stderr_device(d, named.STDERR, mine)
        theirs[3] = other
    end
    return theirs
end

function I.open(name, params)
    local named = P.named(params)
    local d = B.new(name, "RM", I.class)
    P.exception(d, named)
    if not named.COMMAND or named.COMMAND == "" then
        local what = named.COMMAND and "Command string has no value" or "Missing command string"
        return B.fail_tail(d, "%YDB-I-TEXT, " .. what, "DEVOPENFAIL", name)
    end
    d.pipe, d.command, d.shell, d.patience = true, named.COMMAND, named.SHELL, 1000
    d.readonly, d.writeonly, d.independent = named.READONLY, named.WRITEONLY, named.INDEPENDENT
    d.parsed = named.PARSE
    if named.PARSE then
        check(d, d.command)
    end
    local shell = named.SHELL or env "SHELL" or "/bin/sh"
    local theirs = connect(d, named)
    local pid = I.spawn({ shell, "-c", d.command }, theirs[1], theirs[2], named.STDERR and theirs[3]
        or theirs[2])
    for _, fd in ipairs(theirs) do
        if fd >= 0 then
            C.caret_mumps__io_close(fd)
        end
    end
    if pid < 0 then
        require("mumps.io.file").shut(d)
        return B.fail_errno(d, -pid)
    end
    d.pid, d.key = pid, tostring(pid)
    P.apply(d, params)
    return d
end

local class = setmetatable({}, { __index = R })

-- How the program ended, as $ZCLOSE says it; it has so many seconds for that.
local function outcome(pid, seconds)
    local last = B.deadline(seconds)
    while true do
        local status = C.caret_mumps__io_reap(pid, 0)
        if status >= 256 then
            return 256 - status
        elseif status >= 0 then
            return status
        elseif status == -2 then
            return -98
        elseif C.caret_mumps__io_ticks() >= last then
            return -99
        end
        B.sleep_until(C.caret_mumps__io_ticks() + 2)
    end
end

local function patience_of(params)
    return require("mumps.values.number").int(P.named(params).TIMEOUT or 2)
end

function class.close_check(d, params)
    if patience_of(params) <= 0 then return B.fail(d, "DEVPARMTOOSMALL") end
    P.apply(d, params)
end

function class.close(d, params)
    local patience = patience_of(params)
    local ok, e = pcall(R.complete, d)
    require("mumps.io.file").shut(d)
    if d.stderr then
        require("mumps.io.device").close(d.stderr.name)
    end
    if not d.independent then
        I.status = outcome(d.pid, patience)
    end
    if not ok then
        error(e, 0)
    end
end

I.class = class
return I
