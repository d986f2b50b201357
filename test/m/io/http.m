http ; an HTTP server in M: one process accepts, a JOB answers each connection
 new port,key,i
 open "server":(listen="0:TCP":attach="listener")::"SOCKET"
 use "server" set port=$piece($key,"|",3)
 job client^http(port,"/one"):(output="client.out":error="client.err") set client=$zjob
 set answered=0
 for  do  quit:answered=4
 . use "server" write /wait(30)
 . if '$test set answered=4 quit
 . set key=$key if $piece(key,"|")'="CONNECT" quit
 . set handle=$piece(key,"|",2)
 . use "server":detach=handle
 . set input="SOCKET:"_handle
 . set task="worker^http:(input="""_input_""":output="""_input_""":error=""worker.err"")"
 . job @task
 . set answered=answered+1
 close "server"
 use $principal
 for i=1:1:300 quit:'$zgetjpi(client,"isprocalive")  hang .1
 write "asked: ",$get(^http("asked")),!
 open "client.out":readonly use "client.out"
 for  read line quit:$zeof  use $principal write line,! use "client.out"
 close "client.out":delete
 quit
worker ; $PRINCIPAL is the socket
 new line,path,length,body
 use $principal:(delimiter=$char(13,10))
 read line:30 set path=$piece(line," ",2),length=0
 for  read header:30 quit:header=""  if $zconvert($piece(header,":"),"U")="CONTENT-LENGTH" set length=$piece(header,": ",2)
 set body="" if length read body#length:30
 lock +^http
 set ^http("asked")=$get(^http("asked"))_path_" "
 lock -^http
 set answer="You asked for "_path_$select(body="":"",1:" with "_$length(body)_" bytes")_$char(10)
 write "HTTP/1.1 200 OK",!,"Content-Length: ",$length(answer),!,"Connection: close",!,!,answer
 quit
client(port,path) ; four requests, one after the other
 do ask(port,path,""),ask(port,"/two",""),ask(port,"/three",$justify("",70000)),ask(port,"/four","x=1")
 quit
ask(port,path,body) ;
 open "c":(connect="127.0.0.1:"_port_":TCP":delimiter=$char(13,10)):30:"SOCKET"
 use "c"
 write $select(body="":"GET",1:"POST")," ",path," HTTP/1.1",!,"Host: localhost",!
 if body'="" write "Content-Length: ",$length(body),!
 write !,body
 set text=""
 for  read line:30 quit:$zeof!'$test  do
 . if line?1"Content-Length:".E set length=$piece(line,": ",2)
 . use $principal write line,! use "c"
 . if line="" read line#length:30 use $principal write line use "c"
 close "c"
 quit
