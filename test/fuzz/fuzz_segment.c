/* A damaged segment of the dead, read by the recovery for what had not reached the log. */
#include "fuzz/database.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void mend(uint8_t *segment, size_t size, size_t place)
{
    (void)segment; /* it has no checksums but those of the log's records */
    (void)size;
    (void)place;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    make_template(MODE_SEGMENT);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = damage(&segment_file, data, size, 256, mend);
    write_file(&segment_file, bytes);
    free(bytes);
    write_file(&data_file, data_file.bytes);
    write_file(&log_file, log_file.bytes);
    write_file(&lock_file, lock_file.bytes);
    use();
    return 0;
}
