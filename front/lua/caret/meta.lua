---@meta caret

-- The reference of the module `caret`, in the annotations of the Lua language server: what is shown in an
-- editor, and what tools/reference.lua makes HTML of (make docs).  test/lua/test_reference.lua compares it
-- with what the module has at run time.  Nothing here is ever run.

---Caret, a hierarchical key-value database that lives inside the process.
---
---A database is one file, shared by up to 256 processes through memory. What is in it are variables, each a
---tree of nodes; a node has a value, or children, or both. Nodes are objects:
---
---```lua
---local caret = require "caret"
---local db = assert(caret.open("forest.caret"))
---local oaks = db.node("^oaks")
---oaks[1].shadow.__ = 15
---print(oaks[1].shadow.__)                  --> 15
---```
---
---**Threads and processes.** A database object belongs to the Lua state that opened it, and all coroutines of the
---state share it: its locks, and the transaction in progress. Another Lua state, in whatever thread, opens the
---file for itself. After a fork the child may go on using what it inherited; it owns none of its parent's locks
---and is in no transaction.
---
---**Errors.** Misuse (a wrong type, a bad name, a database that was closed) raises a message that begins with the
---caller's `file:line:`. A failure of the database under a read or write raises an object with the fields of
---`caret.Error`. What a program is meant to handle (opening, a lock that could not be had, a backup) is returned:
---`nil, "NAME: text", "NAME"`.
---
---Every method of databases is a function of the module too, `caret.get("^oaks", 1)` for `db:get("^oaks", 1)`.
---They use the default database, `$CARET_DB` or else `./data.caret`, which is opened when it is first used;
---a failure to open it raises.
---@class caret
---@field node fun(variable: caret.Address, ...: caret.Subscript|caret.Subscript[]): caret.Node
---@field get fun(variable: caret.Address, ...: caret.Subscript|caret.Subscript[]): string?
---@field set fun(variable: caret.Address, ...: caret.Subscript|caret.Subscript[]|caret.Value|nil): caret.Value?
---@field incr fun(variable: caret.Address, ...: caret.Subscript|caret.Subscript[]|caret.Value): number|string
---@field delete fun(variable: caret.Address, ...: caret.Subscript|caret.Subscript[])
---@field kill fun(variable: caret.Address, ...: caret.Subscript|caret.Subscript[])
---@field data fun(variable: caret.Address, ...: caret.Subscript|caret.Subscript[]): caret.Data
---@field variables fun(locals?: boolean): fun(): string?
---@field transaction fun(...: "BATCH"|"SYNC"|"ALONE"|string[]|function): function
---@field tp fun(...: any): any
---@field snapshot fun(fn: function, ...: any): any
---@field lock fun(list?: table, timeout?: number): true?, string?, string?
---@field sync fun(): true?, string?, string?
---@field durable fun(): integer, integer
---@field place fun(): integer
---@field wait fun(node: caret.Address, timeout?: number, place?: integer): boolean?, string?, string?
---@field ci fun(entry: string, ...: string|number): string?
---@field require fun(prototypes: string): table<string, function>
---@field changes fun(options?: caret.ChangesOptions): caret.Changes?, string?, string?
---@field batch fun(on?: boolean)
---@field checkpoint fun(): true?, string?, string?
---@field backup fun(path: string, options?: caret.BackupOptions): true?, string?, string?
---@field check fun(how?: "online"): true?, string?, string?, string?
---@field stat fun(): caret.Stat
---@field usage fun(): caret.Usage?, string?, string?
---@field path fun(): string
local caret = {}

---The version of the module, like "0.1.0".
---@type string
caret._VERSION = nil

---As a value in the table given to `Node:settree`: delete what is there.
---@type table
caret.DELETE = nil

---A variable's name, `"^oaks"` for a global one, which is in the file, `"oaks"` for a local one, which is the Lua
---state's own; or a node, which stands for its address.
---@alias caret.Address string|caret.Node

---A string of any bytes, or a number. What comes back is an integer if it is a canonical one (Lua 5.1, 5.2 and
---LuaJIT: within `2^53`), else a string.
---@alias caret.Subscript string|number

---What can be stored: a string of any bytes, 16 MiB at most, or a number, which is stored as its shortest decimal
---text, a whole one below 2^63 with all its digits. What comes back is always a string.
---@alias caret.Value string|number

---What is at a node: 0 nothing, 1 a value, 10 children, 11 both.
---@alias caret.Data 0|1|10|11

---What a failure of the database raises; `tostring` gives `NAME: message`.
---@class caret.Error
---@field name string the error, as include/caret.h lists them without `CARET_E_`: "READONLY", "DISKFULL", "IO", ...
---@field message string what was wrong, with what
---@field code integer its number there

