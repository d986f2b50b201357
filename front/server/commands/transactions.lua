-- Commands of the group transactions: ../commands.lua says what a row holds.
return {
    {"discard", 1, "noscript loading stale fast allow_busy", "transaction", since = "2.0.0", time = "O(N)"},
    {"exec", 1, "noscript loading stale skip_slowlog", "transaction", since = "1.2.0"},
    {"multi", 1, "noscript loading stale fast allow_busy", "transaction", since = "1.2.0", time = "O(1)"},
    {"unwatch", 1, "noscript loading stale fast allow_busy", "transaction", since = "2.2.0", time = "O(1)"},
    {"watch", -2, "noscript loading stale fast allow_busy", "transaction", since = "2.2.0", time = "O(1)",
     keys = {"RO; index 1; range -1 1 0"}},
}
