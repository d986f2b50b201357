%SQROOT ; %Y, the square root of %X.
 SET %Y=$$FUNC(%X)
 QUIT
INT ; asked for, again and again
 NEW %X
 FOR  READ !,"The square root of: ",%X QUIT:%X=""  WRITE " is: ",$$FUNC(%X)
 QUIT
FUNC(s) ;
 QUIT $SELECT(s<0:"i"_(-s**.5),s=0:0,1:s**.5)
