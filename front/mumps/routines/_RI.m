%RI ; Routines from a file that %RO wrote.
 NEW dev,dir,feed,lines,n,name,old,text,$ETRAP
 WRITE !,"Routine Input Utility - Converts RO file to *.m files.",!
 READ !,"Formfeed delimited <No>? ",feed WRITE !
 SET old=$IO,(lines,n)=0
ASK READ "Input device: <terminal>: ",dev WRITE !
 IF dev="" QUIT
 IF $ZSEARCH("/no/such/*")_$ZSEARCH(dev)="" WRITE !,"There is no file ",dev,!,! GOTO ASK
 OPEN dev:READONLY USE dev READ text USE old WRITE !,text,!
 USE dev READ text USE old WRITE text,!,!,!
 READ "Output directory : ",dir WRITE !,!
 IF dir'="",$EXTRACT(dir,$LENGTH(dir))'="/" SET dir=dir_"/"
 FOR  USE dev READ name QUIT:$ZEOF  IF $TRANSLATE(name,$CHAR(12))'="" DO ONE($PIECE($TRANSLATE(name,$CHAR(12)),"^"))
 CLOSE dev USE old
 WRITE !,!,!,"Restored ",lines," line",$SELECT(lines=1:"",1:"s")," in ",$$COUNT^%RSEL(n,"routine"),!
 QUIT
ONE(name) ; a routine ends by an empty line
 NEW file
 SET file=dir_$TRANSLATE(name,"%","_")_".m",n=n+1
 USE old WRITE name,?$X\10+1*10
 OPEN file:(NEWVERSION:STREAM:NOWRAP)
 FOR  USE dev READ text QUIT:$ZEOF!(text="")  SET lines=lines+1 USE file WRITE text,!
 CLOSE file
 QUIT
