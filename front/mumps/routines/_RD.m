%RD ; The names of routines, as they are asked for.
 NEW %ZR,list,x
 WRITE !,"Routine directory"
 DO ALL^%RSEL(.list)
 FOR  READ !,"Routine: ",x WRITE ! QUIT:x=""  SET %ZR=0 DO TAKE^%RSEL(.list,x,1) WRITE "Total of ",$$COUNT^%RSEL(%ZR,"routine"),! KILL %ZR
 QUIT
