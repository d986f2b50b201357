%TRIM ; Lines from standard input, without spaces and tabs around.
 NEW line
 FOR  READ line QUIT:$ZEOF  WRITE $$FUNC(line),!
 QUIT
FUNC(s,c) ; without the characters of c, else tabs and spaces, on both sides
 QUIT $$R($$L(s,.c),.c)
L(s,c) ; on the left
 NEW i
 SET c=$GET(c,$CHAR(9,32))
 FOR i=1:1:$LENGTH(s)+1 QUIT:c'[$EXTRACT(s,i)!($EXTRACT(s,i)="")
 QUIT $EXTRACT(s,i,$LENGTH(s))
R(s,c) ; on the right
 NEW i
 SET c=$GET(c,$CHAR(9,32))
 FOR i=$LENGTH(s):-1:0 QUIT:c'[$EXTRACT(s,i)!(i=0)
 QUIT $EXTRACT(s,1,i)
