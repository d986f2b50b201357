oracle ; a|b|... comes in, a op b goes out; the operation is in ORACLE_OP
 new line,op
 set op=$ztrnlnm("ORACLE_OP")
 use $principal:(width=1048575)
 for  read line quit:$zeof  write $$one(op,$piece(line,"|",1),$piece(line,"|",2)),!
 quit
one(op,a,b) ; unary plus: # gives an operand back as it was
 new $etrap
 set $etrap="set $ecode="""" quit $piece($piece($zstatus,"","",3),""-"",3)"
 if op="+" quit a+b
 if op="-" quit a-b
 if op="*" quit a*b
 if op="/" quit a/b
 if op="\" quit a\b
 if op="#" quit +(a#b)
 if op="**" quit a**b
 if op="<" quit $select(a>b:1,a<b:-1,1:0)
 quit +a
