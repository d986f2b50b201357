#include "support/reading.h"

caret_options reading(void)
{
    caret_options o = {.size = sizeof o, .readonly = 1, .shm_dir = NULL};
    return o;
}

caret_db *open_reading(void)
{
    caret_options o = reading();
    caret_db *db = NULL;
    OK(caret_open(path, &o, &db));
    return db;
}

uint64_t view_of(caret_db *db)
{
    caret_stats st = {.size = sizeof st};
    OK(caret_stat(db, &st));
    return st.view;
}

void let_read(bool segment_too)
{
    chmod(dir, 0755);
    chmod(shm_dir, segment_too ? 0755 : 0700);
}
