-- mumps.bridge.state: states of Lua for the package mlua: each has globals and loaded modules of its own, all
-- in the one virtual machine, so that what they share with M costs nothing.
--
-- Standard functions that take code give it the state's globals.

local state = {}

local libraries = {"string", "table", "math", "io", "os", "coroutine", "debug", "bit", "jit"}

local function copy(t)
    local c = {}
    for k, v in pairs(t) do c[k] = v end
    return c
end

-- ---------------------------------------------------------------- require

local function searched(package, name)
    local path, tried = name:gsub("%.", "/"), {}
    for template in package.path:gmatch "[^;]+" do
        local file = template:gsub("%?", (path:gsub("%%", "%%%%")))
        local f = io.open(file)
        if f then
            f:close()
            return file
        end
        tried[#tried + 1] = "\n\tno file '" .. file .. "'"
    end
    return nil, table.concat(tried)
end

-- What LuaJIT itself and this program have is shared by all states.
local function shared(name)
    local ok, module = pcall(require, name)
    if ok then return module end
    return nil, module
end

local function find(E, name)
    local package = E.package
    local loader = package.preload[name]
    if loader then return loader end
    local file, tried = searched(package, name)
    if file then
        local f, why = E.loadfile(file)
        if not f then
            error(("error loading module '%s' from file '%s':\n\t%s"):format(name, file, why), 0)
        end
        return f
    end
    local module, why = shared(name)
    if module ~= nil then return function() return module end end
    if not tostring(why):find("not found:", 1, true) then error(why, 0) end
    error(("module '%s' not found:\n\tno field package.preload['%s']%s"):format(name, name, tried), 0)
end

local function add_require(E)
    local loaded = {_G = E}
    for _, name in ipairs(libraries) do loaded[name] = E[name] end
    E.package = {loaded = loaded, preload = {}, config = package.config}
    E.package.preload.yottadb = function() return require "mumps.bridge.ydb" end
    E.package.path, E.package.cpath = package.path, package.cpath
    loaded.package = E.package
    function E.require(name)
        if loaded[name] ~= nil then return loaded[name] end
        local value = find(E, name)(name)
        if value ~= nil then loaded[name] = value elseif loaded[name] == nil then loaded[name] = true end
        return loaded[name]
    end
end

-- ------------------------------------------------------------------- code

local function with_globals(E, f, ...)
    if f then setfenv(f, E) end
    return f, ...
end

local function add_loaders(E)
    function E.loadstring(text, name) return with_globals(E, loadstring(text, name)) end
    function E.load(f, name, mode, env)
        return with_globals(env or E, load(f, name, mode))
    end
    function E.loadfile(name, mode) return with_globals(E, loadfile(name, mode)) end
    function E.dofile(name) return assert(E.loadfile(name))() end
    function E.getfenv(f)
        local env = getfenv(f == nil and 2 or type(f) == "number" and f > 0 and f + 1 or f)
        return env == _G and E or env
    end
end

-- ---------------------------------------------------- what M has in common

local L = require("mumps.runtime.level").L
local errors = require "mumps.runtime.error"

-- What M throws to leave its levels, as a transaction does that begins again, is for nobody in between.
local function passed_on(ok, ...)
    local e = ...
    if not ok and errors.is_control(e) then error(e, 0) end
    return ok, ...
end

local function add_catchers(E)
    local pcall, xpcall, resume = pcall, xpcall, E.coroutine.resume
    function E.pcall(...) return passed_on(pcall(...)) end
    function E.xpcall(f, handler, ...)
        if type(handler) ~= "function" then return xpcall(f, handler, ...) end
        return passed_on(xpcall(f, function(e)
            if errors.is_control(e) then return e end
            return handler(e)
        end, ...))
    end
    function E.coroutine.resume(...) return passed_on(resume(...)) end
end

-- Functions of yottadb's tp() that run.
state.running = 0

-- Where a coroutine goes on: both numbers only grow until it yields.
local function place() return L.n + state.running end

-- A yield must not leave M or a transaction: only a coroutine that was resumed there has what to yield to.
local function add_coroutines(E)
    local c, resumed = E.coroutine, setmetatable({}, {__mode = "k"})
    local create, resume, running, yield = c.create, c.resume, c.running, c.yield
    function c.resume(co, ...)
        if type(co) == "thread" then resumed[co] = place() end
        return resume(co, ...)
    end
    local function passed(ok, ...)
        if not ok then error((...), 0) end
        return ...
    end
    function c.wrap(f)
        local co = create(f)
        return function(...) return passed(c.resume(co, ...)) end
    end
    function c.yield(...)
        local co = running()
        if not co or resumed[co] ~= place() then error("attempt to yield from outside a coroutine", 2) end
        return yield(...)
    end
end

-- The metatable of texts is M's, too, a hook would see M's functions, and what M wrote may wait in a buffer.
local function add_guards(E)
    local of_texts, getmetatable = {__index = E.string}, getmetatable
    function E.getmetatable(v)
        if type(v) == "string" then return of_texts end
        return getmetatable(v)
    end
    local of = E.debug.getmetatable
    function E.debug.getmetatable(v) return type(v) == "string" and of_texts or of(v) end
    function E.debug.sethook(f)
        if f ~= nil then error("no hook can be set where M runs", 2) end
    end
    local exit = E.os.exit
    function E.os.exit(...)
        pcall(require("mumps.io.device").flush) -- it ends, full though the device may be
        exit(...)
    end
end

-- A new state's globals.
function state.new()
    local E = copy(_G)
    E._G, E.arg = E, nil
    for _, name in ipairs(libraries) do E[name] = copy(_G[name]) end
    add_catchers(E)
    add_coroutines(E)
    add_guards(E)
    add_loaders(E)
    add_require(E)
    return E
end

return state
