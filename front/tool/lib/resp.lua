-- A client of the Redis protocol, RESP2, as far as `caret top` needs it.
--
--     local c, text = resp.connect("/run/shop.sock", 1)      -- or "6379", "127.0.0.1:6379", "[::1]:6379"
--     local answers, text = c:ask({"CLIENT", "ID"}, {"INFO"}) -- one each, in order; or nil and what is wrong

local net = require "caret.net"

local DEEPEST = 8 -- lists in lists

local resp = {}
local client = {}
client.__index = client

--- Wait for the server no longer than so many seconds each time.
function resp.connect(address, seconds)
    local socket, text
    if address:find "/" then
        socket, text = net.connect(address, nil, seconds)
    else
        local host, port = address:match "^%[?(.-)%]?:(%d+)$"
        if not port then host, port = "127.0.0.1", address end
        if not port:find "^%d+$" or tonumber(port) > 65535 then
            return nil, "a path (with a /), a port or HOST:PORT is expected"
        end
        socket, text = net.connect(host, port, seconds)
    end
    return socket and setmetatable({socket = socket, input = "", at = 1}, client), text
end

function client:close()
    self.socket:close()
end

-- What is wrong with a server ends ask().
local wrong = {}

local function fail(text) error(setmetatable({text = text}, wrong), 0) end

function client:more()
    local bytes, text = self.socket:receive()
    if not bytes then fail(text) end
    self.input = self.input:sub(self.at) .. bytes
    self.at = 1
end

function client:line()
    while true do
        local last = self.input:find("\r\n", self.at, true)
        if last then
            local line = self.input:sub(self.at, last - 1)
            self.at = last + 2
            return line
        end
        self:more()
    end
end

-- Long answers come in many pieces: each is copied once.
function client:bytes(n)
    local pieces, have = {self.input:sub(self.at)}, #self.input - self.at + 1
    while have < n + 2 do
        self.input, self.at = "", 1
        self:more()
        pieces[#pieces + 1], have = self.input, have + #self.input
    end
    self.input, self.at = table.concat(pieces), n + 3
    return self.input:sub(1, n)
end

-- A list of answers, such as the entries of SLOWLOG GET.
function client:list(n, depth)
    if depth > DEEPEST then fail("its answer is nested too deeply") end
    local list = {}
    for i = 1, n do list[i] = self:answer(depth) end
    return list
end

-- Texts, numbers, lists, {error = text}; false for null.  More does not come to what is asked here.
function client:answer(depth)
    local kind, rest = self:line():match "^([-+:$*])(.*)$"
    local n = math.tointeger(tonumber(rest))
    if kind == "+" then return rest end
    if kind == "-" then return {error = rest} end
    if kind == ":" and n then return n end
    if kind == "$" and n and n >= -1 then return n >= 0 and self:bytes(n) end
    if kind == "*" and n and n >= -1 then return n >= 0 and self:list(n, (depth or 0) + 1) end
    fail("it does not speak the protocol of Redis")
end

local function request(words)
    local list = {("*%d\r\n"):format(#words)}
    for _, word in ipairs(words) do list[#list + 1] = ("$%d\r\n%s\r\n"):format(#word, word) end
    return table.concat(list)
end

--- Ask all at once.  An error of the server is what is wrong, too: the first one.
function client:ask(...)
    local requests, answers = {}, {}
    for i, words in ipairs {...} do requests[i] = request(words) end
    local ok, text = self.socket:send(table.concat(requests))
    if not ok then return nil, text end
    ok, text = pcall(function()
        for i = 1, #requests do answers[i] = self:answer() end
    end)
    if not ok then
        if getmetatable(text) == wrong then return nil, text.text end
        error(text, 0)
    end
    for _, answer in ipairs(answers) do
        if type(answer) == "table" and answer.error then return nil, answer.error end
    end
    return answers
end

return resp
