%GSEL ; Globals are selected: %ZG is how many, %ZG(name) one of them.
 KILL %ZG
 SET %ZG=0
CALL ; more, to those that are selected already
 NEW x
 SET %ZG=+$GET(%ZG)
 FOR  READ !,"Global ^",x WRITE ! QUIT:x=""  DO TAKE(x) WRITE:x'="?" "Current total of ",$$COUNT^%RSEL(%ZG,"global"),!
 QUIT
TAKE(x) ; what x says: a name, with * and ?, from:to, and - or ' in front; ?D shows what is selected
 NEW drop,name,names
 IF x="?D"!(x="?d") MERGE names=%ZG DO SHOW^%RSEL(.names) QUIT
 IF x="?" DO HELP QUIT
 SET drop=x?1(1"-",1"'").E,name="^%"
 IF drop SET x=$EXTRACT(x,2,$LENGTH(x))
 IF $EXTRACT(x)="^" SET x=$EXTRACT(x,2,$LENGTH(x))
 IF $DATA(^%) DO ONE("^%",x,drop,.names)
 FOR  SET name=$ORDER(@name) QUIT:name=""  DO ONE(name,x,drop,.names)
 DO SHOW^%RSEL(.names)
 QUIT
ONE(name,x,drop,names) ;
 IF '$$MATCH^%RSEL($EXTRACT(name,2,$LENGTH(name)),x) QUIT
 IF drop,$DATA(%ZG(name)) KILL %ZG(name) SET %ZG=%ZG-1,names(name)=""
 IF 'drop,'$DATA(%ZG(name)) SET %ZG(name)="",%ZG=%ZG+1
 IF 'drop SET names(name)=""
 QUIT
HELP ; what may be answered
 NEW i,line
 FOR i=1:1 SET line=$TEXT(ANSWERS+i) QUIT:line=""  WRITE !,?2,$PIECE(line,";",2),?25,$PIECE(line,";",3)
 WRITE !
 QUIT
ANSWERS ;
 ;<RET>;to leave
 ;"*";for all
 ;global;for 1 global
 ;global1:global2;for a range
 ;"*" as a wildcard;permitting any number of characters
 ;"%" as a wildcard;for a single character in positions other than the first
 ;"?" as a wildcard;for a single character in positions other than the first
 ;"'" as the 1st character;
 ;;to remove globals from the list
 ;?D;for the currently selected globals
