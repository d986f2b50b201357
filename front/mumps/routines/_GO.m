%GO ; Globals to a file: those that are selected, in ZWR or GO format.
 NEW %ZG,dev,format,label,n,name,old
 WRITE !,"Global Output Utility",!
 DO ^%GSEL
 IF '%ZG QUIT
 READ !,"Header Label: ",label WRITE !
 READ !,"Output Format: GO or ZWR: ",format WRITE !
 READ !,"Output device: <terminal>: ",dev WRITE !
 SET format=$SELECT($ZCONVERT($EXTRACT(format),"U")="G":"GO",1:"ZWR"),old=$IO,n=0,name=""
 IF dev'="" OPEN dev:(NEWVERSION:STREAM:NOWRAP)
 USE:dev'="" dev
 WRITE label,!,"YottaDB ",$ZDATE($HOROLOG,"DD-MON-YEAR 24:60:SS"),$SELECT(format="ZWR":" ZWR",1:""),!
 USE old
 WRITE !,!
 FOR  SET name=$ORDER(%ZG(name)) QUIT:name=""  WRITE:$X+$LENGTH(name)>79 ! WRITE name,?$X\10+1*10 USE:dev'="" dev SET n=n+$$OUT(name,format) USE old
 IF dev'="",format="GO" USE dev WRITE !,! USE old
 CLOSE:dev'="" dev
 WRITE ! WRITE !,"Total of ",$$TOTAL(n,%ZG),!,!
 QUIT
TOTAL(n,globals) ;
 QUIT n_" node"_$SELECT(n=1:"",1:"s")_" in "_$$COUNT^%RSEL(globals,"global")
OUT(name,format) ; one global to the current device: how many nodes it has
 NEW n
 SET n=0
 IF $DATA(@name)#10=0 SET name=$QUERY(@name)
 FOR  QUIT:name=""  SET n=n+1 WRITE name,$SELECT(format="ZWR":"="_$ZWRITE(@name)_$CHAR(10),1:$CHAR(10)_@name_$CHAR(10)) SET $X=0,name=$QUERY(@name)
 QUIT n
