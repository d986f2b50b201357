# cmake -DFROM=file -DOUT=file.inc -P bytes.cmake
# Writes the bytes of a file as C has them between the braces of an array.

file(READ ${FROM} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${OUT} "${bytes}\n")
