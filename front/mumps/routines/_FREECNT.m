%FREECNT ; Free and total blocks of the database, which is one region.
 NEW free,total
 SET free=$VIEW("FREEBLOCKS","DEFAULT"),total=$VIEW("TOTALBLOCKS","DEFAULT")
 WRITE "Region          Free     Total          Database file",!
 WRITE "------          ----     -----          -------------",!
 WRITE "DEFAULT",?11,$JUSTIFY(free,9),$JUSTIFY(total,10)," ("
 WRITE $JUSTIFY($SELECT(total:100*free/total,1:0),5,1),"%) ",$VIEW("GVFILE","DEFAULT"),!
 QUIT
