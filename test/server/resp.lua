-- A small RESP client for LuaJIT, over unix sockets.
--
--     local c = resp.connect(path)
--     c("SET", "a", "1") -> "OK";   c:raw("PING") -> "+PONG\r\n"
--
-- Replies: strings, numbers, resp.null, {error = "ERR ..."}, arrays; of RESP3 also {map = {...}},
-- {set = {...}}, {push = {...}}, booleans, {double = "1.5"}.

local ffi = require "ffi"
ffi.cdef [[
int socket(int, int, int); int connect(int, const void *, unsigned); int close(int);
long send(int, const void *, size_t, int); long recv(int, void *, size_t, int);
int poll(void *, unsigned long, int);
typedef struct { unsigned short family; char path[108]; } resp_address;
typedef struct { int fd; short events, revents; } resp_poll;
typedef struct { unsigned short family; unsigned char port[2], ip[4], zero[8]; } resp_tcp;
]]
local C = ffi.C

local resp = {null = setmetatable({}, {__tostring = function() return "null" end})}
local client = {}
client.__index = client

function resp.connect(path)
    local fd = C.socket(1, 1, 0)
    local address = ffi.new("resp_address", 1, path)
    if C.connect(fd, address, ffi.sizeof(address)) ~= 0 then
        C.close(fd)
        return nil, "can't connect to " .. path
    end
    return setmetatable({fd = fd, input = "", at = 1, buffer = ffi.new("char[65536]")}, client)
end

--- To a port of this machine.
function resp.tcp(port)
    local fd = C.socket(2, 1, 0)
    local address = ffi.new("resp_tcp", 2, {math.floor(port / 256), port % 256}, {127, 0, 0, 1})
    if C.connect(fd, address, ffi.sizeof(address)) ~= 0 then
        C.close(fd)
        return nil, "can't connect to port " .. port
    end
    return setmetatable({fd = fd, input = "", at = 1, buffer = ffi.new("char[65536]")}, client)
end

function client:close()
    if self.fd then C.close(self.fd) end
    self.fd = nil
end

-- Bytes as they are.
function client:send(bytes)
    local at = 0
    while at < #bytes do
        local n = C.send(self.fd, ffi.cast("const char *", bytes) + at, #bytes - at, 0x4000)
        if n <= 0 then return false end
        at = at + tonumber(n)
    end
    return true
end

-- More input, waited for a minute at most: the machine may be busy.  False: the connection was closed.
function client:more()
    local p = ffi.new("resp_poll", self.fd, 1, 0)
    if C.poll(p, 1, 60000) == 0 then error("no answer in a minute", 0) end
    local n = tonumber(C.recv(self.fd, self.buffer, 65536, 0))
    if n <= 0 then return false end
    self.input = self.input:sub(self.at) .. ffi.string(self.buffer, n)
    self.at = 1
    return true
end

local function closed() error("connection closed", 0) end

local function line(c)
    while true do
        local stop = c.input:find("\r\n", c.at, true)
        if stop then
            local text = c.input:sub(c.at, stop - 1)
            c.at = stop + 2
            return text
        end
        if not c:more() then closed() end
    end
end

local function bytes(c, n)
    while #c.input - c.at + 1 < n + 2 do
        if not c:more() then closed() end
    end
    local text = c.input:sub(c.at, c.at + n - 1)
    c.at = c.at + n + 2
    return text
end

local read

local function list(c, n)
    local t = {}
    for i = 1, n do t[i] = read(c) end
    return t
end

local readers = {
    ["+"] = function(_, text) return text end,
    ["-"] = function(_, text) return {error = text} end,
    [":"] = function(_, text) return tonumber(text) end,
    ["$"] = function(c, text) return text == "-1" and resp.null or bytes(c, tonumber(text)) end,
    ["*"] = function(c, text) return text == "-1" and resp.null or list(c, tonumber(text)) end,
    ["_"] = function() return resp.null end,
    ["#"] = function(_, text) return text == "t" end,
    [","] = function(_, text) return {double = text} end,
    ["("] = function(_, text) return {big = text} end,
    ["="] = function(c, text) return bytes(c, tonumber(text)):sub(5) end,
    ["%"] = function(c, text) return {map = list(c, 2 * tonumber(text))} end,
    ["~"] = function(c, text) return {set = list(c, tonumber(text))} end,
    [">"] = function(c, text) return {push = list(c, tonumber(text))} end,
}

read = function(c)
    local text = line(c)
    return readers[text:sub(1, 1)](c, text:sub(2))
end

function client:read() return read(self) end

--- Has anything come, or does it within ms milliseconds?
function client:ready(ms)
    return self.at <= #self.input or C.poll(ffi.new("resp_poll", self.fd, 1, 0), 1, ms) > 0
end

--- A command as its bytes.
function resp.encode(...)
    local n = select("#", ...)
    local t = {"*" .. n .. "\r\n"}
    for i = 1, n do
        local text = tostring((select(i, ...)))
        t[#t + 1] = "$" .. #text .. "\r\n" .. text .. "\r\n"
    end
    return table.concat(t)
end

--- Send a command; its answer is for read().
function client:write(...)
    if not self:send(resp.encode(...)) then closed() end
end

function client:__call(...)
    self:write(...)
    return read(self)
end

--- The bytes of the next answer.
function client:frame()
    local text, kept = {}, self.more
    self.input, self.at = self.input:sub(self.at), 1
    local before
    self.more = function(c)
        text[#text + 1] = c.input:sub(1, c.at - 1)
        return kept(c)
    end
    local fine, wrong = pcall(read, self)
    self.more = nil
    if not fine then error(wrong, 0) end
    before = self.input:sub(1, self.at - 1)
    return table.concat(text) .. before
end

--- Send a command, return the bytes of its answer.
function client:raw(...)
    if not self:send(resp.encode(...)) then closed() end
    return self:frame()
end

return resp