---Options of `caret.open`; any other name is refused.
---@class caret.OpenOptions
---@field create? boolean false: a missing file is an error, NOTFOUND; default true
---@field readonly? boolean true: nothing is written and no file is made, and no right but to read is needed
---@field sync? "commit"|"interval"|"off" what a loss of power may take: nothing, the last interval (default), or all since the last checkpoint; what is left is a state that was, and a killed process takes nothing in any mode
---@field sync_interval? number seconds between syncs in mode "interval", default 1; the smallest of all who have the database open counts
---@field log_size? integer bytes of the log, 8 MiB to 2 GiB, default 64 MiB (on a small disk half of what is free, 4 MiB at least), and longer, up to 2 GiB, for a large transaction, or while sets all over a large tree make checkpoints dear; the limit of one transaction is 768 MiB, and three quarters of a log_size that was asked for. Counts for the process that opens first after a clean close
---@field arena_limit? integer bytes of changed pages that are kept in shared memory; default: at most a quarter of the memory that is available, and at most half of what `shm_dir` has left
---@field huge_pages? boolean default true: changed pages are kept in pages of 2 MiB where the system has such, which takes no more memory and makes random access to a large database quicker; false: not by this process
---@field shm_dir? string the folder of shared memory, default /dev/shm; all users of a database need the same
---@field archive? string an existing folder to which the log is copied before it is overwritten, for `caret.restore`; give it whenever the database may be opened first, or there will be a gap
---@field progress? fun(part: number) called with 0 to 1, once a second while a recovery takes longer than that; it must not use caret; errors in it are ignored
---@field any_fs? boolean true: also on a network or FUSE file system, which is refused otherwise; only if all users run on one machine, and its locks, mappings and syncs are as good as a local one's
---@field values? "text"|"typed" "typed": all nodes of the database are of the class `Typed`, and its own `get`, `set` and `changes` know types too, so that numbers, booleans, strings and small tables come back as they went in; default "text": values are strings
---@field memory_limit? integer bytes that a database in memory, `":memory:"`, may take, 32 MiB at least; default: half of what is available to the process. A set that finds no room raises DISKFULL; kills make room

---Options of `Database:backup`; any other name is refused.
---@class caret.BackupOptions
---@field compact? boolean true: pages in the order of keys and without gaps, the smallest file
---@field overwrite? boolean true: replace an existing file, whole or not at all; otherwise it is an error, EXISTS
---@field progress? fun(done: integer, total: integer): boolean? called now and then with bytes; what it raises goes on to the caller, and false stops the backup, which is the outcome ROLLBACK then

---Options of `Database:changes`; any other name is refused.
---@class caret.ChangesOptions
---@field from? integer a place in the log: changes of commits after it. `Database:place` and `Changes:place` tell places; 0: all that is still there, since the last checkpoint. Without it: from now on
---@field prefix? caret.Address only changes at this node and below it, and kills above it or of a range with some of it
---@field wait? number seconds to sleep until there is a next one, after which a loop ends; default: for ever; 0: what is there now

---Options of `caret.restore`; any other name is refused.
---@class caret.RestoreOptions
---@field archive? string the folder that the log was copied to; without it: the backup alone
---@field lsn? integer no further than this place, which must be reached; see `Database:durable`
---@field time? number no later than this time, seconds since 1970: to the last checkpoint before it
---@field any_fs? boolean as for `caret.open`
---@field progress? fun(place: integer, time: number): boolean? called after each file of the archive with its last place and its time, seconds since 1970; what it raises goes on to the caller, and false stops it, which is the outcome ROLLBACK then

---Options of `Node:range`; any other name is refused.
---@class caret.RangeOptions
---@field from? caret.Subscript the first child, in the order of the database; it need not be there
---@field to? caret.Subscript the last one, included
---@field before? caret.Subscript instead of `to`: where the range ends, not included
---@field prefix? string instead of all these: the strings that begin with it, whatever bytes follow. A subscript that is a number, such as 12, is not a string and is never among them; `""` has all strings but the empty subscript
---@field reverse? boolean true: from the last one down to the first
---@field limit? number this many at most

---Options of `Node:kill_range`, of which one bound at least is needed; any other name is refused.
---@class caret.KillRangeOptions
---@field from? caret.Subscript the first child that goes, in the order of the database; it need not be there
---@field to? caret.Subscript the last one that goes
---@field before? caret.Subscript instead of `to`: the first one that stays
---@field prefix? string instead of all these: the strings that begin with it, as for `Node:range`
---@field from_string? boolean true: `from` is a string, and so after all numbers, even if it is the text of one; for what a `Change` tells
---@field to_string? boolean true: the same of `to` or `before`

---Options of `Node:json`; any other name is refused.
---@class caret.JsonOptions
---@field indent? integer|string a number of spaces, or what to indent with; without it all is on one line

