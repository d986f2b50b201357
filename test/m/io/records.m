records ;
 zsy "rm -f a bb zz t5*.txt; printf 'aaaaabbbbbccccc\nddd\n' > t5a.txt; printf 'x\r\ny\r\n' > t5c.txt"
 d try("o ""zz"":newversion,""a"":newversion,""bb"":newversion zshow ""D"" c ""zz"",""a"",""bb""")
 d try("o ""t5a.txt"":(readonly:record=5) u ""t5a.txt"" d rd c ""t5a.txt""")
 d try("o ""t5a.txt"":(readonly:fixed:record=5) u ""t5a.txt"" zshow ""D"" d rd c ""t5a.txt""")
 d try("o ""t5a.txt"":(readonly:stream:record=5) u ""t5a.txt"" zshow ""D"" d rd c ""t5a.txt""")
 d try("o ""t5a.txt"":(readonly) u ""t5a.txt"" r x#3,y#4,z#2,a s s=x_""|""_y_""|""_z_""|""_a_""|""_$x_$y u 0 w s,! c ""t5a.txt""")
 d try("o ""t5a.txt"":(readonly:fixed:record=5) u ""t5a.txt"" r x#3,y#4,z#2,a s s=x_""|""_y_""|""_z_""|""_a_""|""_$x_$y u 0 w s,! c ""t5a.txt""")
 d try("o ""t5a.txt"":(readonly:fixed:record=5) u ""t5a.txt"" r *x,*y,z s s=x_""|""_y_""|""_z_""|""_""|""_$x_$y u 0 w s,! c ""t5a.txt""")
 d try("o ""t5c.txt"":(readonly) u ""t5c.txt"" r x,y s s=$zwrite(x)_$zwrite(y)_$zeof r z s s=s_$zeof u 0 w s,! c ""t5c.txt""")
 d try("o ""t5a.txt"":(readonly:seek=""5"") u ""t5a.txt"" r x u ""t5a.txt"":seek=""-3"" r y u ""t5a.txt"":rewind r z#2 u ""t5a.txt"":seek=""+2"" r a s s=x_""|""_y_""|""_z_""|""_a_""|""_$x_$y u 0 w s,! c ""t5a.txt""")
 d try("o ""t5b.txt"":newversion u ""t5b.txt"" w ""abc"",! r x s z=$zeof u 0 w x,z,! u ""t5b.txt"" r x")
 d try("u ""t5b.txt"":rewind r x s s=x_$y u 0 w s,! c ""t5b.txt""")
 d try("o ""t5b.txt"":append u ""t5b.txt"" w ""def"",! u ""t5b.txt"":rewind r x,y s s=x_y_$y c ""t5b.txt"" w s,!")
 d try("o ""t5b.txt"" u ""t5b.txt"" r x w ""XYZ"" u ""t5b.txt"":rewind r x,y,z s s=x_""|""_y_""|""_z_$y c ""t5b.txt"" w s,!")
 d try("o ""t5b.txt"" u ""t5b.txt"" r x w ""Q"",! r x s s=x_""|""_$zeof c ""t5b.txt"" w s,! zsy ""cat -A t5b.txt""")
 d try("o ""t5b.txt"":(newversion:stream) u ""t5b.txt"" w ""abc"" s $x=0 c ""t5b.txt"" zsy ""cat -A t5b.txt"" w !")
 d try("o ""t5b.txt"":(newversion:stream) u ""t5b.txt"" w ""abc"" c ""t5b.txt"" zsy ""cat -A t5b.txt"" w !")
 d try("o ""t5b.txt"":(newversion) u ""t5b.txt"" w *65,*66,*300,*-1,*10,#,""x"",# s s=$x_$y c ""t5b.txt"" zsy ""cat -A t5b.txt"" w s,!")
 d try("o ""t5b.txt"":(newversion) u ""t5b.txt"":(width=10:nowrap) w ""0123456789abc"",?20,""z"" s s=$x_"",""_$y,$x=3 w ""zz"" c ""t5b.txt"" zsy ""cat -A t5b.txt"" w s,!")
 d try("o ""t5b.txt"":(newversion) u ""t5b.txt"":width=10 w ""0123456789"" s s=$x_"",""_$y w ""a"",?25,""b"",?7,""c"" s s=s_"" ""_$x_"",""_$y c ""t5b.txt"" zsy ""cat -A t5b.txt"" w s,!")
 d try("o ""t5b.txt"":(newversion:recordsize=0)")
 d try("o ""t5b.txt"":(newversion:recordsize=2000000)")
 d try("o ""t5b.txt"":newversion u ""t5b.txt"":width=0 s s=$j("""",40000) w s s a=$x c ""t5b.txt"" w a,!")
 d try("o ""t5b.txt"":newversion u ""t5b.txt"" s s=$j("""",40000) w s s a=$x_"",""_$y c ""t5b.txt"" w a,!")
 d try("o ""t5b.txt"":newversion u ""t5b.txt"":(width=70000) s s=$j("""",140001) w s s a=$x_"",""_$y c ""t5b.txt"" w a,!")
 d try("o ""t5b.txt"":(newversion:owner=""rw"":group=""r"":world="""") c ""t5b.txt"" zsy ""stat -c %a t5b.txt""")
 d try("o ""t5b.txt"":(newversion) zsy ""ls -l t5b.txt* | wc -l"" c ""t5b.txt""")
 d try("w /foo(1)")
 d try("o ""t5b.txt"" u ""t5b.txt"" w /foo(1)")  c "t5b.txt"
 q
rd n i f i=1:1:8 r x s s(i)=$zwrite(x)_$x_","_$y_","_$zeof q:$zeof
 u 0 s i="" f  s i=$o(s(i)) q:i=""  w s(i)," "
 w ! q
try(c) n $et s $et="s zs=$zs,$ec="""" u 0 w ""ERR "",zs,! q"
 w "-- ",c,! x c u 0 q
