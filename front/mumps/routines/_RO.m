%RO ; Routines to a file: those that are selected.
 NEW %ZR,dev,i,label,line,n,name,old,strip,text
 WRITE !,"Routine Output - Save selected routines into RO file.",!
 IF '$$SELECT^%RSE QUIT
 SET dev=$$DEVICE^%RSE,old=$IO,n=0
 READ !,"Header Label: ",label WRITE !
 READ "Strip comments <No>?: ",strip WRITE !
 SET strip=$ZCONVERT($EXTRACT(strip),"U")="Y"
 DO WRITE
 IF dev'=$PRINCIPAL CLOSE dev
 USE old
 WRITE !,!,"Total of ",n," line",$SELECT(n=1:"",1:"s")," in ",$$COUNT^%RSEL(%ZR,"routine"),!,!
 QUIT
CALL ; asks nothing: those that %ZR has, to the file %ZD
 NEW dev,i,label,line,n,name,old,strip,text
 IF '$DATA(%ZR) DO ^%RSEL
 SET dev=$GET(%ZD,$PRINCIPAL),old=$IO,n=0,strip=0,label="%RO Routine Output Utility"
 IF dev'=$PRINCIPAL OPEN dev:(NEWVERSION:STREAM:NOWRAP)
 DO WRITE
 IF dev'=$PRINCIPAL CLOSE dev
 USE old
 QUIT
WRITE ; all of them to dev
 USE dev
 WRITE label,!,$PIECE($ZVERSION," ")," ",$ZDATE($HOROLOG,"DD-MON-YEAR 24:60:SS"),!
 SET name=""
 FOR  SET name=$ORDER(%ZR(name)) QUIT:name=""  DO ONE
 WRITE !,!
 QUIT
ONE ;
 DO LINES^%RSE($$PATH^%RSE(name),.line)
 IF dev'=$PRINCIPAL USE old WRITE name,?$X\10+1*10
 USE dev WRITE name,!
 FOR i=1:1:line SET text=$SELECT(strip:$$STRIP(line(i)),1:line(i)) IF text'="" WRITE text,! SET n=n+1
 WRITE !
 QUIT
STRIP(text) ; without its comment, but one of ;;
 NEW at,i
 SET at=0
 FOR i=1:1:$LENGTH(text) IF $EXTRACT(text,i)=";",$LENGTH($EXTRACT(text,1,i),"""")#2 SET at=i QUIT
 IF 'at!($EXTRACT(text,at+1)=";") QUIT text
 QUIT $EXTRACT(text,1,at-1)
