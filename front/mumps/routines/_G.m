%G ; Globals are shown, as they are asked for: a name, with subscripts as ZWRITE has them, or * and ?.
 NEW dev,name,old,x
 SET old=$IO
 READ !,"Output device: <terminal>: ",dev WRITE !
 IF dev'="" OPEN dev:(NEWVERSION:STREAM:NOWRAP)
 FOR  USE old READ !,"List ^",x WRITE ! QUIT:x=""  DO
 . IF $EXTRACT(x)="^" SET x=$EXTRACT(x,2,$LENGTH(x))
 . IF x="?D"!(x="?d") DO ^%GD QUIT
 . USE:dev'="" dev
 . IF x["("!($TRANSLATE(x,"*?:")=x) DO ONE(x) QUIT
 . SET name="^%"
 . IF $DATA(^%),$$MATCH^%RSEL("%",x) ZWRITE ^%
 . FOR  SET name=$ORDER(@name) QUIT:name=""  IF $$MATCH^%RSEL($EXTRACT(name,2,$LENGTH(name)),x) ZWRITE @name
 CLOSE:dev'="" dev
 USE old
 QUIT
ONE(x) ; one global, or what ZWRITE makes of it; an error is shown
 NEW $ETRAP
 SET $ETRAP="WRITE !,$PIECE($ZSTATUS,"","",3,99),! SET $ECODE="""""
 ZWRITE @("^"_x)
 QUIT