---What `Database:stat` gives: counters and sizes.
---@class caret.Stat
---@field pages integer pages of the file
---@field free_pages integer of these, unused
---@field arena_slots integer pages that fit into shared memory
---@field arena_used integer of these, in use: changed since the last checkpoint, or kept for reading
---@field arena_huge integer bytes of these that were made of huge pages
---@field depth integer levels of the tree
---@field log_head integer the place in the log after the last commit, in bytes
---@field log_durable integer the place up to which the log is on the disk
---@field checkpoint_lsn integer the place where the last checkpoint stands
---@field epoch integer the number of the present epoch, which a checkpoint ends
---@field checkpoints integer checkpoints taken since the database was opened by somebody
---@field repairs integer commits that were finished or undone for a process that died in them
---@field gets integer reads, of all attached processes
---@field sets integer changes of theirs
---@field commits integer commits of theirs
---@field restarts integer transactions of theirs that were begun again
---@field lock_waits integer locks they waited for
---@field processes integer processes that have the database open
---@field dead_pages integer dead pages, free after the next checkpoint
---@field held_pages integer dead pages that are kept for snapshots
---@field snapshots integer processes that read snapshots
---@field view "attached"|"live"|"file" what a database opened read-only sees: "live" each commit of those who have it open, "file" what is in the files; "attached": it is open for writing in this process too, or was meanwhile

---What `Database:usage` gives.
---@class caret.Usage
---@field levels caret.UsageLevel[] from the leaves up
---@field globals caret.UsageGlobal[] in the order of their names

---One level of the tree.
---@class caret.UsageLevel
---@field pages integer pages of the level
---@field entries integer nodes in leaves, children in other pages
---@field used integer bytes in use in these pages
---@field size integer bytes of these pages

---One global variable.
---@class caret.UsageGlobal
---@field name string its name, with the "^"
---@field nodes integer nodes that have a value
---@field leaves integer leaves that have nodes of it; one that several globals share counts for each
---@field bytes integer bytes of its nodes in them
---@field long_values integer values that are stored outside of leaves
---@field long_bytes integer their bytes
---@field long_pages integer the pages they take

---Open a database, or create it. The same file opened twice in one process gives two objects over one engine, each
---with locks and transactions of its own. It is closed by `close()`, by the collector, or at the end of a variable
---that is `<close>`.
---
---May wait while another process recovers the file.
---@param path? string the file, which a nil is not; its parts `-log` and `-lock` lie beside it while it is open. Default `$CARET_DB`, else `./data.caret`. The folder must be on a local file system and writable. `":memory:"` is a new database in memory, of this process and its forks; `"postgresql://..."` is one on a server (docs/guide/many-machines.md)
---@param options? caret.OpenOptions
---@return caret.Database? db nil if it can't be opened
---@return string? text what is wrong, "NAME: text"
---@return string? name NOTFOUND, OPEN, FOREIGN (not a Caret database), VERSION, CORRUPT, NETFS, BUSY (in use elsewhere in a way that excludes us), SHM, DISKFULL, IO, NOMEM, LIMIT, SYSTEM, UNSUPPORTED (an option that is not for a database by an address, or an address for which nothing is here), READONLY (an address that leads to a standby, opened without `readonly`) or INVALID
function caret.open(path, options) end

---Close the default database, if it is open. The next use opens it again.
---@return true? ok
---@return string? text what went wrong in the last checkpoint; it is closed all the same
---@return string? name
function caret.close() end

---Is it a node, of whatever database and class?
---@param value any
---@return boolean
function caret.isnode(value) end

---Make a class of nodes. Methods that are set on `class` override; `.__` uses the new `get` and `set` too. Children of a
---node are of its class. A subclass of a subclass is made from the `new` of that.
---
---```lua
---local new, Tree = caret.inherit(db.node)
---function Tree.height(n) return n.shadow:number() * math.tan(math.rad(n.angle:number())) end
---local oak = new("^oaks", 1):settree {shadow = 10, angle = 45}
---print(("%.1f"):format(oak:height()))      --> 10.0
---```
---@param constructor function what makes nodes: `caret.node`, a database's `db.node`, or another `new`
---@param metatable? table metamethods for the nodes of the class, and of classes made of it, besides those that nodes have
---@return fun(variable: caret.Address, ...: caret.Subscript|caret.Subscript[]): caret.Node new makes nodes of the class
---@return table class set methods here; each gets the node first
---@return table superclass the methods of the class above, to be called with a node: `superclass.get(n)`
function caret.inherit(constructor, metatable) end

---A function that does what `f` does and counts how often it was called, and one that says it. For methods of classes:
---those that all nodes have are counted in C, for 2 ns. (In LuaJIT a function in Lua counts, as that is compiled.)
---
---```lua
---local new, Tree, node = caret.inherit(db.node)
---local reads
---Tree.get, reads = caret.counted(node.get)
---```
---@generic F: function
---@param f F any function
---@return F counted
---@return fun(): integer calls
function caret.counted(f) end

---Roll back the innermost transaction: leave its function at once, and have the transaction return
---`nil, "ROLLBACK: ...", "ROLLBACK"`. Does not return; a `pcall` in between can't hide it. Outside of a transaction,
---also in a snapshot, it raises NOTXN.
function caret.trollback() end

