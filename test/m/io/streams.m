streams ;
 d try("o ""rel.txt"":newversion u ""rel.txt"" s a=$io_""|""_$zio u 0 w a,! zshow ""D"" c ""rel.txt""")
 d try("o ""rel.txt"":newversion u ""rel.txt"" d y1 c ""rel.txt"" w a,!")
 d try("o ""rel.txt"":newversion u ""rel.txt"":length=10 d y1 c ""rel.txt"" w a,!")
 d try("d y2")
 d try("d y3")
 d try("o ""rel.txt"":newversion u ""rel.txt"" s $x=70000,a=$x,$x=-3,a=a_""|""_$x,$x=65536,a=a_""|""_$x,$y=99999,a=a_""|""_$y c ""rel.txt"" w a,!")
 d try("o ""rel.txt"":(newversion:fixed:record=4) u ""rel.txt"" w !,""a"",!! s a=$x_"",""_$y c ""rel.txt"" w a,! zsy ""cat -A rel.txt"" w !")
 d try("o ""rel.txt"":readonly u ""rel.txt"" w 1")  u "rel.txt" s a=$device_"|"_$za u 0 w a,! c "rel.txt"
 d try("o ""/dev/null"" zshow ""D"" u ""/dev/null"" w ""abc"",!,""d"" s a=$x_"",""_$y_"",""_$zio r x s a=a_""[""_x_""]""_$zeof u 0 w a,! u ""/dev/null"" r x u 0 w $zeof,! c ""/dev/null""")
 d try("o ""ff1"":fifo zshow ""D"" u ""ff1"" w ""hello"",! r x s a=x_$x_"",""_$y r y:0 s a=a_$t_"",""_$zeof_$device_$za u 0 w a,! c ""ff1"":delete")
 d try("o ""p"":(command=""cat"")::""PIPE"" zshow ""D"" u ""p"" s k=$key>1 w ""hello"",! r x s a=x_$x_"",""_$y r y:0 s a=a_$t_"",""_$zeof_$device_$za_k_$zb w /eof r y s a=a_""|""_y_$zeof_$device u 0 w a,! c ""p""")
 d try("o ""p"":(command=""echo hi;echo err >&2"":readonly:stderr=""e"")::""PIPE"" zshow ""D"" u ""p"" r x u ""e"" r y u ""p"" r z s e=$zeof u 0 w x,y,z,e,! c ""p"" zshow ""D""")
 d try("o ""p"":(command=""nonexistcmd"":parse)::""PIPE""")
 d try("o ""p"":(command=""nonexistcmd 2>/dev/null"")::""PIPE"" u ""p"" r x s e=$zeof u 0 w e,! c ""p""")
 d try("o ""p""::""PIPE""")
 d try("o ""rel.txt"":newversion:0 u 0 w $t,! c ""rel.txt""")
 d try("c ""rel.txt"":delete zsy ""ls rel.txt""")
 d try("o ""rel.txt"" c ""rel.txt"":(rename=""rel2.txt"") zsy ""ls rel*txt""")
 d try("o ""rel2.txt"" c ""rel2.txt"":(delete) zsy ""ls rel*txt""")
 q
try(c) n $et s $et="s zs=$zs,$ec="""" u 0 w ""ERR "",zs,! q"
 w "-- ",c,! x c u 0 q

y1 s a="" f i=1:1:140 w ! s:i#20=0!(i>60&(i<70)) a=a_$y_","
 q
y2 s a="" f v=5,60,66,67,70,100,65535,65536,65537,-1,-5,"abc",3.7 s $y=v,a=a_v_":"_$y_","
 w a,! q
y3 s a="" f v=5,60,66,67,70,100,32766,32767,32768,65535,65536,65537,-1,-5,"abc",3.7 s $x=v,a=a_v_":"_$x_","
 s $x=0 w a,! q
