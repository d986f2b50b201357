-- job.lua - JOB: a process of its own that begins at a label.
--
-- The child is this program again, with -job.  It reads its task from descriptor 3 (where to begin, the
-- arguments, files and folder) and answers on 4, in a line: "+" if it is about to begin, or why it can't.
-- Until then, or until the timeout, the parent waits; a child that ends without an answer has failed.
--
-- The task is a row of texts, each as its length, a colon and its bytes; the row is such a text itself.  So
-- neither side waits for the end of a pipe, which comes late if another process has got a copy of it: one
-- that a thread of the host has forked meanwhile.
local ffi = require "ffi"
local C = require "mumps.host"
local B = require "mumps.io.base"

local J = { last = 0 } -- last: $ZJOB

local TASK, ANSWER = 3, 4

local function str(v)
    return require("mumps.values.number").str(v)
end

-- Texts in one, and back.
function J.pack(list)
    local out = {}
    for i, text in ipairs(list) do
        out[i] = #text .. ":" .. text
    end
    return table.concat(out)
end

function J.unpack(text)
    local list, at = {}, 1
    while at <= #text do
        local from, to, len = text:find("^(%d+):", at)
        if not from then
            break
        end
        list[#list + 1] = text:sub(to + 1, to + len)
        at = to + len + 1
    end
    return list
end

-- Parameters: whether they need a value, and the name that messages use.
local PARAMS = {
    CMDLINE = "COMMAND LINE", DEFAULT = "DEFAULT", ERROR = "ERROR", GBLDIR = "GLOBAL DIRECTORY",
        INPUT = "INPUT",
    OUTPUT = "OUTPUT", STARTUP = "STARTUP", PASSCURLVN = false, IMAGE = "IMAGE", LOGFILE = "LOGFILE",
    PRIORITY = "PRIORITY", PROCESS_NAME = "PROCESS_NAME", SCHEDULE = "SCHEDULE", NODETACHED = false,
        DETACHED = false,
}

local function full(name)
    if PARAMS[name] ~= nil then
        return name
    end
    for word in pairs(PARAMS) do
        if word:sub(1, #name) == name then
            return word
        end
    end
    return B.fail(nil, "JOBPARUNK")
end

local function named(params)
    local p = {}
    for _, pair in ipairs(params or {}) do
        local name = full(pair[1])
        if PARAMS[name] and pair[2] == nil then
            return B.fail(nil, "JOBPARVALREQ")
        end
        p[name] = pair[2] == nil or str(pair[2])
        if type(p[name]) == "string" and #p[name] > 255 and name ~= "CMDLINE" then
            return B.fail(nil, "JOBPARTOOLONG")
        end
    end
    return p
end

local function file_of(routine, ending)
    return routine:gsub("^%%", "_") .. ending
end

-- VIEW "JOBPID": the new process puts its number after names that end so.
local NUMBERED = "\1"

local function numbered(name)
    return require("mumps.runtime.view").state.JOBPID ~= 0 and name .. NUMBERED or name
end

local function named_by(pid, name)
    return (name:gsub(NUMBERED .. "$", "." .. pid))
end

local function task(label, offset, routine, args, p)
    local list = { label or "", tostring(offset or 0), routine, p.DEFAULT or "", p.INPUT or "/dev/null",
        numbered(p.OUTPUT or file_of(routine, ".mjo")), numbered(p.ERROR or file_of(routine, ".mje")),
        p.CMDLINE or "",
            p.GBLDIR or "",
        p.PASSCURLVN and J.locals() or "", p.STARTUP or "", args and args.n > 0 and tostring(args.n) or "-" }
    for i = 1, args and (args.n or #args) or 0 do
        list[#list + 1] = args[i] ~= nil and "=" .. str(args[i]) or "-"
    end
    return J.pack { J.pack(list) }
end

local fds = ffi.new "int[5]"

local function program()
    local host = package.loaded["mumps.host"]
    return host and rawget(host, "program") or "/proc/self/exe"
end

-- The descriptor of "SOCKET:handle", a socket of the pool; -1 for a file.
local function pooled(path)
    local handle = path and path:match "^SOCKET:(.*)$"
    if not handle then
        return -1
    end
    local s = require("mumps.io.sockets").pool[handle]
    return s and s.fd or B.fail(nil, "SOCKNOTFND", handle)
end

-- Sockets that were handed to the child are no longer here.
local function given(p)
    local sockets = require "mumps.io.sockets"
    for _, name in ipairs { "INPUT", "OUTPUT", "ERROR" } do
        local s = sockets.pool[(p[name] or ""):match "^SOCKET:(.*)$" or ""]
        if s then
            sockets.pool[s.handle] = nil
            sockets.close(s)
        end
    end
end

local function spawn(p, into, out)
    local text = program() .. "\0-job\0"
    local room = ffi.new("char[?]", #text + 1)
    ffi.copy(room, text, #text)
    fds[0], fds[1], fds[2] = pooled(p.INPUT), pooled(p.OUTPUT), pooled(p.ERROR)
    fds[TASK], fds[ANSWER] = into, out
    return C.caret_mumps__io_spawn(room, #text, fds, 5, 1)
end

local done, room = ffi.new "size_t[1]", ffi.new "char[4096]"

-- The line that the child answers, "" if it is gone, or nil at the deadline.
local function hear(fd, deadline)
    local said = ""
    while true do
        if not B.wait(fd, 1, deadline) then
            return nil
        end
        local n = tonumber(C.caret_mumps__io_read(fd, room, 4096))
        if n <= 0 then
            return ""
        end
        said = said .. ffi.string(room, n)
        if said:sub(-1) == "\n" then
            return said:sub(1, -2)
        end
    end
end

local function close(...)
    for _, fd in ipairs { ... } do
        C.caret_mumps__io_close(fd)
    end
end

local STARTING = 10 -- seconds: the new process is waited for so long at least, whatever the timeout

local function begin(text, p, deadline)
    local task_out, task_in = B.pipe()
    local answer_out, answer_in = B.pipe()
    local pid = spawn(p, task_out, answer_in)
    close(task_out, answer_in)
    if pid < 0 then
        close(task_in, answer_out)
        return B.fail_tail(nil, "%YDB-I-TEXT, Job error - fork error," .. B.strerror(-pid), "JOBFAIL")
    end
    C.caret_mumps__io_write(task_in, text, #text, -1, done)
    close(task_in)
    local said = hear(answer_out, deadline)
    close(answer_out)
    return pid, said
end

local function check_file(p, name)
    local path = p[name]
    if not path or path:find "^SOCKET:" then
        return
    end
    local fd = C.caret_mumps__io_open(path, 1)
    if fd < 0 then
        return B.fail(nil, "PARFILSPC", name, path)
    end
    C.caret_mumps__io_close(fd)
end

local GONE = "%YDB-I-TEXT, Job error - the process ended before it began"

-- JOB label+offset^routine(args):params:timeout.  True or false if there is a timeout.
function J.job(label, offset, routine, args, params, timeout)
    local p = named(params)
    local system = require "mumps.io.system"
    require("mumps.io.device").flush()
    system.reap_jobs()
    if not p.DEFAULT then
        check_file(p, "INPUT")
    end
    check_file(p, "STARTUP")
    local text = task(label, offset, str(routine), args, p)
    local pid, said = begin(text, p, B.deadline(timeout and math.max(timeout, STARTING)))
    system.add_job(pid)
    if said and said ~= "+" then
        return B.fail_tail(nil, said ~= "" and said or GONE, "JOBFAIL")
    end
    J.last = pid
    given(p)
    if timeout == nil then
        return nil
    end
    return said ~= nil
end

-- All local variables as the lines of ZWRITE, for PASSCURLVN.
function J.locals()
    return table.concat(require("mumps.data.zwrite").lines(), "\n")
end

-- The child's side
-- -----------------------------------------------------------------------------------------------

local function answer(text)
    C.caret_mumps__io_write(ANSWER, text .. "\n", #text + 1, -1, done)
    C.caret_mumps__io_close(ANSWER)
end

local function complain(text, number)
    local why = number and (",%%SYSTEM-E-ENO%d, %s"):format(number, B.strerror(number)) or ""
    answer(("%%YDB-I-TEXT, %s%s"):format(text, why))
    os.exit(1)
end

local function redirect(path, how, to, what)
    if path:find "^SOCKET:" then
        return -- it is there already
    end
    local fd = C.caret_mumps__io_open(path, how)
    if fd < 0 then
        return complain(("Job error - error opening %s file"):format(what), -fd)
    end
    C.caret_mumps__io_become(fd, to)
    C.caret_mumps__io_close(fd)
end

-- Reads until there is as much as the beginning says; less if the parent has died.
local function whole_task()
    local text = ""
    local len, from
    repeat
        local n = tonumber(C.caret_mumps__io_read(TASK, room, 4096))
        text = text .. ffi.string(room, math.max(n, 0))
        len, from = text:match "^(%d+):()"
    until n <= 0 or len and #text - from + 1 >= tonumber(len)
    C.caret_mumps__io_close(TASK)
    return J.unpack(text:sub(from or 1))
end

local READ, WRITE_NEW = 1, 2 + 4 + 8
local NO_LINE = "Label and offset not found in created process"

-- Is there such a line?
local function is_entry(label, offset, routine)
    local routines = require "mumps.runtime.routine"
    local ok, found = pcall(routines.get, routine)
    if not ok or not found then
        return false
    end
    local line = label == "" and 0 or routines.label_line(routine, label)
    return line and (label == "" and offset == 0 or routines.raw(found, line + offset) ~= nil)
end

local function check_entry(label, offset, routine)
    if not is_entry(label, offset, routine) then
        io.stderr:write("%YDB-E-JOBLABOFF, ", NO_LINE, "\n")
        return complain("Job error in routine specification. " .. NO_LINE)
    end
end

-- STARTUP: a script that runs first.
local function start_up(script)
    if script ~= "" and require("mumps.io.system").shell(script) ~= 0 then
        io.stderr:write("%YDB-E-JOBSTARTCMDFAIL, ", require("mumps.host.errors").text "JOBSTARTCMDFAIL", "\n")
        os.exit(1)
    end
end

local function arguments(list)
    if list[12] == "-" then
        return nil
    end
    local args = { n = tonumber(list[12]) }
    for i = 1, args.n do
        local text = list[12 + i]
        args[i] = text:sub(1, 1) == "=" and text:sub(2) or nil
    end
    return args
end

-- Sets the variable of a line as ZWRITE writes it: name(subscripts)=value.
local function set_local(line)
    local at, quoted = 1, false
    while quoted or line:sub(at, at) ~= "=" do
        quoted = quoted ~= (line:sub(at, at) == '"')
        at = at + 1
        if at > #line then
            return -- an alias: it stays with the parent
        end
    end
    local names, R = require "mumps.values.names", require "mumps.data.ref"
    local name = names.parse(line:sub(1, at - 1))
    local slot = require("mumps.runtime.symbols").table[name.name]
    R.set(R.local_(slot, name.n, unpack(name, 1, name.n)), names.unquote(line:sub(at + 1)))
end

local function set_locals(text)
    for line in text:gmatch "[^\n]+" do
        set_local(line)
    end
end

-- For -job: what to run, with the standard files and the folder as the parent wanted them.
function J.main()
    local list = whole_task()
    if list[4] ~= "" then
        local rc = C.caret_mumps__io_chdir(list[4])
        if rc < 0 then
            return complain("Job error - CHDIR error", -rc)
        end
    end
    redirect(list[5], READ, 0, "input")
    local pid = C.caret_mumps__io_pid()
    redirect(named_by(pid, list[6]), WRITE_NEW, 1, "output")
    redirect(named_by(pid, list[7]), WRITE_NEW, 2, "error")
    require("mumps.io.device").start()
    check_entry(list[1], tonumber(list[2]), list[3])
    answer "+"
    start_up(list[11])
    local special = require "mumps.runtime.special"
    special.put("ZCMDLINE", list[8])
    if list[9] ~= "" then
        special.set("ZGBLDIR", list[9])
    end
    set_locals(list[10])
    local args = arguments(list)
    return { label = list[1] ~= "" and list[1] or nil, offset = tonumber(list[2]), routine = list[3],
        args = args, n = args and args.n }
end

return J
