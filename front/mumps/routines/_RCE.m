%RCE ; Every occurrence of a text in the routines that are selected becomes another.
 NEW given,quiet
 SET (given,quiet)=0
ASK ;
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
QUIET ; without the names of routines that do not change
 NEW given,quiet
 SET quiet=1,given=0
 GOTO ASK
QCALL ; the same of CALL
 NEW given,quiet
 SET (given,quiet)=1
 GOTO GIVEN
CALL ; asks nothing: %ZF becomes %ZN in those that %ZR has; %ZC: tell what changes to the device %ZD, which is open
 NEW given,quiet
 SET given=1,quiet=0
GIVEN ;
 NEW dev,find,hits,name,new,old,show,with
 IF '$DATA(%ZR) DO ^%RSEL
 SET find=$GET(%ZF),new=$GET(%ZN),dev=$GET(%ZD,$PRINCIPAL),show=+$GET(%ZC),old=$IO,(hits,with)=0,name=""
 IF find="" QUIT
 USE dev
 FOR  SET name=$ORDER(%ZR(name)) QUIT:name=""  DO FILE($$PATH^%RSE(name))
 USE old
 QUIT
FILE(path) ;
 NEW i,line,some,text
 DO LINES^%RSE(path,.line)
 SET some=0
 USE dev
 IF show,'quiet DO NAME
 FOR i=1:1:line SET text=$$TEXT(line(i),find,new) DO:text'=line(i) CHANGED
 IF 'some QUIT
 SET with=with+1
 OPEN path:(NEWVERSION:STREAM:NOWRAP) USE path
 FOR i=1:1:line WRITE line(i),!
 CLOSE path USE dev
 QUIT
NAME ; of the file; given: lines begin where others end
 IF given WRITE !,!,path
 ELSE  WRITE !,path,!
 QUIT
CHANGED ; line i is to be text
 IF show,quiet,'some DO NAME
 IF show,given WRITE !,"Was: ",line(i),!,"Now: ",text
 IF show,'given WRITE "Was: ",line(i),!,"Now: ",text,!
 SET line(i)=text,some=1
 QUIT
TEXT(text,find,new) ; hits counts
 NEW n,out
 SET n=$LENGTH(text,find)
 IF n<2 QUIT text
 SET hits=hits+n-1,out=$PIECE(text,find)
 FOR n=2:1:n SET out=out_new_$PIECE(text,find,n)
 QUIT out
