%GD ; The names of globals, as they are asked for.
 NEW %ZG,x
 WRITE !,"Global Directory",!
 FOR  READ !,"Global ^",x WRITE ! QUIT:x=""  SET %ZG=0 DO TAKE^%GSEL(x) WRITE "Total of ",$$COUNT^%RSEL(%ZG,"global"),! KILL %ZG
 QUIT
