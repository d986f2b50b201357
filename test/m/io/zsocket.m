zsocket ; $ZSOCKET of what is not a socket
 d try("nope"),try("f") o "f":newv d try("f") c "f":delete
 q
try(d) n $et s $et="w $p($zs,"","",2,9),! s $ec="""" q"
 w $zsocket(d,"index"),!
 q
