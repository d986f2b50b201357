%HO ; %HO, a hexadecimal number, to octal.
 SET %HO=$$FUNC(%HO)
 QUIT
INT ; asked for
 READ !,"Hexadecimal: ",%HO
 SET %HO=$$FUNC(%HO)
 QUIT
FUNC(h) ; "" if it begins with a minus
 NEW d
 SET d=$$FUNC^%HD(h)
 IF d="" QUIT ""
 SET d=$$BASE^%DH(d,0,8)
 QUIT $SELECT(d="":0,1:d)
