startup ; STARTUP of JOB: a script that runs after the job has its files, and may leave a process behind
 d script("waits.sh","until [ -e go ]; do sleep .02; done; echo waited")
 d script("left.sh","(until [ -e stop ]; do sleep .02; done) & echo left; echo err >&2; read x || echo nothing")
 d script("fails.sh","exit 3")
 d try("j tt^startup(1):(startup=""./waits.sh"":out=""o"":err=""e"") zsy "">go"" d wait zsy ""cat o e""")
 d try("j tt^startup(2):(startup=""./left.sh"":out=""o"":err=""e""):60 w $t,! d wait zsy ""cat o e""")
 zsy ">stop"
 d try("j tt^startup(3):(startup=""./fails.sh"":out=""o"":err=""e""):60 w $t,! d wait zsy ""grep -o JOBSTART.* e""")
 d try("j tt^startup(4):(startup=""./none.sh"":out=""o"":err=""e""):60 w $t,!")
 q
wait f  q:'$zgetjpi($zjob,"isprocalive")  h .02
 q
tt(a) w "job ",a," ",$zsystem,! q
script(name,text) o name:newv u name w "#!/bin/sh",!,text,! c name zsy "chmod +x "_name q
try(c) n $et s $et="s zs=$zs,$ec="""" u 0 w ""ERR "",zs,! q"
 w "-- ",c,! x c u 0 q
