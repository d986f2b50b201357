%MPIECE(str,expr1,expr2) ; str with runs of expr1, or of white space, as one expr2, or one space; without those in front
 NEW out,p,i
 SET p=$$SPLITS(.i,str,.expr1),out=$GET(i(1))
 FOR p=2:1:i SET out=out_$GET(expr2," ")_i(p)
 QUIT out
SPLIT(str,expr1) ; the pieces as an array
 NEW fields
 IF $$SPLITS(.fields,str,.expr1) ZKILL fields
 QUIT *fields
SPLITS(to,str,expr1) ; to(1), to(2)...; to is how many there are
 NEW b,e,white,n
 SET white=$CHAR(9,10,11,12,13,32),n=0
 IF $GET(expr1)="" SET str=$TRANSLATE(str,white,$JUSTIFY("",$LENGTH(white))),b=" "
 ELSE  SET b=expr1
 FOR e=1:1:$LENGTH(str,b) IF $PIECE(str,b,e)'=""!(n&(e=$LENGTH(str,b))) SET n=n+1,to(n)=$PIECE(str,b,e)
 SET to=n
 QUIT n
