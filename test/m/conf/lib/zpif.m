zpif ; prints itself if it is told to
 zp:1  w "|"
 q
