-- Commands of the group hyperloglog: ../commands.lua says what a row holds.
return {
    {"pfadd", -2, "write denyoom fast", "hyperloglog", since = "2.8.9", time = "O(1)",
     keys = {"RW insert; index 1; range 0 1 0"}},
    {"pfcount", -2, "readonly may_replicate", "hyperloglog", since = "2.8.9", time = "O(1)",
     keys = {"RW access; index 1; range -1 1 0"}},
    {"pfdebug", 3, "write denyoom admin", "hyperloglog", since = "2.8.9", doc_flags = "syscmd",
     keys = {"RW access; index 2; range 0 1 0"}},
    {"pfmerge", -2, "write denyoom", "hyperloglog", since = "2.8.9", time = "O(N)",
     keys = {"RW access insert; index 1; range 0 1 0", "RO access; index 2; range -1 1 0"}},
    {"pfselftest", 1, "admin", "hyperloglog", since = "2.8.9", doc_flags = "syscmd"},
}
