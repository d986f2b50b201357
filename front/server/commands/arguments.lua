-- The arguments of each command, for COMMAND DOCS, from which clients complete and explain what is typed:
--
--     "name: argument argument ..."; a line that begins with blanks goes on with the one before, with + at
--     once
--
--     name:TYPE         TYPES below; none: a string.  A number after it: which of the row's `keys` it is of
--     <TOKEN>name:TYPE  after that word; <TOKEN> alone is a word by itself
--     name(a|b)         one of them; name{a b}: all of them, one after another
--     ?argument         may be left out;  argument*: any number of them;  argument**: each with its token
--     argument@6.2.0    since then; argument!6.2.0: not to be used since then.  Before the stars
--
-- parse(text) gives the list: {name, type, key, token, since, deprecated, flags, parts}.
local lines = [[
acl|cat: ?categoryname
acl|deluser: username*
acl|dryrun: username command ?arg*
acl|genpass: ?bits:int
acl|getuser: username
acl|log: ?operation(count:int|<RESET>)
acl|setuser: username ?rule*
append: key:key0 value
auth: ?username@6.0.0 password
bgsave: ?<SCHEDULE>@3.2.2
bitcount: key:key0 ?index{start:int end:int ?index_unit(<BYTE>|<BIT>)@7.0.0}
bitfield: key:key0 ?operation(<GET>encoding_offset{encoding
  offset:int}|write{?<OVERFLOW>wrap_sat_fail(<WRAP>|<SAT>|<FAIL>)
  write_operation(<SET>encoding_offset_value{encoding offset:int
  value:int}|<INCRBY>encoding_offset_increment{encoding offset:int increment:int})})*
bitfield_ro: key:key0 ?<GET>encoding_offset{encoding offset:int}**
bitop: operation destkey:key0 key:key1*
bitpos: key:key0 bit:int ?index{start:int ?end_index{end:int ?index_unit(<BYTE>|<BIT>)@7.0.0}}
blmove: source:key0 destination:key1 wherefrom(<LEFT>|<RIGHT>) whereto(<LEFT>|<RIGHT>) timeout:num
blmpop: timeout:num numkeys:int key:key0* where(<LEFT>|<RIGHT>) ?<COUNT>count:int
blpop: key:key0* timeout:num
brpop: key:key0* timeout:num
brpoplpush: source:key0 destination:key1 timeout:num
bzmpop: timeout:num numkeys:int key:key0* where(<MIN>|<MAX>) ?<COUNT>count:int
bzpopmax: key:key0* timeout:num
bzpopmin: key:key0* timeout:num
caret.data: name:key0 ?sub*
caret.del: name:key0 ?sub*
caret.get: name:key0 ?sub*
caret.incr: name:key0 ?sub* by:num
caret.json: name:key0 ?sub*
caret.kill: name:key0 ?sub*
caret.lock: ?<WITHIN>seconds:num name:key0 ?sub*
caret.m: entry ?argument*
caret.next: name:key0 ?sub*
caret.prev: name:key0 ?sub*
caret.scan: ?<COUNT>count:int ?range(limits{?<FROM>from ?<TO>to}|<PREFIX>prefix) ?<AFTER>after ?<REVERSE>
  name:key0 ?sub*
caret.set: name:key0 ?sub* value
caret.tp: part{words:int command ?argument*}*
caret.tree: ?<COUNT>count:int name:key0 ?sub*
caret.unlock: ?node{name:key0 ?sub*}
client|caching: mode(<YES>|<NO>)
client|kill:
  filter(ip:port!2.8.12|new-format(?<ID>client-id:int@2.8.12|?<TYPE>normal_master_slave_pubsub(<NORMAL>|
  +<MASTER>@3.2.0|<SLAVE>|<REPLICA>@5.0.0|<PUBSUB>)@2.8.12|?<USER>username|?<ADDR>ip:port|
  +?<LADDR>ip:port@6.2.0|?<SKIPME>yes/no)*)
client|list: ?<TYPE>normal_master_replica_pubsub(<NORMAL>|<MASTER>|<REPLICA>|<PUBSUB>)@5.0.0
  ?<ID>id{client-id:int*}@6.2.0
client|no-evict: enabled(<ON>|<OFF>)
client|no-touch: enabled(<ON>|<OFF>)
client|pause: timeout:int ?mode(<WRITE>|<ALL>)@6.2.0
client|reply: on_off_skip(<ON>|<OFF>|<SKIP>)
client|setinfo: attr(<LIB-NAME>libname|<LIB-VER>libver)
client|setname: connection-name
client|tracking: status(<ON>|<OFF>) ?<REDIRECT>client-id:int ?<PREFIX>prefix** ?<BCAST> ?<OPTIN> ?<OPTOUT>
  ?<NOLOOP>
client|unblock: client-id:int ?timeout_error(<TIMEOUT>|<ERROR>)
cluster|addslots: slot:int*
cluster|addslotsrange: start-slot_end-slot{start-slot:int end-slot:int}*
cluster|count-failure-reports: node-id
cluster|countkeysinslot: slot:int
cluster|delslots: slot:int*
cluster|delslotsrange: start-slot_end-slot{start-slot:int end-slot:int}*
cluster|failover: ?options(<FORCE>|<TAKEOVER>)
cluster|forget: node-id
cluster|getkeysinslot: slot:int count:int
cluster|keyslot: key
cluster|meet: ip port:int ?cluster_bus_port:int@4.0.0
cluster|replicas: node-id
cluster|replicate: node-id
cluster|reset: ?hard_soft(<HARD>|<SOFT>)
cluster|set-config-epoch: config-epoch:int
cluster|setslot: slot:int subcommand(<IMPORTING>node-id|<MIGRATING>node-id|<NODE>node-id|<STABLE>)
cluster|slaves: node-id
command|docs: ?command-name*
command|info: ?command-name*
command|list: ?<FILTERBY>filterby(<MODULE>module-name|<ACLCAT>category|<PATTERN>pattern:pattern)
config|get: parameter{parameter}*
config|set: parameter_value{parameter value}*
copy: source:key0 destination:key1 ?<DB>destination-db:int ?<REPLACE>
decr: key:key0
decrby: key:key0 decrement:int
del: key:key0*
dump: key:key0
echo: message
eval: script numkeys:int ?key:key0* ?arg*
eval_ro: script numkeys:int ?key:key0* ?arg*
evalsha: sha1 numkeys:int ?key:key0* ?arg*
evalsha_ro: sha1 numkeys:int ?key:key0* ?arg*
exists: key:key0*
expire: key:key0 seconds:int ?condition(<NX>|<XX>|<GT>|<LT>)@7.0.0
expireat: key:key0 unix-time-seconds:time ?condition(<NX>|<XX>|<GT>|<LT>)@7.0.0
expiretime: key:key0
failover: ?<TO>target{host port:int ?<FORCE>} ?<ABORT> ?<TIMEOUT>milliseconds:int
fcall: function numkeys:int ?key:key0* ?arg*
fcall_ro: function numkeys:int ?key:key0* ?arg*
flushall: ?async(<ASYNC>@4.0.0|<SYNC>@6.2.0)
flushdb: ?async(<ASYNC>@4.0.0|<SYNC>@6.2.0)
function|delete: library-name
function|flush: ?async(<ASYNC>|<SYNC>)
function|list: ?<LIBRARYNAME>library-name-pattern ?<WITHCODE>
function|load: ?<REPLACE> function-code
function|restore: serialized-value ?policy(<FLUSH>|<APPEND>|<REPLACE>)
geoadd: key:key0 ?condition(<NX>|<XX>)@6.2.0 ?<CH>change:token@6.2.0
  longitude_latitude_member{longitude:num latitude:num member}*
geodist: key:key0 member1 member2 ?unit(<M>|<KM>|<FT>|<MI>)
geohash: key:key0 member*
geopos: key:key0 member*
georadius: key:key0 longitude:num latitude:num radius:num unit(<M>|<KM>|<FT>|<MI>) ?<WITHCOORD>
  ?<WITHDIST> ?<WITHHASH> ?count{<COUNT>count:int ?<ANY>@6.2.0} ?order(<ASC>|<DESC>) ?<STORE>key:key1
  ?<STOREDIST>key:key2
georadius_ro: key:key0 longitude:num latitude:num radius:num unit(<M>|<KM>|<FT>|<MI>) ?<WITHCOORD>
  ?<WITHDIST> ?<WITHHASH> ?count{<COUNT>count:int ?<ANY>@6.2.0} ?order(<ASC>|<DESC>)
georadiusbymember: key:key0 member radius:num unit(<M>|<KM>|<FT>|<MI>) ?<WITHCOORD> ?<WITHDIST>
  ?<WITHHASH> ?count{<COUNT>count:int ?<ANY>} ?order(<ASC>|<DESC>) ?<STORE>key:key1 ?<STOREDIST>key:key2
georadiusbymember_ro: key:key0 member radius:num unit(<M>|<KM>|<FT>|<MI>) ?<WITHCOORD> ?<WITHDIST>
  ?<WITHHASH> ?count{<COUNT>count:int ?<ANY>} ?order(<ASC>|<DESC>)
geosearch: key:key0 from(<FROMMEMBER>member|<FROMLONLAT>longitude_latitude{longitude:num latitude:num})
  by(circle{<BYRADIUS>radius:num unit(<M>|<KM>|<FT>|<MI>)}|box{<BYBOX>width:num height:num
  unit(<M>|<KM>|<FT>|<MI>)}) ?order(<ASC>|<DESC>) ?count{<COUNT>count:int ?<ANY>} ?<WITHCOORD> ?<WITHDIST>
  ?<WITHHASH>
geosearchstore: destination:key0 source:key1
  from(<FROMMEMBER>member|<FROMLONLAT>longitude_latitude{longitude:num latitude:num})
  by(circle{<BYRADIUS>radius:num unit(<M>|<KM>|<FT>|<MI>)}|box{<BYBOX>width:num height:num
  unit(<M>|<KM>|<FT>|<MI>)}) ?order(<ASC>|<DESC>) ?count{<COUNT>count:int ?<ANY>} ?<STOREDIST>
get: key:key0
getbit: key:key0 offset:int
getdel: key:key0
getex: key:key0
  ?expiration(<EX>seconds:int|<PX>milliseconds:int|<EXAT>unix-time-seconds:time|
  +<PXAT>unix-time-milliseconds:time|<PERSIST>)
getrange: key:key0 start:int end:int
getset: key:key0 value
hdel: key:key0 field*
hello: ?arguments{protover:int ?<AUTH>username_password{username password} ?<SETNAME>clientname}
hexists: key:key0 field
hget: key:key0 field
hgetall: key:key0
hincrby: key:key0 field increment:int
hincrbyfloat: key:key0 field increment:num
hkeys: key:key0
hlen: key:key0
hmget: key:key0 field*
hmset: key:key0 field_value{field value}*
hrandfield: key:key0 ?options{count:int ?<WITHVALUES>}
hscan: key:key0 cursor:int ?<MATCH>pattern:pattern ?<COUNT>count:int
hset: key:key0 field_value{field value}*
hsetnx: key:key0 field value
hstrlen: key:key0 field
hvals: key:key0
incr: key:key0
incrby: key:key0 increment:int
incrbyfloat: key:key0 increment:num
info: ?section*
keys: pattern:pattern
latency|graph: event
latency|histogram: ?command*
latency|history: event
latency|reset: ?event*
lcs: key1:key0 key2:key0 ?<LEN> ?<IDX> ?<MINMATCHLEN>len:int ?<WITHMATCHLEN>
lindex: key:key0 index:int
linsert: key:key0 where(<BEFORE>|<AFTER>) pivot element
llen: key:key0
lmove: source:key0 destination:key1 wherefrom(<LEFT>|<RIGHT>) whereto(<LEFT>|<RIGHT>)
lmpop: numkeys:int key:key0* where(<LEFT>|<RIGHT>) ?<COUNT>count:int
lolwut: ?<VERSION>version:int
lpop: key:key0 ?count:int@6.2.0
lpos: key:key0 element ?<RANK>rank:int ?<COUNT>num-matches:int ?<MAXLEN>len:int
lpush: key:key0 element*
lpushx: key:key0 element*
lrange: key:key0 start:int stop:int
lrem: key:key0 count:int element
lset: key:key0 index:int element
ltrim: key:key0 start:int stop:int
memory|usage: key:key0 ?<SAMPLES>count:int
mget: key:key0*
migrate: host port:int key_or_empty_string(key:key0|<>empty_string:token) destination-db:int timeout:int
  ?<COPY>@3.0.0 ?<REPLACE>@3.0.0 ?authentication(?<AUTH>password@4.0.7|?<AUTH2>username_password{username
  password}@6.0.0) ?<KEYS>key:key1@3.0.6*
module|load: path ?arg*
module|loadex: path ?<CONFIG>configs{name value}** ?<ARGS>args{arg}*
module|unload: name
move: key:key0 db:int
mset: key_value{key:key0 value}*
msetnx: key_value{key:key0 value}*
object|encoding: key:key0
object|freq: key:key0
object|idletime: key:key0
object|refcount: key:key0
persist: key:key0
pexpire: key:key0 milliseconds:int ?condition(<NX>|<XX>|<GT>|<LT>)@7.0.0
pexpireat: key:key0 unix-time-milliseconds:time ?condition(<NX>|<XX>|<GT>|<LT>)@7.0.0
pexpiretime: key:key0
pfadd: key:key0 ?element*
pfcount: key:key0*
pfdebug: subcommand key:key0
pfmerge: destkey:key0 sourcekey:key1*
ping: ?message
psetex: key:key0 milliseconds:int value
psubscribe: pattern{pattern:pattern}*
psync: replicationid offset:int
pttl: key:key0
publish: channel message
pubsub|channels: ?pattern:pattern
pubsub|numsub: ?channel*
pubsub|shardchannels: ?pattern:pattern
pubsub|shardnumsub: ?shardchannel*
punsubscribe: ?pattern:pattern*
rename: key:key0 newkey:key1
renamenx: key:key0 newkey:key1
replicaof: args(host-port{host port:int}|no-one{<NO> <ONE>})
restore-asking: key:key0 ttl:int serialized-value ?<REPLACE>@3.0.0 ?<ABSTTL>@5.0.0
  ?<IDLETIME>seconds:int@5.0.0 ?<FREQ>frequency:int@5.0.0
restore: key:key0 ttl:int serialized-value ?<REPLACE>@3.0.0 ?<ABSTTL>@5.0.0 ?<IDLETIME>seconds:int@5.0.0
  ?<FREQ>frequency:int@5.0.0
rpop: key:key0 ?count:int@6.2.0
rpoplpush: source:key0 destination:key1
rpush: key:key0 element*
rpushx: key:key0 element*
sadd: key:key0 member*
scan: cursor:int ?<MATCH>pattern:pattern ?<COUNT>count:int ?<TYPE>type@6.0.0
scard: key:key0
script|debug: mode(<YES>|<SYNC>|<NO>)
script|exists: sha1*
script|flush: ?async(<ASYNC>|<SYNC>)@6.2.0
script|load: script
sdiff: key:key0*
sdiffstore: destination:key0 key:key1*
select: index:int
set: key:key0 value ?condition(<NX>|<XX>)@2.6.12 ?<GET>@6.2.0
  ?expiration(<EX>seconds:int@2.6.12|<PX>milliseconds:int@2.6.12|<EXAT>unix-time-seconds:time@6.2.0|
  +<PXAT>unix-time-milliseconds:time@6.2.0|<KEEPTTL>@6.0.0)
setbit: key:key0 offset:int value:int
setex: key:key0 seconds:int value
setnx: key:key0 value
setrange: key:key0 offset:int value
shutdown: ?nosave_save(<NOSAVE>|<SAVE>) ?<NOW>@7.0.0 ?<FORCE>@7.0.0 ?<ABORT>@7.0.0
sinter: key:key0*
sintercard: numkeys:int key:key0* ?<LIMIT>limit:int
sinterstore: destination:key0 key:key1*
sismember: key:key0 member
slaveof: args(host-port{host port:int}|no-one{<NO> <ONE>})
slowlog|get: ?count:int
smembers: key:key0
smismember: key:key0 member*
smove: source:key0 destination:key1 member
sort: key:key0 ?<BY>pattern:pattern1 ?<LIMIT>offset_count{offset:int count:int} ?<GET>pattern:pattern1**
  ?order(<ASC>|<DESC>) ?<ALPHA>sorting:token ?<STORE>destination:key2
sort_ro: key:key0 ?<BY>pattern:pattern1 ?<LIMIT>offset_count{offset:int count:int}
  ?<GET>pattern:pattern1** ?order(<ASC>|<DESC>) ?<ALPHA>sorting:token
spop: key:key0 ?count:int@3.2.0
spublish: shardchannel message
srandmember: key:key0 ?count:int@2.6.0
srem: key:key0 member*
sscan: key:key0 cursor:int ?<MATCH>pattern:pattern ?<COUNT>count:int
ssubscribe: shardchannel*
strlen: key:key0
subscribe: channel*
substr: key:key0 start:int end:int
sunion: key:key0*
sunionstore: destination:key0 key:key1*
sunsubscribe: ?shardchannel*
swapdb: index1:int index2:int
touch: key:key0*
ttl: key:key0
type: key:key0
unlink: key:key0*
unsubscribe: ?channel*
wait: numreplicas:int timeout:int
watch: key:key0*
xack: key:key0 group id*
xadd: key:key0 ?<NOMKSTREAM>@6.2.0 ?trim{strategy(<MAXLEN>|<MINID>@6.2.0)
  ?operator(<=>equal:token|<~>approximately:token) threshold ?<LIMIT>count:int@6.2.0}
  id_or_auto(<*>auto_id:token|id) field_value{field value}*
xautoclaim: key:key0 group consumer min-idle-time start ?<COUNT>count:int ?<JUSTID>
xclaim: key:key0 group consumer min-idle-time id* ?<IDLE>ms:int ?<TIME>unix-time-milliseconds:time
  ?<RETRYCOUNT>count:int ?<FORCE> ?<JUSTID> ?<LASTID>id
xdel: key:key0 id*
xgroup|create: key:key0 groupname id(id|<$>new_id:token) ?<MKSTREAM> ?<ENTRIESREAD>entries_read:int
xgroup|createconsumer: key:key0 groupname consumername
xgroup|delconsumer: key:key0 groupname consumername
xgroup|destroy: key:key0 groupname
xgroup|setid: key:key0 groupname id(id|<$>new_id:token) ?<ENTRIESREAD>entries_read:int
xinfo|consumers: key:key0 groupname
xinfo|groups: key:key0
xinfo|stream: key:key0 ?<FULL>full{?<COUNT>count:int}
xlen: key:key0
xpending: key:key0 group ?filters{?<IDLE>min-idle-time:int@6.2.0 start end count:int ?consumer}
xrange: key:key0 start end ?<COUNT>count:int
xread: ?<COUNT>count:int ?<BLOCK>milliseconds:int <STREAMS>streams{key:key0* id*}
xreadgroup: <GROUP>group_consumer{group consumer} ?<COUNT>count:int ?<BLOCK>milliseconds:int ?<NOACK>
  <STREAMS>streams{key:key0* id*}
xrevrange: key:key0 end start ?<COUNT>count:int
xsetid: key:key0 last-id ?<ENTRIESADDED>entries_added:int@7.0.0 ?<MAXDELETEDID>max_deleted_entry_id@7.0.0
xtrim: key:key0 trim{strategy(<MAXLEN>|<MINID>@6.2.0) ?operator(<=>equal:token|<~>approximately:token)
  threshold ?<LIMIT>count:int@6.2.0}
zadd: key:key0 ?condition(<NX>|<XX>)@3.0.2 ?comparison(<GT>|<LT>)@6.2.0 ?<CH>change:token@3.0.2
  ?<INCR>increment:token@3.0.2 score_member{score:num member}*
zcard: key:key0
zcount: key:key0 min:num max:num
zdiff: numkeys:int key:key0* ?<WITHSCORES>
zdiffstore: destination:key0 numkeys:int key:key1*
zincrby: key:key0 increment:int member
zinter: numkeys:int key:key0* ?<WEIGHTS>weight:int* ?<AGGREGATE>aggregate(<SUM>|<MIN>|<MAX>) ?<WITHSCORES>
zintercard: numkeys:int key:key0* ?<LIMIT>limit:int
zinterstore: destination:key0 numkeys:int key:key1* ?<WEIGHTS>weight:int*
  ?<AGGREGATE>aggregate(<SUM>|<MIN>|<MAX>)
zlexcount: key:key0 min max
zmpop: numkeys:int key:key0* where(<MIN>|<MAX>) ?<COUNT>count:int
zmscore: key:key0 member*
zpopmax: key:key0 ?count:int
zpopmin: key:key0 ?count:int
zrandmember: key:key0 ?options{count:int ?<WITHSCORES>}
zrange: key:key0 start stop ?sortby(<BYSCORE>|<BYLEX>)@6.2.0 ?<REV>@6.2.0 ?<LIMIT>offset_count{offset:int
  count:int}@6.2.0 ?<WITHSCORES>
zrangebylex: key:key0 min max ?<LIMIT>offset_count{offset:int count:int}
zrangebyscore: key:key0 min:num max:num ?<WITHSCORES>@2.0.0 ?<LIMIT>offset_count{offset:int count:int}
zrangestore: dst:key0 src:key1 min max ?sortby(<BYSCORE>|<BYLEX>) ?<REV> ?<LIMIT>offset_count{offset:int
  count:int}
zrank: key:key0 member
zrem: key:key0 member*
zremrangebylex: key:key0 min max
zremrangebyrank: key:key0 start:int stop:int
zremrangebyscore: key:key0 min:num max:num
zrevrange: key:key0 start:int stop:int ?<WITHSCORES>
zrevrangebylex: key:key0 max min ?<LIMIT>offset_count{offset:int count:int}
zrevrangebyscore: key:key0 max:num min:num ?<WITHSCORES> ?<LIMIT>offset_count{offset:int count:int}
zrevrank: key:key0 member
zscan: key:key0 cursor:int ?<MATCH>pattern:pattern ?<COUNT>count:int
zscore: key:key0 member
zunion: numkeys:int key:key0* ?<WEIGHTS>weight:int* ?<AGGREGATE>aggregate(<SUM>|<MIN>|<MAX>) ?<WITHSCORES>
zunionstore: destination:key0 numkeys:int key:key1* ?<WEIGHTS>weight:int*
  ?<AGGREGATE>aggregate(<SUM>|<MIN>|<MAX>)
]]

