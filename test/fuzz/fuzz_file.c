/* A damaged data file. */
#include "base/crc32c.h"
#include "disk/meta.h"
#include "fuzz/database.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Make the checksum of the meta slot or page at that place right. */
static void mend(uint8_t *file, size_t size, size_t place)
{
    size_t page = place / CARET__PAGE_SIZE * CARET__PAGE_SIZE,
           slot = place / CARET__META_SPACING * CARET__META_SPACING;
    uint32_t crc;

    if (slot < 2 * CARET__META_SPACING && slot + 512 <= size && place - slot < 508) {
        crc = caret__crc32c(0, file + slot, 508);
        memcpy(file + slot + 508, &crc, 4);
    } else if (page + CARET__PAGE_SIZE <= size) {
        crc = caret__crc32c(0, file + page + 4, CARET__PAGE_SIZE - 4);
        memcpy(file + page, &crc, 4);
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    make_template(MODE_FILE);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = damage(&data_file, data, size, CARET__PAGE_SIZE, mend);
    write_file(&data_file, bytes);
    free(bytes);
    unlink(lock_file.path);
    unlink(log_file.path);
    use();
    return 0;
}
