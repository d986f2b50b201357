-- DEBUG and MODULE LOAD of a server that was not told to allow them.
-- options: --enable-debug-command no
local check = require "check"
local case, is, fails = check.case, check.is, check.fails

case("DEBUG is refused, also in MULTI, and MODULE LOAD is", function(c)
    fails(c("DEBUG", "SLEEP", "0"),
        "ERR DEBUG command not allowed. If the enable-debug-command option is set")
    fails(c("DEBUG"), "ERR wrong number of arguments for 'debug' command")
    fails(c("MODULE", "LOAD", "a"), "ERR MODULE command not allowed. If the enable-module-command option")
    is(c("MODULE", "LIST"), {})
    c("MULTI")
    fails(c("DEBUG", "SLEEP", "0"), "ERR DEBUG command not allowed.")
    fails(c("EXEC"), "EXECABORT Transaction discarded because of previous errors.")
    is(c("CONFIG", "GET", "enable-debug-command"), {"enable-debug-command", "no"})
end)

case("parameters that say where files are can't be set", function(c)
    local refused = "ERR CONFIG SET failed (possibly related to argument '%s') - can't set %s config"
    fails(c("CONFIG", "SET", "dir", "/tmp"), refused:format("dir", "protected"))
    fails(c("CONFIG", "SET", "maxmemory", "odd", "dbFileName", "x"),
        refused:format("dbFileName", "protected"))
    fails(c("CONFIG", "SET", "maxmemory", "odd", "enable-debug-command", "yes"),
        refused:format("enable-debug-command", "immutable"))
    fails(c("CONFIG", "SET", "nothing", "1", "dir", "x"), "ERR Unknown option or number of arguments")
    is(c("CONFIG", "GET", "dbfilename"), {"dbfilename", "dump.rdb"})
end)

check.run()
