%JSWRITE(glvn,how,name) ; the nodes of a variable as JSON objects, each on a line of its own
 NEW %a,%array,%n,%node,%p,%q,%start
 SET how=$GET(how)
 IF how'="",how'?1(1"*",1"#",1"[*]",1"[#]") GOTO ILLEGAL
 SET %array=how?1"[".E1"]",how=$TRANSLATE(how,"[]"),%n=0
 IF %array WRITE "["
 IF $GET(glvn)'="" DO NODES(glvn,how'="#",$GET(name)="noglvname")
 DO:$GET(glvn)="" LOCALS
 IF %array WRITE "]"
 IF %n!%array WRITE !
 QUIT
ILLEGAL ; what is written for a second argument that is none of those
 WRITE "%JSWRITE-E-ILLEGALEXPR2. Illegal second expression--",how,". Specify *, #, [*], or [#]."
 QUIT
LOCALS ; those with subscripts
 SET %node="%"
 IF $DATA(%)>9 DO NODES("%",1,$GET(name)="noglvname")
 FOR  SET %node=$ORDER(@%node) QUIT:%node=""  DO:$DATA(@%node)>9 NODES(%node,1,$GET(name)="noglvname")
 QUIT
NODES(%q,%below,%bare) ; from %q on, to the end of what is below it or of the variable
 NEW %depth,%p
 SET %depth=$SELECT(%below:$QLENGTH(%q),1:0),%p=$NAME(@%q,%depth)
 IF $DATA(@%q)#10 DO ONE(%q,@%q,%bare)
 FOR  SET %q=$QUERY(@%q) QUIT:%q=""  QUIT:$NAME(@%q,%depth)'=%p  DO ONE(%q,@%q,%bare)
 QUIT
ONE(q,v,bare) ; an object for that node
 NEW i,n,out
 SET n=$QLENGTH(q),out=$$VALUE(v)
 FOR i=n:-1:$SELECT(bare:1,1:0) SET out="{"_$$TEXT($QSUBSCRIPT(q,i))_":"_out_"}"
 DO PUT(out)
 QUIT
PUT(out) ; with what parts it from the one before
 WRITE:%n $SELECT(%array:",",1:""),!
 WRITE out
 SET %n=%n+1
 QUIT
VALUE(v) ; a number, or a text
 IF v'=+v QUIT $$TEXT(v)
 QUIT $SELECT($EXTRACT(v)=".":0_v,$EXTRACT(v,1,2)="-.":"-0"_$EXTRACT(v,2,$LENGTH(v)),1:v)
TEXT(v) ; in quotes, with what JSON wants before those, backslashes and control characters
 NEW c,i,out
 SET out=""""
 FOR i=1:1:$LENGTH(v) SET c=$EXTRACT(v,i),out=out_$SELECT(c=""""!(c="\"):"\"_c,$ZASCII(c)<32:"\u"_$$FUNC^%DH($ASCII(c),4),1:c)
 QUIT out_""""
STDIN ; lines of ZWRITE from standard input, as an array; singlesub: values of one subscript come together
 NEW %array,%n,at,first,line,object,one,sub
 SET %array=1,%n=0,one=$ZCMDLINE["singlesub",object="",first=""
 WRITE "["
 FOR  READ line:120 QUIT:$ZEOF  DO:line'=""
 . IF '$TEST WRITE "]",! ZHALT 1
 . SET at=$$EQUALS(line)
 . IF at=0 SET $ECODE=",U-NOTAZWRITELINE,"
 . IF 'one DO ONE($EXTRACT(line,1,at-1),$ZWRITE($EXTRACT(line,at+1,$LENGTH(line)),1),0) QUIT
 . SET sub=$QSUBSCRIPT($EXTRACT(line,1,at-1),1)
 . IF sub=first,object'="" DO PUT("{"_object_"}") SET object=""
 . SET:object="" first=sub
 . SET object=object_$SELECT(object="":"",1:",")_$$TEXT(sub)_":"_$$VALUE($ZWRITE($EXTRACT(line,at+1,$LENGTH(line)),1))
 IF object'="" DO PUT("{"_object_"}")
 WRITE "]",!
 QUIT
EQUALS(line) ; where its = is that is not in a literal
 NEW at
 SET at=0
 FOR  SET at=$FIND(line,"=",at) QUIT:'at  QUIT:$LENGTH($EXTRACT(line,1,at-1),"""")#2
 QUIT $SELECT(at:at-1,1:0)
