-- One line about each command, for COMMAND DOCS: "name: what it does".
return [[
acl: A container for commands of users and their rights
acl|cat: List the categories of commands, or the commands of one
acl|deluser: Remove users, and end their connections
acl|dryrun: Tell whether a user may run a command, without running it
acl|genpass: Make up a password
acl|getuser: Tell the rules of a user
acl|help: Tell how the subcommands are used
acl|list: List the rules of all users as lines of an ACL file
acl|load: Read the users from the ACL file again
acl|log: List what was refused lately, or forget it
acl|save: Write the users to the ACL file
acl|setuser: Make a user, or change its rules
acl|users: List the names of all users
acl|whoami: Tell the user of this connection
append: Add bytes at the end of a string, which is made if it is not there
asking: Allow the next command for a slot that is being moved in
auth: Give user and password
bgrewriteaof: Take a checkpoint
bgsave: Take a checkpoint, without waiting where that is possible
bitcount: Count the bits of a string that are set
bitfield: Read and change integers of any width within a string
bitfield_ro: Read integers of any width within a string
bitop: Combine strings bit by bit, and store what comes of it
bitpos: Find the first bit that is set, or not set
blmove: Move an element from one list to another; wait for one if there is none
blmpop: Take elements from the first list that has any; wait for one if none has
blpop: Take the first element of the first list that has any; wait for one if none has
brpop: Take the last element of the first list that has any; wait for one if none has
brpoplpush: Move the last element of a list to the front of another; wait for one if there is none
bzmpop: Take members from the first sorted set that has any; wait for one if none has
bzpopmax: Take the member with the highest score; wait for one if there is none
bzpopmin: Take the member with the lowest score; wait for one if there is none
caret.data: Tell whether a node has a value (1), children (10) or both (11)
caret.del: Delete the value of a node, whose children stay
caret.get: Tell the value of a node
caret.incr: Add a decimal number to the value of a node, exactly
caret.json: Tell a node and what is below it as JSON
caret.kill: Delete a node and all below it
caret.lock: Lock the name of a node, and wait for it
caret.m: Run a routine written in M
caret.next: Tell the subscript of the next sibling
caret.prev: Tell the subscript of the sibling before
caret.scan: Tell subscripts and values of the children of a node, in order
caret.set: Set the value of a node
caret.tp: Run several commands of nodes as one transaction, all of them or none
caret.tree: Tell all nodes at a node and below that have a value
caret.unlock: Release a lock on the name of a node, or all
client: A container for commands of connections
client|caching: Track the keys of the next command, or do not
client|getname: Tell the name of this connection
client|getredir: Tell which connection gets the messages of tracking
client|help: Tell how the subcommands are used
client|id: Tell the number of this connection
client|info: Tell what is known of this connection
client|kill: End connections, by address, number, user or kind
client|list: List the connections
client|no-evict: Spare this connection when connections take too much memory
client|no-touch: Do not count the keys of this connection as used
client|pause: Let the commands of clients wait for a time
client|reply: Answer, or do not answer, the commands of this connection
client|setinfo: Tell the library of a client, and its version
client|setname: Give this connection a name
client|tracking: Tell this client when keys that it has read are changed
client|trackinginfo: Tell how this connection tracks keys
client|unblock: End the wait of another connection's blocking command
client|unpause: End a pause
cluster: A container for commands of a cluster
cluster|addslots: Give slots to this node
cluster|addslotsrange: Give ranges of slots to this node
cluster|bumpepoch: Raise the epoch of the configuration
cluster|count-failure-reports: Count the nodes that report a node as failed
cluster|countkeysinslot: Count the keys of a slot
cluster|delslots: Take slots from this node
cluster|delslotsrange: Take ranges of slots from this node
cluster|failover: Make this replica the master
cluster|flushslots: Take all slots from this node
cluster|forget: Forget a node
cluster|getkeysinslot: List keys of a slot
cluster|help: Tell how the subcommands are used
cluster|info: Tell the state of the cluster
cluster|keyslot: Tell the slot of a key
cluster|links: List the connections between nodes
cluster|meet: Bring a node into the cluster
cluster|myid: Tell the name of this node
cluster|nodes: List the nodes as lines of their configuration
cluster|replicas: List the replicas of a master
cluster|replicate: Make this node a replica
cluster|reset: Make this node one of no cluster
cluster|saveconfig: Write the configuration of the cluster
cluster|set-config-epoch: Set the epoch of a new node
cluster|setslot: Say to which node a slot belongs
cluster|shards: List the shards with their nodes and slots
cluster|slaves: List the replicas of a master
cluster|slots: List ranges of slots with their nodes
command: Tell what is known of all commands
command|count: Count the commands
command|docs: Tell what documents say of commands
command|getkeys: List the keys among the arguments of a command
command|getkeysandflags: List the keys of a command, and what it does with them
command|help: Tell how the subcommands are used
command|info: Tell what is known of some commands
command|list: List the names of commands
config: A container for commands of parameters
config|get: Tell parameters whose names fit a pattern
config|help: Tell how the subcommands are used
config|resetstat: Begin to count anew what INFO tells
config|rewrite: Write the configuration file anew
config|set: Change parameters while the server runs
copy: Copy the value of a key to another
dbsize: Count the keys of this database
debug: A container for what tests ask of a server
decr: Subtract one from the integer of a key, which is 0 if it is not there
decrby: Subtract from the integer of a key, which is 0 if it is not there
del: Delete keys
discard: Forget the commands that are queued
dump: Tell the value of a key as bytes that RESTORE takes
echo: Answer what was sent
eval: Run a script
eval_ro: Run a script that only reads
evalsha: Run a script that is known by its hash
evalsha_ro: Run a script that only reads, and is known by its hash
exec: Run the commands that are queued, as one transaction
exists: Count those of the keys that are there
expire: Let a key end in so many seconds
expireat: Let a key end at a second since 1970
expiretime: Tell at which second since 1970 a key ends
failover: Make a replica the master
fcall: Call a function
fcall_ro: Call a function that only reads
flushall: Delete all keys of all databases
flushdb: Delete all keys of this database
function: A container for commands of functions
function|delete: Delete a library with its functions
function|dump: Tell all libraries as bytes that FUNCTION RESTORE takes
function|flush: Delete all libraries
function|help: Tell how the subcommands are used
function|kill: End the function that is running
function|list: List libraries and their functions
function|load: Make a library of its code
function|restore: Make libraries of the bytes of FUNCTION DUMP
function|stats: Tell which function is running, and how many there are
geoadd: Add places by longitude and latitude
geodist: Tell the distance between two places
geohash: Tell places as geohash texts
geopos: Tell longitude and latitude of places
georadius: Find places around a position, and perhaps store them
georadius_ro: Find places around a position
georadiusbymember: Find places around a place, and perhaps store them
georadiusbymember_ro: Find places around a place
geosearch: Find places within a circle or a box
geosearchstore: Store the places within a circle or a box
get: Tell the string of a key
getbit: Tell one bit of a string
getdel: Tell the string of a key, and delete it
getex: Tell the string of a key, and change when it ends
getrange: Tell a part of a string
getset: Set the string of a key, and tell what it was
hdel: Delete fields of a hash
hello: Choose the version of the protocol, and tell about the server
hexists: Tell whether a hash has a field
hget: Tell the value of a field
hgetall: Tell all fields and values of a hash
hincrby: Add to the integer of a field, which is 0 if it is not there
hincrbyfloat: Add to the number of a field, which is 0 if it is not there
hkeys: List the fields of a hash
hlen: Count the fields of a hash
hmget: Tell the values of some fields
hmset: Set fields of a hash
hrandfield: Tell fields of a hash at random
hscan: Go through the fields of a hash, some at a time
hset: Set fields of a hash, and count the new ones
hsetnx: Set a field that is not there
hstrlen: Tell the length of the value of a field
hvals: List the values of a hash
incr: Add one to the integer of a key, which is 0 if it is not there
incrby: Add to the integer of a key, which is 0 if it is not there
incrbyfloat: Add to the number of a key, which is 0 if it is not there
info: Tell about the server, in sections
keys: List the keys that fit a pattern
lastsave: Tell when the last checkpoint was asked for
latency: A container for commands of what takes long
latency|doctor: Tell in words what takes long
latency|graph: Draw how long an event took lately
latency|help: Tell how the subcommands are used
latency|histogram: Tell how long commands take, in steps
latency|history: List how long an event took lately
latency|latest: Tell the latest of each event that took long
latency|reset: Forget events that took long
lcs: Find the longest common subsequence of two strings
lindex: Tell the element at an index of a list
linsert: Put an element before or after another of a list
llen: Count the elements of a list
lmove: Move an element from an end of a list to an end of another
lmpop: Take elements from the first list that has any
lolwut: Show a picture and the version
lpop: Take elements from the front of a list
lpos: Find elements of a list
lpush: Put elements at the front of a list, which is made if it is not there
lpushx: Put elements at the front of a list that is there
lrange: Tell a range of elements of a list
lrem: Remove elements of a list that are equal to one
lset: Set the element at an index of a list
ltrim: Remove all elements of a list but a range
memory: A container for commands of memory
memory|doctor: Tell in words whether memory is used well
memory|help: Tell how the subcommands are used
memory|malloc-stats: Tell what the allocator tells
memory|purge: Give memory back that is not used
memory|stats: Tell what memory is used for
memory|usage: Tell how many bytes a key takes
mget: Tell the strings of some keys
migrate: Move keys to another server
module: A container for commands of modules
module|help: Tell how the subcommands are used
module|list: List the modules that are loaded
module|load: Load a module
module|loadex: Load a module with parameters
module|unload: Remove a module
monitor: Be told every command that the server runs
move: Move a key to another database
mset: Set the strings of some keys, all at once
msetnx: Set the strings of some keys, if none of them is there
multi: Queue the commands that follow, until EXEC
object: A container for commands that tell how values are kept
object|encoding: Tell how Redis would keep the value of a key
object|freq: Tell how often a key is used
object|help: Tell how the subcommands are used
object|idletime: Tell for how many seconds a key was not used
object|refcount: Tell how many references there are to a value
persist: Let a key not end any more
pexpire: Let a key end in so many milliseconds
pexpireat: Let a key end at a millisecond since 1970
pexpiretime: Tell at which millisecond since 1970 a key ends
pfadd: Add elements to a HyperLogLog, which is made if it is not there
pfcount: Estimate how many different elements there are
pfdebug: Tell what is in a HyperLogLog
pfmerge: Join HyperLogLogs into one
pfselftest: Test the code of HyperLogLogs
ping: Answer, to show that the connection works
psetex: Set the string of a key, and let it end in so many milliseconds
psubscribe: Be told the messages of channels that fit patterns
psync: Ask for the changes of a master
pttl: Tell in how many milliseconds a key ends
publish: Send a message to a channel
pubsub: A container for commands that tell who is subscribed
pubsub|channels: List the channels that have subscribers
pubsub|help: Tell how the subcommands are used
pubsub|numpat: Count the patterns that clients are subscribed to
pubsub|numsub: Count the subscribers of channels
pubsub|shardchannels: List the shard channels that have subscribers
pubsub|shardnumsub: Count the subscribers of shard channels
punsubscribe: Be told no more of channels that fit patterns
quit: End the connection
randomkey: Tell any key of the database
readonly: Allow reading from a replica of a cluster
readwrite: Allow no reading from a replica of a cluster
rename: Give a key another name, in the place of what has that name
renamenx: Give a key another name, if nothing has that
replconf: Talk of a replica with its master
replicaof: Make this server a replica, or a master
reset: Make the connection as it was when it began
restore: Make a key of the bytes of DUMP
restore-asking: Make a key of the bytes of DUMP, in a cluster
role: Tell whether this is a master or a replica
rpop: Take elements from the end of a list
rpoplpush: Move the last element of a list to the front of another
rpush: Put elements at the end of a list, which is made if it is not there
rpushx: Put elements at the end of a list that is there
sadd: Add members to a set, which is made if it is not there
save: Take a checkpoint, and wait for it
scan: Go through the keys of the database, some at a time
scard: Count the members of a set
script: A container for commands of scripts
script|debug: Choose how scripts are debugged
script|exists: Tell which scripts are known by their hashes
script|flush: Forget the scripts
script|help: Tell how the subcommands are used
script|kill: End the script that is running
script|load: Make a script known, and tell its hash
sdiff: Tell the members of a set that others do not have
sdiffstore: Store the members of a set that others do not have
select: Choose the database of this connection
set: Set the string of a key, whatever it was, with conditions and an end
setbit: Set one bit of a string, and tell what it was
setex: Set the string of a key, and let it end in so many seconds
setnx: Set the string of a key that is not there
setrange: Write bytes over a part of a string
shutdown: End the server
sinter: Tell the members that all of some sets have
sintercard: Count the members that all of some sets have
sinterstore: Store the members that all of some sets have
sismember: Tell whether a set has a member
slaveof: Make this server a replica, or a master
slowlog: A container for commands of the log of slow commands
slowlog|get: List the latest slow commands
slowlog|help: Tell how the subcommands are used
slowlog|len: Count the commands in the log
slowlog|reset: Empty the log
smembers: List the members of a set
smismember: Tell which of some members a set has
smove: Move a member from one set to another
sort: Sort the elements of a list, set or sorted set, and perhaps store them
sort_ro: Sort the elements of a list, set or sorted set
spop: Take members of a set at random
spublish: Send a message to a shard channel
srandmember: Tell members of a set at random
srem: Remove members of a set
sscan: Go through the members of a set, some at a time
ssubscribe: Be told the messages of shard channels
strlen: Tell the length of a string
subscribe: Be told the messages of channels
substr: Tell a part of a string
sunion: Tell the members that any of some sets has
sunionstore: Store the members that any of some sets has
sunsubscribe: Be told no more of shard channels
swapdb: Exchange two databases
sync: Ask for a copy of a master
time: Tell the time of the server
touch: Count keys as used now, and tell how many are there
ttl: Tell in how many seconds a key ends
type: Tell the type of a key
unlink: Delete keys
unsubscribe: Be told no more of channels
unwatch: Watch no keys any more
wait: Wait until replicas have the changes of this connection
watch: Let EXEC do nothing if these keys are changed before
xack: Say that messages of a group were dealt with
xadd: Add an entry to a stream, which is made if it is not there
xautoclaim: Take over messages that others have left for a time, going through the group
xclaim: Take over messages of a group
xdel: Delete entries of a stream
xgroup: A container for commands that change groups
xgroup|create: Make a group of a stream
xgroup|createconsumer: Make a consumer of a group
xgroup|delconsumer: Remove a consumer of a group
xgroup|destroy: Remove a group
xgroup|help: Tell how the subcommands are used
xgroup|setid: Say after which entry a group goes on
xinfo: A container for commands that tell about streams
xinfo|consumers: List the consumers of a group
xinfo|groups: List the groups of a stream
xinfo|help: Tell how the subcommands are used
xinfo|stream: Tell about a stream
xlen: Count the entries of a stream
xpending: List the messages of a group that are not dealt with
xrange: Tell a range of entries of a stream
xread: Tell the entries of streams after an id; wait for one if there is none
xreadgroup: Give entries of streams to a consumer of a group; wait for one if there is none
xrevrange: Tell a range of entries of a stream, the last first
xsetid: Set the last id of a stream
xtrim: Delete the oldest entries of a stream
zadd: Add members with scores to a sorted set, or change their scores
zcard: Count the members of a sorted set
zcount: Count the members with scores in a range
zdiff: Tell the members of a sorted set that others do not have
zdiffstore: Store the members of a sorted set that others do not have
zincrby: Add to the score of a member
zinter: Tell the members that all of some sorted sets have
zintercard: Count the members that all of some sorted sets have
zinterstore: Store the members that all of some sorted sets have
zlexcount: Count the members in a range of names
zmpop: Take members from the first sorted set that has any
zmscore: Tell the scores of some members
zpopmax: Take the members with the highest scores
zpopmin: Take the members with the lowest scores
zrandmember: Tell members of a sorted set at random
zrange: Tell a range of members, by index, score or name
zrangebylex: Tell the members in a range of names
zrangebyscore: Tell the members with scores in a range
zrangestore: Store a range of members
zrank: Tell the index of a member, the lowest score first
zrem: Remove members of a sorted set
zremrangebylex: Remove the members in a range of names
zremrangebyrank: Remove the members in a range of indexes
zremrangebyscore: Remove the members with scores in a range
zrevrange: Tell a range of members by index, the highest score first
zrevrangebylex: Tell the members in a range of names, the last first
zrevrangebyscore: Tell the members with scores in a range, the highest first
zrevrank: Tell the index of a member, the highest score first
zscan: Go through the members of a sorted set, some at a time
zscore: Tell the score of a member
zunion: Tell the members that any of some sorted sets has
zunionstore: Store the members that any of some sorted sets has
]]
