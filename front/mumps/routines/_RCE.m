%RCE ; Every occurrence of a text in the routines that are selected becomes another.
 NEW %ZR,dev,find,hits,name,new,old,show,with
 WRITE !,"Routine Change Every occurrence",!
 IF '$$SELECT^%RSE QUIT
 READ !,"Old string: ",find WRITE !
 IF find="" WRITE "No search string to find - no change performed",! QUIT
 READ "New string: ",new WRITE !
 WRITE "Replace all occurrences of:",!,">",find,"<",!,"With: ",!,">",new,"<",!
 READ !,"Show changed lines <Yes>?: ",show WRITE !
 SET show=$ZCONVERT($EXTRACT(show),"U")'="N",old=$IO,(hits,with)=0,name="",dev=$PRINCIPAL
 SET:show dev=$$DEVICE^%RSE
 USE dev WRITE:show !,! WRITE:'show !
 FOR  SET name=$ORDER(%ZR(name)) QUIT:name=""  WRITE:'show name,?$X\10+1*10 DO FILE($$PATH^%RSE(name))
 IF 'show WRITE !
 DO TOTAL^%RSE("changed")
 QUIT
FILE(path) ;
 NEW i,line,some,text
 DO LINES^%RSE(path,.line)
 SET some=0
 USE dev WRITE:show !,path,!
 FOR i=1:1:line SET text=$$TEXT(line(i),find,new) IF text'=line(i) DO
 . IF show WRITE "Was: ",line(i),!,"Now: ",text,!
 . SET line(i)=text,some=1
 IF 'some QUIT
 SET with=with+1
 OPEN path:(NEWVERSION:STREAM:NOWRAP) USE path
 FOR i=1:1:line WRITE line(i),!
 CLOSE path USE dev
 QUIT
TEXT(text,find,new) ; hits counts
 NEW n,out
 SET n=$LENGTH(text,find)
 IF n<2 QUIT text
 SET hits=hits+n-1,out=$PIECE(text,find)
 FOR n=2:1:n SET out=out_new_$PIECE(text,find,n)
 QUIT out
