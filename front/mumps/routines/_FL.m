%FL ; The first lines of the routines that are selected, up to one that is no comment.
 NEW %ZR,dev,i,line,n,name,old
 WRITE !,"First Line Lister",!
 IF '$$SELECT^%RSE QUIT
 SET dev=$$DEVICE^%RSE,old=$IO,n=0,name=""
 USE dev
 WRITE !,"Routine First Line Lister Utility",!,$PIECE($ZVERSION," ")," ",$ZDATE($HOROLOG,"DD-MON-YEAR 24:60:SS"),!
 FOR  SET name=$ORDER(%ZR(name)) QUIT:name=""  DO
 . DO LINES^%RSE($$PATH^%RSE(name),.line)
 . WRITE name,!
 . FOR i=1:1:line QUIT:i>1&($TRANSLATE($PIECE(line(i),";"),$CHAR(9,32))'="")  QUIT:i>1&(line(i)'[";")  WRITE line(i),! SET n=n+1
 . WRITE !
 WRITE !,!,"Total of ",n," line",$SELECT(n=1:"",1:"s")," in ",$$COUNT^%RSEL(%ZR,"routine"),!,!
 USE old
 IF dev'=$PRINCIPAL CLOSE dev
 QUIT
