%RSEL ; Routines are selected: %ZR is how many, %ZR(name) the folder of each.
 KILL %ZR
 SET %ZR=0
CALL ; more, to those that are selected already
 NEW list,name,x
 SET %ZR=+$GET(%ZR)
 DO ALL(.list)
 FOR  READ !,"Routine: ",x WRITE ! QUIT:x=""  DO TAKE(.list,x,1) WRITE "Current total of ",$$COUNT(%ZR,"routine"),!
 QUIT
OBJ ; as %RSEL: there are no objects
SRC ;
 GOTO %RSEL
SILENT(pattern,label) ; without questions; label "CALL": to those that are selected already
 NEW list
 IF $GET(label)'="CALL" KILL %ZR
 SET %ZR=+$GET(%ZR)
 DO ALL(.list)
 DO TAKE(.list,pattern,0)
 QUIT
TAKE(list,x,show) ; what x says: a name, with * and ?, from:to, and - or ' in front; ?D shows what is selected
 NEW drop,name,names
 IF x="?D"!(x="?d") MERGE names=%ZR DO SHOW(.names) QUIT
 SET drop=x?1(1"-",1"'").E,name=""
 IF drop SET x=$EXTRACT(x,2,$LENGTH(x))
 FOR  SET name=$ORDER(list(name)) QUIT:name=""  IF $$MATCH(name,x) DO
 . IF drop,$DATA(%ZR(name)) KILL %ZR(name) SET %ZR=%ZR-1,names(name)=""
 . IF 'drop,'$DATA(%ZR(name)) SET %ZR(name)=list(name),%ZR=%ZR+1
 . IF 'drop SET names(name)=""
 IF show DO SHOW(.names)
 QUIT
SHOW(names) ; in columns
 NEW name
 SET name=""
 FOR  SET name=$ORDER(names(name)) QUIT:name=""  WRITE:$X+$LENGTH(name)>79 ! WRITE name,?$X\10+1*10
 WRITE !
 QUIT
COUNT(n,what) ;
 QUIT n_" "_what_$SELECT(n=1:".",1:"s.")
MATCH(name,x) ; is it one of those?
 IF x[":" QUIT name]]$PIECE(x,":")!(name=$PIECE(x,":"))&'(name]]$PIECE(x,":",2)!($PIECE(x,":",2)=""))!($PIECE(x,":",2)=name)
 NEW c,i,p
 SET p=""
 FOR i=1:1:$LENGTH(x) SET c=$EXTRACT(x,i),p=p_$SELECT(c="*":".E",c="?":"1E",1:"1"""_c_"""")
 QUIT name?@p
ALL(list) ; list(name)=folder, of all routines by the search path
 NEW dirs,i
 SET dirs=$$SRCDIR
 FOR i=$LENGTH(dirs," "):-1:1 DO:dirs'="" FOLDER(.list,$PIECE(dirs," ",i))
 QUIT
SRCDIR() ; the folders of sources, with a space between them
 NEW at,dirs,f,i,z
 SET z=$TRANSLATE($ZROUTINES,"*"),dirs=""
 FOR i=1:1:$LENGTH(z," ") SET at=$PIECE(z," ",i) DO
 . IF at["(" SET at=$PIECE(at,"(",2,$LENGTH(at,"("))
 . SET f=$TRANSLATE(at,")")
 . IF f'="" SET dirs=dirs_$SELECT(dirs="":"",1:" ")_f
 QUIT dirs
FOLDER(list,folder) ; its routines
 NEW file,name
 SET file=$ZSEARCH("/no/such/*"),file=$ZSEARCH(folder_"/nothing.such")
 FOR  SET file=$ZSEARCH(folder_"/*.m") QUIT:file=""  DO
 . SET name=$PIECE($PIECE(file,"/",$LENGTH(file,"/")),".m")
 . IF $EXTRACT(name)="_" SET name="%"_$EXTRACT(name,2,$LENGTH(name))
 . IF name?1(1A,1"%").AN SET list(name)=$PIECE(file,"/",1,$LENGTH(file,"/")-1)_"/"
 QUIT
