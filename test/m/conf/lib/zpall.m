zpall ; prints itself
 zp
 zp:0  zp @""
 q
