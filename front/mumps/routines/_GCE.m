%GCE ; Every occurrence of a text in the globals that are selected becomes another.
 NEW quiet
 SET quiet=0
ASK ;
 NEW %ZG,dev,find,hits,name,new,old,show
 WRITE !,"Global Change Every occurrence",!
 FOR  DO ^%GSEL QUIT:'%ZG  READ !,"Old string: ",find WRITE ! QUIT:find=""  DO ALL
 QUIT
QUIET ; without the names of globals that do not change
 NEW quiet
 SET quiet=1
 GOTO ASK
ALL ;
 READ "New string: ",new WRITE !
 READ "Show changed nodes <Yes>? ",show WRITE !
 SET show=$ZCONVERT($EXTRACT(show),"U")'="N",dev=$$DEVICE^%RSE,old=$IO,name=""
 USE dev
 FOR  SET name=$ORDER(%ZG(name)) QUIT:name=""  DO ONE(name)
 USE old
 IF dev'=$PRINCIPAL CLOSE dev
 QUIT
ONE(name) ;
 NEW nodes,text,top
 SET top=name
 WRITE:'quiet name,?10,!
 SET (hits,nodes)=0
 IF $DATA(@name)#10=0 SET name=$QUERY(@name)
 FOR  QUIT:name=""  SET nodes=nodes+1,text=$$TEXT^%RCE(@name,find,new) DO:text'=@name  SET name=$QUERY(@name)
 . IF quiet,top'="" WRITE top,?10,!
 . SET top=""
 . IF show WRITE name,!,"Was : ",@name,!,"Now : ",text,!,!
 . SET @name=text
 IF quiet,'hits QUIT
 WRITE !,hits," changes made in total ",nodes," nodes.",!
 QUIT
