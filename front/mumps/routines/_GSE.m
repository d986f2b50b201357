%GSE ; Every occurrence of a text in the globals that are selected.
 NEW quiet
 SET quiet=0
ASK ;
 NEW %ZG,dev,find,hits,name,old
 WRITE !,"Global Search for Every Occurrence",!
 SET dev=$$DEVICE^%RSE,old=$IO
 FOR  DO ^%GSEL QUIT:'%ZG  READ "Find string: ",find WRITE ! QUIT:find=""  DO ALL
 IF dev'=$PRINCIPAL CLOSE dev
 QUIT
QUIET ; without the names of globals that do not have it
 NEW quiet
 SET quiet=1
 GOTO ASK
ALL ;
 SET name=""
 USE dev WRITE !
 FOR  SET name=$ORDER(%ZG(name)) QUIT:name=""  DO ONE(name)
 USE old
 QUIT
ONE(name) ;
 NEW marks,nodes,top
 SET top=name
 WRITE:'quiet name,?10,!
 SET (hits,nodes)=0
 IF $DATA(@name)#10=0 SET name=$QUERY(@name)
 FOR  QUIT:name=""  SET nodes=nodes+1,marks=$$MARKS^%RSE(@name,find) DO:marks'=""  SET name=$QUERY(@name)
 . IF quiet,top'="" WRITE top,?10,!
 . SET top=""
 . WRITE name,?16,@name,!,?16,marks,!
 IF quiet,'hits QUIT
 WRITE !,"Total ",hits," matches found in ",nodes," nodes.",!
 QUIT
