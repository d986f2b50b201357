%OH ; %OH, an octal number, to hexadecimal.
 SET %OH=$$FUNC(%OH)
 QUIT
INT ; asked for
 READ !,"Octal: ",%OH
 SET %OH=$$FUNC(%OH)
 QUIT
FUNC(oct) ; "" if it begins with a minus
 NEW d
 SET d=$$FUNC^%OD(oct)
 IF d="" QUIT ""
 SET d=$$BASE^%DH(d,0,16)
 QUIT $SELECT(d="":0,1:d)
