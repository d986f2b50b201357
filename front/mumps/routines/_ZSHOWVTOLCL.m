%ZSHOWVTOLCL ; Local variables from what ZSHOW "V":@%ZSHOWvbase stored; those that are there stay as far as they are not set.
 NEW %ZSHOWi
 SET %ZSHOWi=""
 FOR  SET %ZSHOWi=$ORDER(@%ZSHOWvbase@("V",%ZSHOWi)) QUIT:%ZSHOWi=""  SET @$GET(@%ZSHOWvbase@("V",%ZSHOWi))
 KILL %ZSHOWvbase
 QUIT