local TYPES = {
    int = "integer", num = "double", key = "key", pattern = "pattern", time = "unix-time",
    token = "pure-token", string = "string",
}

local arguments

-- One argument, from there on: it, and where it ends.
local function argument(text, at)
    local a, optional, from = {}, text:match("^(%??)()", at)
    local token, after = text:match("^<([^>]*)>()", from)
    local name, ends = text:match("^([^%s@!*(){}|]*)()", after or from)
    local kind = name:match(":(%a+)%d*$")
    a.token, at = token, ends
    if TYPES[kind] then
        a.name, a.key = name:match("^(.*):%a+(%d*)$")
    else
        a.name, kind = name, "string"
        if name == "" then a.name, kind = a.token:lower(), "token" end
    end
    a.type = TYPES[kind]
    local open, inner = text:match("^([({])()", at)
    if open then
        a.type = open == "(" and "oneof" or "block"
        a.parts, at = arguments(text, inner, open == "(" and "|" or " ")
        at = at + 1
    end
    a.since, at = text:match("^@?([%d.]*)()", at)
    a.deprecated, at = text:match("^!?([%d.]*)()", at)
    local stars
    stars, at = text:match("^(%**)()", at)
    a.flags = (optional == "?" and 1 or 0) + (stars ~= "" and 2 or 0) + (stars == "**" and 4 or 0)
    return a, at
end

-- Those from there on, with that between them.
function arguments(text, at, between)
    local list = {}
    repeat
        list[#list + 1], at = argument(text, at)
        local more = text:sub(at, at) == between
        if more then at = at + 1 end
    until not more
    return list, at
end

local function parse(text)
    local list, at = arguments(text, 1, " ")
    if at ~= #text + 1 then error("an argument ends too early: " .. text:sub(at)) end
    return list
end

local of = {}
for name, text in lines:gsub("\n  %+", ""):gsub("\n +", " "):gmatch("([^\n:]+): ([^\n]+)") do
    of[name] = text
end
return {of = of, parse = parse}
