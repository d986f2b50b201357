%RSE ; Every occurrence of a text in the routines that are selected.
 NEW quiet
 SET quiet=0
ASK ;
 NEW %ZR,dev,find,hits,marks,name,old,with
 WRITE !,"Routine Search for Every occurrence",!
 IF '$$SELECT QUIT
 READ !,"Find string: ",find WRITE !
 IF find="" WRITE "No search string to find - no search performed",! QUIT
 WRITE "Find all occurrences of:",!,">",find,"<",!
 SET dev=$$DEVICE,old=$IO,(count,hits,with)=0,name=""
 USE dev WRITE !,!
 FOR  SET name=$ORDER(%ZR(name)) QUIT:name=""  DO FILE($$PATH(name))
 DO TOTAL("found")
 QUIT
QUIET ; without the names of routines that do not have it
 NEW quiet
 SET quiet=1
 GOTO ASK
QCALL ; CALL is quiet on the principal device, this is on others, too
 NEW quiet
 SET quiet=1
 GOTO GIVEN
CALL ; asks nothing: %ZF is looked for in those that %ZR has, and told to the device %ZD, which is open
 NEW quiet
 SET quiet=0
GIVEN ;
 NEW dev,find,hits,marks,name,old,with
 IF '$DATA(%ZR) DO ^%RSEL
 SET find=$GET(%ZF),dev=$GET(%ZD,$PRINCIPAL),old=$IO,(hits,with)=0,name=""
 IF find="" QUIT
 IF dev=$PRINCIPAL SET quiet=2
 USE dev
 IF 'quiet WRITE $ZDATE($HOROLOG,"DD-MON-YEAR 24:60:SS"),!,"Routine Search for Every occurrence of:",!,">",find,"<",!,!
 FOR  SET name=$ORDER(%ZR(name)) QUIT:name=""  DO FILE($$PATH(name))
 USE old
 QUIT
SELECT() ; are there some?
 DO ^%RSEL
 IF '%ZR WRITE !,"No routines selected",!
 QUIT %ZR>0
DEVICE() ; where it goes
 NEW dev
 READ !,"Output device: <terminal>: ",dev WRITE !
 IF dev="" QUIT $PRINCIPAL
 OPEN dev:(NEWVERSION:STREAM:NOWRAP)
 QUIT dev
PATH(name) ; of the file that a routine is in
 QUIT $ZPARSE(%ZR(name)_$TRANSLATE(name,"%","_")_".m")
LINES(path,line) ; the lines of a file: line(1), line(2) and so on
 NEW text
 KILL line
 SET line=0
 OPEN path:READONLY USE path
 FOR  READ text QUIT:$ZEOF  SET line=line+1,line(line)=text
 CLOSE path
 QUIT
FILE(path) ; quiet: 1, its name only if the text is in it; 2, no name
 NEW i,line,some
 DO LINES(path,.line)
 SET some=0
 USE dev
 IF 'quiet WRITE !,path,!
 FOR i=1:1:line SET marks=$$MARKS(line(i),find) IF marks'="" DO FOUND
 SET with=with+some
 QUIT
FOUND ; in line i
 IF quiet=1,'some WRITE !,path,!
 IF quiet=2 WRITE !,line(i),!,marks
 ELSE  WRITE line(i),!,marks,!
 SET some=1
 QUIT
MARKS(text,find) ; what stands below it; hits counts
 NEW at,marks
 SET marks="",at=0
 FOR  SET at=$FIND(text,find,at) QUIT:'at  SET $EXTRACT(marks,at-$LENGTH(find),at-1)=$TRANSLATE($JUSTIFY("",$LENGTH(find))," ","^"),hits=hits+1
 QUIT marks
TOTAL(what) ;
 WRITE !,"Total of ",$PIECE($$COUNT^%RSEL(%ZR,"routine"),".")," parsed.",!
 WRITE hits," occurrence",$SELECT(hits=1:"",1:"s")," ",what," in ",$$COUNT^%RSEL(with,"routine"),!
 USE old
 IF dev'=$PRINCIPAL CLOSE dev
 QUIT
