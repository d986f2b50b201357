-- Commands of the group pubsub: ../commands.lua says what a row holds.
return {
    {"psubscribe", -2, "pubsub noscript loading stale", "", since = "2.0.0", time = "O(N)"},
    {"publish", 3, "pubsub loading stale fast may_replicate", "", since = "2.0.0", time = "O(N+M)"},
    {"pubsub", -2, "", "", since = "2.8.0",
     sub = {
      {"pubsub|help", 2, "loading stale", "", since = "6.2.0", time = "O(1)"},
      {"pubsub|channels", -2, "pubsub loading stale", "", since = "2.8.0", time = "O(N)"},
      {"pubsub|numpat", 2, "pubsub loading stale", "", since = "2.8.0", time = "O(1)"},
      {"pubsub|shardnumsub", -2, "pubsub loading stale", "", since = "7.0.0", time = "O(N)"},
      {"pubsub|shardchannels", -2, "pubsub loading stale", "", since = "7.0.0", time = "O(N)"},
      {"pubsub|numsub", -2, "pubsub loading stale", "", since = "2.8.0", time = "O(N)"},
     }},
    {"punsubscribe", -1, "pubsub noscript loading stale", "", since = "2.0.0", time = "O(N+M)"},
    {"spublish", 3, "pubsub loading stale fast may_replicate", "", since = "7.0.0", time = "O(N)",
     keys = {"not_key; index 1; range 0 1 0"}},
    {"ssubscribe", -2, "pubsub noscript loading stale", "", since = "7.0.0", time = "O(N)",
     keys = {"not_key; index 1; range -1 1 0"}},
    {"subscribe", -2, "pubsub noscript loading stale", "", since = "2.0.0", time = "O(N)"},
    {"sunsubscribe", -1, "pubsub noscript loading stale", "", since = "7.0.0", time = "O(N)",
     keys = {"not_key; index 1; range -1 1 0"}},
    {"unsubscribe", -1, "pubsub noscript loading stale", "", since = "2.0.0", time = "O(N)"},
}
