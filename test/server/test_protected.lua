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

check.run()