---Begin the outermost transaction again, as a conflict does. Does not return; a `pcall` in between can't hide it.
---Outside of a transaction, also in a snapshot, it raises NOTXN.
function caret.trestart() end

---Make a database of a backup and, if there is one, of an archive of the log: as it was at the end of the archive, or
---at a place or time before. The file appears when it is complete.
---@param backup string the file that `Database:backup` made
---@param path string the database to be made; there must be no such file
---@param options? caret.RestoreOptions
---@return integer? lsn the place that was reached
---@return string? text what is wrong
---@return string? name EXISTS, NOTFOUND (no backup, or the archive does not lead to `lsn`), CORRUPT, INVALID (a database that is open here, or was not closed cleanly), FOREIGN (none), OPEN, DISKFULL, IO, NOMEM, or what `caret.open` says
function caret.restore(backup, path, options) end

---Write every node that can still be read of a damaged database to a new file of ZWR text. No process may have it open.
---@param path string the damaged database
---@param out string the file to write; there must be none of that name
---@param sure? boolean true: only what certainly belongs to the last state
---@return table? counts nodes, pages, leaves, lost_pages, lost_values, stale_leaves, doubtful_leaves, logged, epoch; see `caret_salvage` in include/caret.h
---@return boolean|string lost was something lost? Or what is wrong, "NAME: text"
---@return string report what was lost, as lines; or the error's name
function caret.salvage(path, out, sure) end

---What `Database:changes` tells of each change. All changes of a commit have the same `place`.
---@class caret.Change
---@field node caret.Node where
---@field kind "set"|"delete"|"kill"|"kill_range" what comes of an increment, and of a merge, is a set
---@field range? caret.KillRangeOptions of a kill_range, whose `node` is the parent: `change.node:kill_range(change.range)` does the same once more. The ranges of a transaction that overlap are one
---@field value? string of a set; nil if it was a long one that was replaced since
---@field length integer bytes of the value
---@field place integer the place in the log after its commit, to go on from when all of its changes are done with
---@field index integer which change of its commit, from 1
---@field count integer how many changes its commit has, those that are not below `prefix` too

---A feed of changes, from `Database:changes`. Called, as a loop does, it is `next()`, but what can't go on raises. It is
---closed with its database.
---@class caret.Changes
local Changes = {}

---The next change. In a transaction or snapshot it raises INTXN.
---@param timeout? number seconds to sleep until there is one; default: the option `wait`
---@return caret.Change? change nil: the time is over
---@return string? text why it can't go on
---@return string? name NOTFOUND (too slow: the log was overwritten before it was read), INTERRUPTED
function Changes:next(timeout) end

---The place to go on from, after the last commit all of whose changes were told: a consumer that stores it with what it
---has done, and begins there again, misses nothing.
---@return integer place
function Changes:place() end

---Give it back now, not when it is collected.
function Changes:close() end

---An open database: one session on it. After `close()` it, its nodes and their iterators raise CLOSED.
---@class caret.Database
local Database = {}

---Make a node. Nothing is looked up; making one costs next to nothing. `db:node(...)` is the same; `db.node` can be
---handed around as a function. Raises NAME (not a name), MAXSUBS (over 31 subscripts), KEY2BIG (over 1,015 bytes).
---@param variable caret.Address a name or a node, of which it makes an immutable copy, deeper by the rest
---@param ... caret.Subscript|caret.Subscript[] tables are spliced in
---@return caret.Node
---@overload fun(self: caret.Database, variable: caret.Address, ...: caret.Subscript|caret.Subscript[]): caret.Node
function Database.node(variable, ...) end

---The value, or nil.
---@param variable caret.Address
---@param ... caret.Subscript|caret.Subscript[]
---@return string?
function Database:get(variable, ...) end

---Set a value: `db:set("^oaks", 1, "shadow", 15)`. Raises VALUE2BIG over 16 MiB, READONLY, DISKFULL, IO, IO_FAILED, SHM.
---@param variable caret.Address
---@param ... caret.Subscript|caret.Subscript[]|caret.Value|nil subscripts and, last, the value; nil deletes it
---@return caret.Value? value the value as it was given
function Database:set(variable, ...) end

---Add to a value, as one atomic step: `db:incr("^count")`, `db:incr("^oaks", 1, "shadow", .5)`. See `Node:incr`.
---@param variable caret.Address
---@param ... caret.Subscript|caret.Subscript[]|caret.Value subscripts and, last, what to add. After a name alone it may be left out, and is 1; with subscripts it must be there
---@return number|string sum
function Database:incr(variable, ...) end

---Delete the value, but not the children.
---@param variable caret.Address
---@param ... caret.Subscript|caret.Subscript[]
function Database:delete(variable, ...) end

---Delete the node and everything below it.
---@param variable caret.Address
---@param ... caret.Subscript|caret.Subscript[]
function Database:kill(variable, ...) end

