%GC ; A global, or what is below a node, is copied to another.
 NEW from,show,to
 WRITE !,"Global copy",!
 READ !,"Show copied nodes <Yes>? ",show WRITE !
 SET show=$ZCONVERT($EXTRACT(show),"U")'="N"
 FOR  READ "From global ^",from WRITE ! QUIT:from=""  DO ONE($$NAME(from))
 QUIT
NAME(x) ;
 QUIT $SELECT($EXTRACT(x)="^":x,1:"^"_x)
ONE(from) ;
 IF '$DATA(@from) WRITE "Global ",from," does not exist.",! QUIT
 READ "To global   ^",to WRITE !
 IF to="" QUIT
 NEW at,depth,end,n
 SET to=$$NAME(to)
 IF $DATA(@to) WRITE !,"Global ",to," already exists.",! QUIT
 SET n=0,at=from,depth=$QLENGTH(from),end=0
 IF $DATA(@from)#10 SET n=n+1,@to=@from WRITE:show to,"=",$ZWRITE(@to),!
 FOR  SET at=$QUERY(@at) QUIT:$SELECT(at="":1,1:$NAME(@at,depth)'=$NAME(@from))  DO
 . NEW i,there
 . SET there=to
 . FOR i=depth+1:1:$QLENGTH(at) SET there=$NAME(@there@($QSUBSCRIPT(at,i)))
 . SET n=n+1,@there=@at WRITE:show there,"=",$ZWRITE(@at),!
 WRITE "Total ",n," nodes copied.",!,!
 QUIT
