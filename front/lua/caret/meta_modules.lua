---@meta caret.modules

-- The reference of the modules beside `caret`, as meta.lua has that of the module itself.

---Values that expire, at most so many, shared by all processes that open the file: what `require "caret.cache".new(db,
---name, options)` gives, where `name` is a global variable that nothing else uses, or a node. Docs: docs/guide/cache.md.
---
---`get` never gives what has expired. Each method is one step, all or nothing, and a part of the transaction that it is
---called in. A value is a string, a number or a boolean, and comes back as that; a key is a string, or a number, which
---stands for its text. Other types, a time to live below 0, and unknown options are misuse; a key beyond about 1,000
---bytes raises KEY2BIG, a value beyond 16 MiB VALUE2BIG; the rest is what `Node:get` and `Node:set` raise.
---
---```lua
---local db = assert(require "caret".open("pages.caret"))
---local cache = require "caret.cache".new(db, "^pages", {max_items = 1000})
---cache:set("home", "<html>", 60)
---print(cache:get("home"))                  --> <html>
---```
---@class caret.Cache
local Cache = {}

---Options of `caret.cache`; any other name is refused. They are the process's own: give the same everywhere.
---@class caret.CacheOptions
---@field ttl? number seconds to live where none are given; default 0, for ever
---@field max_items? number so many entries at most; beyond that what expires next is thrown out, then what was set longest ago
---@field max_bytes? number so many bytes at most: values, keys twice, 64 for each entry
---@field clock? fun(): number seconds since 1970, instead of the machine's clock of the day

---What `Cache:stats` gives.
---@class caret.CacheStats
---@field items number entries, expired ones included that nobody removed yet
---@field bytes number their bytes, as `max_bytes` counts them
---@field max_items? number the option
---@field max_bytes? number the option
---@field evicted number entries that were thrown out since the last flush
---@field expired number entries that were removed after they had expired since the last flush
---@field next? number before that time none expires; seconds since 1970; nil: none ever does

---The value of that key; nil if there is none, or it has expired.
---@param key string|number
---@return string|number|boolean|nil
function Cache:get(key) end

---The value of that key, expired or not, as long as nobody removed it.
---@param key string|number
---@return string|number|boolean|nil value
---@return nil
---@return boolean? stale it has expired
function Cache:get_stale(key) end

---Keep a value; nil deletes.
---@param key string|number
---@param value string|number|boolean|nil
---@param ttl? number seconds to live, 0: for ever; default: the option
---@return boolean ok false: it alone is more than `max_bytes`, and nothing is there now
---@return string? text "no memory"
---@return boolean? forcible others were thrown out for it
function Cache:set(key, value, ttl) end

---Keep a value where there is none.
---@param key string|number
---@param value string|number|boolean
---@param ttl? number seconds to live, 0: for ever; default: the option
---@return boolean ok
---@return string? text "exists", "no memory"
---@return boolean? forcible others were thrown out for it
function Cache:add(key, value, ttl) end

---Keep a value where there is one.
---@param key string|number
---@param value string|number|boolean
---@param ttl? number seconds to live, 0: for ever; default: the option
---@return boolean ok
---@return string? text "not found", "no memory"
---@return boolean? forcible others were thrown out for it
function Cache:replace(key, value, ttl) end

---Add to a number, as Lua adds; it expires when it did.
---@param key string|number
---@param by? number default 1
---@param init? number where there is none: begin with that
---@param init_ttl? number and live for so many seconds, 0: for ever; default: the option
---@return number? sum
---@return string? text "not found", "not a number", "out of range", "no memory"
---@return boolean? forcible others were thrown out for it
function Cache:incr(key, by, init, init_ttl) end

---Give what is there a new time to live.
---@param key string|number
---@param ttl? number seconds from now on, 0: for ever; default: the option
---@return true? ok
---@return string? text "not found"
function Cache:touch(key, ttl) end

---The same as `Cache:touch`.
---@param key string|number
---@param ttl? number
---@return true? ok
---@return string? text "not found"
function Cache:expire(key, ttl) end

---How long will it live?
---@param key string|number
---@return number? seconds 0: for ever
---@return string? text "not found"
function Cache:ttl(key) end

---Remove the entry of that key.
---@param key string|number
---@return true
function Cache:delete(key) end

---Remove everything, counts too.
function Cache:flush() end

---The same as `Cache:flush`.
function Cache:flush_all() end

---Remove what has expired.
---@param max? number so many at most; 0 or nil: all
---@return number removed
function Cache:flush_expired(max) end

---The keys of what has not expired, in the order of the database.
---@param max? number so many at most, default 1024; 0: all
---@return string[]
function Cache:get_keys(max) end

---Counts.
---@return caret.CacheStats
function Cache:stats() end

---Values with types: `require "caret.typed"`. Nodes of this class give back numbers, booleans, strings and small tables as
---they went in; others read text. How it is written: docs/data-model.md. `incr` raises where the value is a boolean, a
---table, or a string such as "5": it adds to numbers. `caret.open(path, {values = "typed"})` opens a
---database all of whose nodes are of it.
---
---```lua
---local t = require "caret.typed".new(db)("^t")
---t.on.__ = true
---print(t.on.__)                            --> true
---```
---@class caret.Typed
local Typed = {}

---A function that makes such nodes, as `db.node` does, and their class; see `caret.inherit`.
---@param from caret.Database|function a database, or a function that makes nodes
---@return fun(variable: caret.Address, ...: caret.Subscript|caret.Subscript[]): caret.Node new
---@return table class
function Typed.new(from) end

---The text that is stored for a value. Tables with other keys than 1, 2 and so on or strings, with functions, nodes or
---themselves inside, of more than 32 levels or 64 KiB of text are misuse.
---@param value string|number|boolean|table|nil
---@return string|number|nil text a number and nil are left as they are
function Typed.encode(value) end

---The value that is stored as that text.
---@param text string?
---@return string|number|boolean|table|nil
function Typed.decode(text) end

return {Cache, Typed}