---What is there?
---@param variable caret.Address
---@param ... caret.Subscript|caret.Subscript[]
---@return caret.Data
function Database:data(variable, ...) end

---The names of all global variables that have something, in order: `for name in db:variables() do`.
---@param locals? boolean true: of the local ones instead
---@return fun(): string?
function Database:variables(locals) end

---Make a function that runs `fn` in a transaction: `db:transaction([id,] [locals,] fn)`. What it is called with goes
---to `fn`, and what `fn` returns comes back. Everything `fn` does to the database becomes visible at one moment, or
---not at all, as if no other ran meanwhile (serializable). An error in `fn` rolls back and is raised on.
---
---**`fn` may run more than once**: when another process changed what it read, it is begun again by itself, after three
---times while the others wait. So no input or output in it, no sleeping, and no change of Lua variables that a second
---run would spoil.
---
---Transactions nest: an inner one is a savepoint. A coroutine can't yield out of one ("a coroutine can't leave a
---transaction or snapshot midway").
---
---A second database, or another object of the same file, can be read in it: nodes, walks, snapshots. That is not a part of
---the transaction: each read sees what is committed at that moment, never what this transaction has done, and does not make
---it start again. Changing or locking one raises INTXN, as that would not be undone with it.
---
---```lua
---local transfer = db:transaction(function(from, to, amount)
---    local accounts = db.node("^accounts")
---    accounts[from]:incr(-amount)
---    accounts[to]:incr(amount)
---    if accounts[from]:number() < 0 then caret.trollback() end
---    return "done"
---end)
---db:set("^accounts", "ann", 10)
---print(transfer("ann", "bob", 7))          --> done
---print(transfer("ann", "bob", 7))          --> nil ROLLBACK: the transaction was rolled back ROLLBACK
---```
---@param ... "BATCH"|"SYNC"|"ALONE"|string[]|function an optional id: "BATCH" (or "BA"), do not wait for the disk at commit; "SYNC": wait for it; each in any mode, and neither counts in an inner transaction; "ALONE": changes by others wait from the first run on, for a second at most, so that it is seldom run again. Then an optional list of local variables that a restart or rollback puts back, {"*"} for all. Then the function
---@return function run raises TXN_TOO_BIG, READONLY, and, if waiting for the disk failed, IO, IO_FAILED, DISKFULL or EVICTED: it is committed then but may be lost with the power
function Database:transaction(...) end

---Run a function in a transaction now: `db:tp([id,] [locals,] fn, ...)`. See `Database:transaction`.
---@param ... any an optional id, an optional list of local variables, the function, its arguments
---@return any ... what the function returns; or nil, "ROLLBACK: ...", "ROLLBACK"
function Database:tp(...) end

---Run a function on a snapshot now: what it reads is the database as it is at this moment, for as long as it likes.
---It is run once, disturbs nobody, and may do input and output. Setting a global in it raises READONLY; another object
---of the same database may set one. Inside of a transaction of this object it raises INTXN.
---@param fn function
---@param ... any its arguments
---@return any ... what it returns
function Database:snapshot(fn, ...) end

---Run a routine written in M with these texts and numbers: `db:ci("save^shop", 5)`, or for its value
---`db:ci("$$price^shop", "apple")`. Routines are looked for in the folders of `$CARET_ROUTINES`. M works in this
---database and its transaction, and from the first call on M's local variables are those of this Lua state.
---@param entry string
---@param ... string|number|boolean|nil at most 32
---@return string? value of `$$label^routine`; an error of M is raised, as `M: %YDB-E-...`
function Database:ci(entry, ...) end

---Functions that call routines written in M, by a call-in table: the name of a file, or its text, which has a colon.
---A line is `name: type label^routine(I:type, O:type, IO:type, ...)`.
---@param prototypes string
---@return table<string, function> functions each takes one argument for each parameter, and returns the value of the routine unless its type is void, then its O and IO parameters
function Database:require(prototypes) end

---Release all locks of this database object, then take all of these or none. 64 at most.
---@param list? table of nodes, or tables {name or node, subscripts...}; nil or an empty one only releases
---@param timeout? number seconds to wait for all of them together; nil: for ever; 0: one try
---@return true? got
---@return string? text why not
---@return string? name LOCK_TIMEOUT, DEADLOCK (waiting would close a ring; the text names it) or LIMIT
function Database:lock(list, timeout) end

---Wait until everything committed so far is on the disk, whatever the mode.
---@return true? ok failures raise: IO, DISKFULL, IO_FAILED, EVICTED, READONLY
---@return string? text
---@return string? name
function Database:sync() end

---How far is the disk?
---@return integer durable the place in the log up to which it is on the disk
---@return integer committed the place after the last commit; when both are equal a loss of power takes nothing
function Database:durable() end

---The place in the log after the last commit, for `Database:wait` and `Database:changes`. They grow.
---@return integer place
function Database:place() end

