-- caret help
print [[
caret - a hierarchical key-value database inside the process

  caret 3n1 [-n N] [-w WORKERS] [--db PATH] [--keep] [--json]
        many processes compute 3n+1 sequences through one database
  caret backup TO [--db FILE] [--compact] [--overwrite] [--quiet]
        copy the database to the file TO while others use it; open the copy to restore it
  caret restore BACKUP TO [--archive FOLDER] [--lsn PLACE | --time 'YYYY-MM-DD HH:MM[:SS]']
        a backup and what was archived since become the database of a later moment
  caret check [FILE] [--json] [--online] [--readonly]
        walk everything; exit status 1 if something is wrong; --online: a snapshot, no writer waits
  caret stat [FILE] [--json] [--quick] [--readonly]
        sizes and counts; pages and fill by level, nodes and bytes by global, unless --quick
  caret salvage [--sure] [--json] SRC OUT.zwr
        write what can still be read of a damaged database to a new file; exit status 1 if something is lost
  caret repl [FILE] [--readonly]
        a Lua prompt with the database as db
  caret run [--db FILE] PROGRAM [ARGUMENT...]
        run a Lua program
  caret help
  caret version

--readonly needs no right to write, and leaves no trace.
FILE is $CARET_DB or ./data.caret when it is not given.
Exit status: 0 fine, 1 a finding or a wrong answer, 2 usage, 3 the database.]]
return 0
