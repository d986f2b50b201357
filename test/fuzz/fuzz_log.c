/* A damaged log, read by the recovery after the loss of the segment. */
#include "disk/meta.h"
#include "disk/record.h"
#include "fuzz/database.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct caret__meta meta; /* of the template */

/* Make the chain right from the meta's LSN to the last record that has a length. */
static void mend(uint8_t *log, size_t size, size_t place)
{
    uint64_t lsn = meta.lsn, seed = meta.chain_seed;
    (void)place;

    for (int i = 0; i < 1000; i++) {
        uint32_t len;
        size_t at = (lsn - meta.log_base) % size;
        if (at + 16 > size)
            return;
        memcpy(&len, log + at, 4);
        if (len < CARET__REC_HEAD + CARET__REC_TAIL || len % 8 != 0 || len > size - at)
            return;
        seed = caret__record_trailer(seed, caret__record_crc(log + at, len), len);
        memcpy(log + at + len - CARET__REC_TAIL, &seed, CARET__REC_TAIL);
        lsn += len;
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct caret__meta slot;
    (void)argc;
    (void)argv;
    make_template(MODE_LOG);
    for (size_t i = 0; i < 2; i++) {
        memcpy(&slot, data_file.bytes + i * CARET__META_SPACING, sizeof slot);
        if (slot.epoch >= meta.epoch)
            meta = slot;
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = damage(&log_file, data, size, 256, mend);
    write_file(&log_file, bytes);
    free(bytes);
    write_file(&data_file, data_file.bytes);
    write_file(&lock_file, lock_file.bytes);
    use();
    return 0;
}
