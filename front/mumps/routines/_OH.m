%OH ; %OH, an octal number, to hexadecimal.
 SET %OH=$$FUNC(%OH)
 QUIT
INT ; asked for
 READ !,"Octal: ",%OH
 SET %OH=$$FUNC(%OH)
 QUIT
FUNC(oct) ; "" if it begins with a minus
 IF "-"=$EXTRACT(oct) QUIT ""
 QUIT $$GROUPS^%HD(oct,4,8,3)