---Sleep until something is committed at `node`, below it, or by a kill above it. It takes no processor time meanwhile,
---and writers none while nobody waits. To miss nothing, take the place first, then look, then wait:
---
---```lua
---local place = db:place()
---if db:data("^jobs") == 0 then db:wait("^jobs", 0.01, place) end
---```
---
---Own commits count too. In a transaction or snapshot it raises INTXN.
---@param node caret.Address
---@param timeout? number seconds; nil: for ever
---@param place? integer only what was committed after it; nil: from now on; 0: since the database was made
---@return boolean? changed true, also if the log from `place` on is not there any more: look; false: the time is over
---@return string? text why not
---@return string? name READONLY (opened so: nobody would wake it), NOTFOUND (never was such a place), INTERRUPTED (by a C program around it)
function Database:wait(node, timeout, place) end

---What is committed, change by change, in the order of commits. `for change in db:changes{...} do` sleeps until there is
---a next one; what can't go on raises: NOTFOUND when it was so slow that the log was overwritten before it was read (64
---MiB, unless `log_size` says otherwise). Then read what is there, and begin anew with `from` a place taken before.
---
---```lua
---local feed = assert(db:changes{prefix = "^oaks", wait = 0})
---db:set("^oaks", 1, "shadow", 10)
---for change in feed do
---    print(change.kind .. " " .. tostring(change.node) .. "=" .. change.value)  --> set ^oaks(1,"shadow")=10
---end
---```
---
---@param options? caret.ChangesOptions
---@return caret.Changes? feed
---@return string? text why not
---@return string? name READONLY (opened so), NOTFOUND (`from` is not, or no longer, in the log)
function Database:changes(options) end

---Commits of this database object do not wait for the disk from now on, whatever the mode, as if each were a transaction
---"BATCH", one that says "SYNC" too. Whoever answers for them asks `Database:durable`, or calls `Database:sync`.
---@param on? boolean default true; false: they wait again as the mode says
function Database:batch(on) end

---Take a checkpoint: afterwards the data file holds all that was committed before. They come by themselves.
---@return true? ok failures raise: IO, DISKFULL, IO_FAILED, EVICTED, READONLY, UNSUPPORTED (on a server)
---@return string? text
---@return string? name
function Database:checkpoint() end

---Copy the database, as it is now, to a new file, while everybody goes on. The copy appears when it is complete and on
---the disk; to restore it, open it. Every page is verified on the way.
---@param path string
---@param options? caret.BackupOptions
---@return true? ok
---@return string? text what is wrong
---@return string? name EXISTS, OPEN, BUSY, DISKFULL, IO, IO_FAILED, EVICTED, CORRUPT, LIMIT, READONLY, INVALID, ROLLBACK, UNSUPPORTED
function Database:backup(path, options) end

---Walk everything and check that it is right. Writers wait meanwhile; with "online" they do not, and what only lives
---in shared memory is not looked at.
---@param how? "online"
---@return true? ok
---@return string? text
---@return string? name CORRUPT
---@return string? findings one a line
function Database:check(how) end

---Counters and sizes.
---@return caret.Stat
function Database:stat() end

---What takes up the room. It walks all of a snapshot, which takes a while; nobody waits for it.
---@return caret.Usage? usage
---@return string? text what is wrong
---@return string? name CORRUPT, NOMEM, ...
function Database:usage() end

---The path of the file, resolved.
---@return string
function Database:path() end

---Close it, releasing its locks and rolling back its transaction. Closing it again does nothing. The last process to
---close takes a checkpoint; the database is one file then.
---@return true? ok
---@return string? text what went wrong in the last checkpoint; it is closed all the same
---@return string? name
function Database:close() end

---A node: an address in a database, whether or not something is there. It never changes (but see `Node:pairs`), and keeps
---its database from being collected.
---
---`n.sub`, `n["sub"]`, `n[3]` and `n("sub", 3)` are children; `n.__` is the value, and `n.__ = v` sets it. `n:get()` calls
---a method; `n:__get()` does too. So any name can be a subscript; only those that begin with `__` need `n("__x")`: write `n(key)` for keys that came from outside.
---Nodes are equal if their addresses are; `tostring` gives `^oaks(1,"shadow")`.
---@class caret.Node
---@field __ any the value: when read a string, or nil if there is none; set it to a string or number, or to nil, which deletes the value, not the children
---@field [caret.Subscript] caret.Node a child
---@overload fun(...: caret.Subscript|caret.Subscript[]): caret.Node
---@operator add(number): caret.Node
---@operator sub(number): caret.Node
local Node = {}

---The value, as `n.__`.
---@param default? any what to return if there is none
---@return string|any
function Node:get(default) end

---Set the value, as `n.__ = value`. Raises VALUE2BIG over 16 MiB, READONLY, DISKFULL, IO, IO_FAILED, SHM.
---@param value caret.Value? nil deletes it
---@return caret.Value? value as it was given
function Node:set(value) end

