golab ; a GOTO to a label that is not there
 s $et="w $zs,! s $ec="""" q" d one
 d two
 q
one g nolab
two d
 . g nolab
 q
end ; the last label
 ; and line
