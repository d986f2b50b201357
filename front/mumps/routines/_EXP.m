%EXP ; %I to the power of %J.
 SET %I=$$FUNC(%I,%J)
 QUIT
INT ; asked for
 NEW %I,%J
 READ !,"Power: ",%J READ !,"Number: ",%I
 WRITE !,%I," raised to ",%J," is ",$$FUNC(%I,%J)
 QUIT
FUNC(i,j) ;
 QUIT i**j
