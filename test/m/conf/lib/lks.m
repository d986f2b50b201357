lks ; the locks that this process has, without counters
 n i,o zsh "L":o
 f i=1:1 q:'$d(o("L",i))  w o("L",i),";"
 q
