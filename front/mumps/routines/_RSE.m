%RSE ; Every occurrence of a text in the routines that are selected.
 NEW %ZR,count,dev,find,hits,line,marks,name,old,with
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
FILE(path) ;
 NEW i,line,some
 DO LINES(path,.line)
 SET some=0
 USE dev WRITE !,path,!
 FOR i=1:1:line SET marks=$$MARKS(line(i),find) IF marks'="" WRITE line(i),!,marks,! SET some=1
 SET with=with+some
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
