sockets ;
 o "srv":(LISTEN="0:TCP":attach="lst")::"SOCKET" u "srv" s k=$key u 0
 s port=$p(k,"|",3) w port>0,!
 d try("o ""c3"":(CONNECT=""127.0.0.1:1:TCP""):1:""SOCKET"" w $t,$device,$key,!")
 d try("o ""c3"":(CONNECT=""127.0.0.1:1:TCP""):0:""SOCKET"" w $t,!")
 d try("o ""c3"":(CONNECT=""foo""):0:""SOCKET"" w $t,!")
 d try("o ""c3"":(LISTEN=port_"":TCP""):1:""SOCKET"" w $t,!")
 d try("o ""l1"":(LISTEN=""sck:LOCAL"":attach=""a"")::""SOCKET"" u ""l1"" s k=$key u 0 w k,!")
 d try("o ""l2"":(CONNECT=""sck:LOCAL"":attach=""b""):1:""SOCKET"" u ""l2"" s k=$key u 0 w k,! u ""l1"" w /wait(1) s k=$key u 0 w $p(k,""|""),""|"",$p(k,""|"",3),!")
 d try("c ""l1"":delete zsy ""ls sck""")
 f s="127.0.0.1:x:TCP","127.0.0.1::TCP","127.0.0.1:5" d try("o ""c3"":(CONNECT="""_s_"""):1:""SOCKET"" w $t,!")
 ; $X counts what was read since the last WRITE; $ZB has the delimiter
 d pair u "l" w "0123456789",! u "c" w "abc" s a=$x r x#4:5 s b=$x,z=$zb r y:5 u 0 w x," ",y," ",a," ",b," ",$zwrite(z),! u "c" d show
 d pair u "l" w !,"x",! u "c" w "abc" r *x:5 s z=$zb r *y:5 u 0 w x," ",y," ",$zwrite(z),! u "c" d show
 d pair u "l" w "0123",! u "c" w "xyz" r x:5 d show u "c" w "ab" s b=$x r x:0 u 0 w b,! u "c" d show
 ; a socket that listens
 d pair u "l":socket="lst" r x:0.1 d show u "l" w "abc" d show u "l" w ! d show u "l" r *x:0.1 d show
 q
pair c "l","c" o "l":(LISTEN="0:TCP":attach="lst":delim=$c(10))::"SOCKET" u "l" s p=$p($key,"|",3)
 o "c":(CONNECT="127.0.0.1:"_p_":TCP":delim=$c(10))::"SOCKET" u "l" w /wait(5) u 0 q
show s x=$x_" "_$y_" "_$zwrite($zb)_" "_$zwrite($key)_" "_$za_$zeof_" "_$device_" "_$t u 0 w x,! q
try(c) n $et s $et="s zs=$zs,$ec="""" u 0 w ""ERR "",zs,! q"
 w "-- ",c,! x c u 0 q
