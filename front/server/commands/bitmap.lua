-- Commands of the group bitmap: ../commands.lua says what a row holds.
return {
    {"bitcount", -2, "readonly", "bitmap", since = "2.6.0", time = "O(N)",
     keys = {"RO access; index 1; range 0 1 0"}},
    {"bitfield", -2, "write denyoom", "bitmap", since = "3.2.0", time = "O(1)",
     keys = {"RW access update variable_flags; index 1; range 0 1 0"}},
    {"bitfield_ro", -2, "readonly fast", "bitmap", since = "6.0.0", time = "O(1)",
     keys = {"RO access; index 1; range 0 1 0"}},
    {"bitop", -4, "write denyoom", "bitmap", since = "2.6.0", time = "O(N)",
     keys = {"OW update; index 2; range 0 1 0", "RO access; index 3; range -1 1 0"}},
    {"bitpos", -3, "readonly", "bitmap", since = "2.8.7", time = "O(N)",
     keys = {"RO access; index 1; range 0 1 0"}},
    {"getbit", 3, "readonly fast", "bitmap", since = "2.2.0", time = "O(1)",
     keys = {"RO access; index 1; range 0 1 0"}},
    {"setbit", 4, "write denyoom", "bitmap", since = "2.2.0", time = "O(1)",
     keys = {"RW access update; index 1; range 0 1 0"}},
}
