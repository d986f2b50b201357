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
 q
try(c) n $et s $et="s zs=$zs,$ec="""" u 0 w ""ERR "",zs,! q"
 w "-- ",c,! x c u 0 q