---Set the value of a node below, without making the node: `n:put("a", i, value)` is `n("a", i).__ = value`.
---@param ... caret.Subscript|caret.Subscript[]|caret.Value|nil subscripts and, last, the value; nil deletes it
---@return caret.Value? value as it was given
function Node:put(...) end

---Set the value if there is none, as one atomic step: of all processes that add at once, one does.
---@param value caret.Value
---@return boolean added
---@return string? there the value that is there, if it was not added
function Node:add(value) end

---Set the value, and tell the one before, as one atomic step.
---@param value caret.Value
---@return string? before nil if there was none
function Node:swap(value) end

---The subscript of a child, any of them equally likely, however many there are.
---@return string|integer|nil sub nil if there are no children
function Node:random() end

---The value as a Lua number, without making a string.
---@param default? any what to return if there is none
---@return number|any number raises if the value is not a number; an exponent is written with E
function Node:number(default) end

---Add to the value, as one atomic step that no other process comes between. It is decimal and exact with up to 38 digits,
---not binary floating point: ten times `.1` is 1. No value counts as 0, and a text as the number it begins with. `n + by`
---and `n - by` do the same and give the node. Raises NUMOFLOW for what needs more digits or is not below 1E47; the value
---stays then.
---@param by? caret.Value what to add, 1 if it is left out; a string for more digits than a float has. Anything else, or nil, is misuse
---@return number|string sum the new value: rounded to a float if it has a fraction, text if it is an integer that no Lua number can hold
function Node:incr(by) end

---Delete the node and everything below it. What is not there is not an error.
function Node:kill() end

---Delete some of the children, with everything below them: `n:kill_range {from = 10, before = 20}`, `n:kill_range {prefix
---= "user:"}`. The node itself stays. One atomic change, as quick as a kill of one node with as many below it. What is not
---there is not an error; a call without any bound is one, as it would kill all.
---@param range caret.KillRangeOptions
function Node:kill_range(range) end

---Delete the value, but not the children.
function Node:delete() end

---Set each value at `from` and below it here and below this node; what else is here stays. One atomic change, at the
---speed of the engine. `from` may be a local variable, or of another database, which takes a walk; that is one
---transaction of this node's database. Raises INVALID if one is below the other (also of two objects of
---one file), KEY2BIG or MAXSUBS if a node can't be here, TXN_TOO_BIG.
---@param from caret.Node
---@return caret.Node node the node itself
function Node:merge(from) end

---Make `to`, and what is below it, the same as this: as `to:merge(n)` after a `to:kill()`.
---@param to caret.Node
---@return caret.Node to
function Node:copy_to(to) end

---The same, and kill this node: in one atomic change, unless `to` is of another database, or just one of both is a local
---variable: then the kill comes after it.
---@param to caret.Node
---@return caret.Node to
function Node:move_to(to) end

---How many nodes have a value: this one and all below it. Counted leaf by leaf, some nanoseconds a node.
---@return integer
function Node:count() end

---Is there anything, a value or children?
---@return boolean
function Node:exists() end

---The first subscript of the children; nil if there is none.
---@return string|integer|nil
function Node:first() end

---The last subscript of the children; nil if there is none.
---@return string|integer|nil
function Node:last() end

---What is there?
---@return caret.Data
function Node:data() end

---Is there a value?
---@return boolean
function Node:has_value() end

---Are there children?
---@return boolean
function Node:has_tree() end

---The subscripts of the children, in order: `for sub in n:subscripts() do`. The order is "", numbers by value, other
---strings by bytes. Anything may be changed meanwhile: a step goes to what comes next then.
---@param reverse? boolean true: from the last
---@return fun(): string|integer
function Node:subscripts(reverse) end

---The children in order: `for child, value, sub in n:pairs() do`. From Lua 5.2 on `pairs(n)` is the same. The child is
---*mutable*: the same object, moved on, in each step. Keep one with `db.node(child)`. Anything may be changed
---meanwhile, the child's subtree too: a step goes to what comes next then.
---@param reverse? boolean true: from the last
---@return fun(): caret.Node, string?, string|integer
function Node:pairs(reverse) end

---Some of the children, as `Node:pairs` gives them: `for child, value, sub in n:range {from = 10, to = 20} do`, or
---`n:range {prefix = "user:"}`.
---@param options? caret.RangeOptions
---@return fun(): caret.Node, string?, string|integer
function Node:range(options) end

---Every node below, parents first, with their depth below it: `for node, value, sub, depth in n:walk() do`. The node is
---mutable, as in `Node:pairs`. Nodes without a value, which only have children, come too.
---@param maxdepth? number levels, default all
---@return fun(): caret.Node, string?, string|integer, integer
function Node:walk(maxdepth) end

