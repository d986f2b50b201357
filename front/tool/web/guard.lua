-- What may talk to the server: Host, Origin, token, cookie, password.
--
-- A page of another site can send requests to loopback, and by DNS rebinding even under a name that its own
-- scripts may read.  So each request must name this server in Host (rebinding can't), and, where a browser
-- says where it comes from (Origin, Sec-Fetch-Site), that must be this server too.  A request of the API
-- needs the cookie: 256 random bits, HttpOnly, SameSite=Strict.  It is given for the token of the address
-- that was printed, which works once, or for the password.
--
-- The cookie has the port in its name, as browsers do not tell ports apart.  Sessions are kept in a file that
-- only the user may read, so that a page goes on when the server is started again; a line is: cookie, time of
-- its end, port, path of the database.

local http = require "caret.http"
local refuse = require "tool.web.refuse"

local guard = {}
guard.__index = guard

local DAYS = 30         -- a session lasts
local MOST = 64         -- sessions
local TRIES, PER = 5, 60 -- wrong tokens or passwords in so many seconds

-- ----------------------------------------------------------------- sessions

local function state_file()
    local state, home = os.getenv "XDG_STATE_HOME", os.getenv "HOME"
    if state and state:sub(1, 1) == "/" then return state .. "/caret/web" end
    return home and home ~= "" and home .. "/.local/state/caret/web" or nil
end

-- All lines of the file that have not ended.
local function read_lines(path)
    local list, f = {}, path and io.open(path)
    for line in f and f:lines() or function() end do
        local ends = tonumber(line:match("^%x+ (%d+) "))
        if ends and ends > os.time() then list[#list + 1] = line end
    end
    if f then f:close() end
    return list
end

function guard:load()
    for _, line in ipairs(read_lines(self.file)) do
        local cookie, ends, port, path = line:match("^(%x+) (%d+) (%d+) (.*)$")
        if cookie and tonumber(port) == self.port and path == self.path then
            self.sessions[cookie] = tonumber(ends)
        end
    end
end

-- Our sessions beside those of other servers; what can't be written is only forgotten at the end.
function guard:save()
    if not self.file or not self.keep(self.file) then return end
    local out, mine = {}, (" %d %s"):format(self.port, self.path)
    for _, line in ipairs(read_lines(self.file)) do
        if line:sub(-#mine) ~= mine and #out < 1000 then out[#out + 1] = line end
    end
    for cookie, ends in pairs(self.sessions) do out[#out + 1] = ("%s %d%s"):format(cookie, ends, mine) end
    http.save(self.file, table.concat(out, "\n") .. "\n")
end

local function oldest(sessions)
    local count, first = 0, nil
    for cookie, ends in pairs(sessions) do
        count = count + 1
        if not first or ends < sessions[first] then first = cookie end
    end
    return count, first
end

function guard:new_session()
    local count, first = oldest(self.sessions)
    if count >= MOST then self.sessions[first] = nil end
    local cookie = http.random(32)
    self.sessions[cookie] = os.time() + DAYS * 86400
    self:save()
    return cookie
end

-- -------------------------------------------------------------------- tokens

--- One more token, for one more browser.
function guard:token()
    if #self.tokens >= 16 then table.remove(self.tokens, 1) end
    local token = http.random(16)
    table.insert(self.tokens, token)
    return token
end

-- Too many wrong ones in a minute: none is looked at.
function guard:may_try()
    local now = os.time()
    while self.wrong[1] and self.wrong[1] <= now - PER do table.remove(self.wrong, 1) end
    return #self.wrong < TRIES
end

-- Is it one of the tokens, which is used up then?
function guard:use_token(text)
    for i, token in ipairs(self.tokens) do
        if http.same(token, text) then
            table.remove(self.tokens, i)
            return true
        end
    end
    return false
end

--- What to set as a cookie for {token=} or {password=}; nil: it is wrong.
function guard:login(given)
    if not self:may_try() then refuse.with("TRIES", "too many wrong tries: wait a minute") end
    local password, token = given.password, given.token
    local right = self.password and type(password) == "string" and http.same(self.password, password)
        or type(token) == "string" and self:use_token(token)
    if not right then
        table.insert(self.wrong, os.time())
        return nil
    end
    return ("%s=%s; HttpOnly; SameSite=Strict; Path=/; Max-Age=%d%s"):format(self.name, self:new_session(),
        DAYS * 86400, self.tls and "; Secure" or "")
end

function guard:logout(request)
    self.sessions[self:cookie(request) or ""] = nil
    self:save()
end

-- ------------------------------------------------------------------ requests

--- The session of a request; nil: it has none.
function guard:cookie(request)
    for name, value in (request.headers.cookie or ""):gmatch("([^=;,%s]+)=([^;,%s]*)") do
        local ends = name == self.name and self.sessions[value]
        if ends and ends > os.time() then return value end
    end
    return nil
end

--- Is the request for this server, and from its own page or from no page?
function guard:check_place(request)
    local h = request.headers
    local host_name = (h.host or ""):lower()
    if not self.hosts[host_name] then
        refuse.with("HOST", ("'%s' is not a name of this server"):format(host_name:sub(1, 80)))
    end
    local site = h["sec-fetch-site"]
    if h.origin and h.origin:lower() ~= self.scheme .. "://" .. host_name then
        refuse.with("FORBIDDEN", "the request comes from another site")
    end
    -- A link on another site may open the page, and nothing else.
    local opened = request.method == "GET" and h["sec-fetch-mode"] == "navigate"
    if (site == "cross-site" or site == "same-site") and not (opened and request.path == "/") then
        refuse.with("FORBIDDEN", "the request comes from another site")
    end
end

--- Is somebody signed in?
function guard:check_session(request)
    if not self:cookie(request) then
        refuse.with("UNAUTHORIZED", "open the address that caret web printed")
    end
end

--- options: port, path (of the database), hosts (a list of names and addresses), tls, password, keep(file) ->
-- may sessions be written there?
function guard.new(options)
    local self = setmetatable({port = options.port, path = options.path, tls = options.tls,
        password = options.password, scheme = options.tls and "https" or "http", sessions = {}, tokens = {},
        wrong = {}, hosts = {}, name = ("caret-%d"):format(options.port), file = state_file(),
        keep = options.keep}, guard)
    for _, name in ipairs(options.hosts) do
        self.hosts[("%s:%d"):format(name:lower(), options.port)] = true
        local default = options.tls and 443 or 80
        if options.port == default then self.hosts[name:lower()] = true end
    end
    self:load()
    return self
end

return guard
