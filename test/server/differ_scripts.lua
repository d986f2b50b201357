-- Scripts: script_texts.lua makes their texts. No WATCH: a key that a script makes and deletes was not
-- changed here, as nobody could see it.
local shas = {"e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "4E6D8FC8BB01276962CCE5371FA795A7763657AE", "x"}
-- Without names of libc and of Lua in messages, which are not promises.
local function plain(bytes) return (bytes:gsub("(%-ERR Error compiling)[^\r]*", "%1")) end

return {
    makers = {script = require "script_texts", sha = function() return shas[math.random(#shas)] end},
    "eval script 1 key value value", "eval script 1 key value", "eval script 2 key key value",
    "eval script 0",
    "eval script 1 key value value", "eval script count key value", "eval_ro script 1 key value",
    "evalsha sha 0", "evalsha sha 1 key value", "script load script", "script exists sha sha", "script flush",
    "script nope", "script flush [sync|async|nope]", "set key value", "set key 5", "get key", "del key",
    "hset key f value", "hget key f", "hlen key", "del key",
    "multi", "exec", "exec",
    probes = {"EXEC", "GET KEY", "HLEN KEY"},
    alike = function(_, a, b) return plain(a) == plain(b) end,
}