---The values of several children, by their subscripts: `local t = n:get_many {"angle", "shadow"}`, then `t.angle`. What has
---no value is missing. It is quicker than one `Node:get` after the other where the nodes lie far apart, as they are
---looked for together. Outside of a transaction each value is as of some moment of the call.
---@param subs caret.Subscript[]
---@return table<caret.Subscript, string>
function Node:get_many(subs) end

---The subscript after `sub` among the children; nil at the end. `sub` itself need not be there.
---@param sub? caret.Subscript nil: the first
---@return string|integer|nil
function Node:next(sub) end

---The subscript before `sub` among the children; nil at the end.
---@param sub? caret.Subscript nil: the last
---@return string|integer|nil
function Node:previous(sub) end

---A cursor: a child of this node that `Node:move` makes another child of it, in place. A loop that works on
---many children makes one object instead of one for each. It is *mutable*, as that of `Node:pairs`, and any other node in all
---else; keep where it is with `db.node(cursor)`. It takes a kilobyte. A lock stays with the node that it was taken on:
---release it before the cursor moves. Call its methods as `cursor:__move(sub)`, `cursor:__get()`: without the underscores
---each call makes a subnode, as nothing is remembered of a node that moves.
---@param sub caret.Subscript where it is at first
---@return caret.Node cursor
function Node:cursor(sub) end

---Move a cursor: it is the child of the same parent by that subscript from now on. Only what `Node:cursor` made can be moved;
---an error leaves it where it was.
---@param sub caret.Subscript
---@return caret.Node cursor the same object
function Node:move(sub) end

---Store a table as the tree below the node; the entry `__` is a node's own value. What is there and not in the table
---stays; `caret.DELETE` as a value kills a subtree or, at `__`, deletes a value. A table that contains itself is
---refused, as are two keys that are one subscript (1 and "1"). It is one transaction: an entry that can't be stored raises,
---and nothing is stored then, but where the node is a local variable. So a filter may be called again, as the functions
---of transactions are.
---@param tree table values and such tables
---@param filter? fun(node: caret.Node, key: any, value: any): any, any called for every entry, subtrees and `__` too, before it is stored; returns the key and value to store, nil for either leaves it out
---@return caret.Node node the node itself
function Node:settree(tree, filter) end

---The tree below the node as a table: a child with children is a table, with its own value at `__`; any other a string.
---@param maxdepth? number levels, default all; 0: only the node's own value
---@param filter? fun(node: caret.Node, sub: string|integer, value: string?, recurse: boolean, depth: integer): any, boolean? called for every node, first for the node itself, with "" for a subscript and depth 0; returns the value to have (nil: none), and whether what is below comes too. The node it gets is mutable
---@return table
function Node:gettree(maxdepth, filter) end

---The node and what is below it as JSON text. The way there and back is exact: numbers of any size, empty arrays, nodes with
---a value and children (the member "__"), and bytes that are not UTF-8.
---@param options? caret.JsonOptions
---@return string? text nil if there is nothing
function Node:json(options) end

---Replace the node and what is below it by what a JSON text says. A text that is wrong raises SYNTAX with line and column,
---and nothing was changed then. It is one transaction.
---@param text string
---@return caret.Node node the node itself
function Node:setjson(text) end

---The node and everything below it as ZWR text, a line for each value: `^oaks(1,"shadow")="15"`.
---@param maxlines? number lines at most, default 30
---@return string
function Node:dump(maxlines) end

---Take a lock on the node's name, once more if this database object holds it. It excludes others from locking the node,
---what is above and what is below it; data are not kept from anybody. It is freed when the process ends, in whatever way.
---In a transaction: a rollback releases it.
---@param timeout? number seconds to wait; nil: for ever; 0: one try
---@return true? got
---@return string? text why not
---@return string? name LOCK_TIMEOUT, DEADLOCK (waiting would close a ring; the text names it) or LIMIT
function Node:grab(timeout) end

---The same as `Node:grab`.
---@param timeout? number
---@return true? got
---@return string? text
---@return string? name
function Node:lock_incr(timeout) end

---Give back a lock, once. Raises NOTLOCKED if it is not held.
function Node:release() end

---The same as `Node:release`.
function Node:lock_decr() end

---Release all locks of this database object, then take this one.
---@param timeout? number seconds to wait; nil: for ever; 0: one try
---@return true? got
---@return string? text why not
---@return string? name LOCK_TIMEOUT, DEADLOCK or LIMIT
function Node:lock(timeout) end

---The last subscript; for a variable its name.
---@return string|integer
function Node:name() end

---The name of the variable, "^oaks".
---@return string
function Node:varname() end

---How many subscripts there are, 0 to 31.
---@return integer
function Node:depth() end

---The subscripts as a table: `db.node(n:varname(), n:subsarray())` is `n`.
---@return (string|integer)[]
function Node:subsarray() end

---The address as text, `^oaks(1,"shadow")`, as `tostring(n)` gives it.
---@return string
function Node:repr() end

---Is it the moving node of an iterator, or a cursor?
---@return boolean
function Node:ismutable() end

return caret
