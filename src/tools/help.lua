-- caret help
print [[
caret - a hierarchical key-value database inside the process

  caret 3n1 [-n N] [-w WORKERS] [--db PATH] [--keep] [--json]
        many processes compute 3n+1 sequences through one database
  caret help
  caret version]]
return 0
