%GI ; Globals from a file that %GO, or mupip extract, wrote.
 NEW dev,first,line,n,names,ok,old,second
 WRITE !,"Global Input Utility",!
 READ !,"Input device: <terminal>: ",dev WRITE !
 IF dev="" QUIT
 SET old=$IO,n=0,names=0
 OPEN dev:(READONLY:STREAM:NOWRAP)
 USE dev
 READ first,second
 USE old
 WRITE !,!,first,!,second,!
 READ !,"OK <Yes>? ",ok WRITE !
 IF ok'="",$ZCONVERT($EXTRACT(ok),"U")'="Y" CLOSE dev QUIT
 WRITE !
 IF $PIECE(second," ",$LENGTH(second," "))="ZWR" DO ZWR
 ELSE  DO GO
 CLOSE dev
 WRITE !,!,"Restored ",$$TOTAL^%GO(n,names)
 QUIT
ZWR ; lines ^name(...)=value
 FOR  USE dev READ line QUIT:$ZEOF  DO:$EXTRACT(line)="^"
 . SET @line,n=n+1
 . USE old
 . DO NAME($PIECE($PIECE(line,"="),"("))
 USE old
 QUIT
GO ; a line with the name, a line with the value
 NEW value
 FOR  USE dev READ line QUIT:$ZEOF!(line="")  READ value QUIT:$ZEOF  DO
 . SET @line=value,n=n+1
 . USE old
 . DO NAME($PIECE(line,"("))
 USE old
 QUIT
NAME(name) ; shown when it is met first
 IF $DATA(names(name)) QUIT
 SET names(name)="",names=names+1
 WRITE:$X+$LENGTH(name)>79 !
 WRITE name,?$X\10+1*10
 QUIT
