/*
 * The archive of the log: commits go round in a log of LS places, a checkpoint copies what it gives up to
 * files of the archive, whoever does it dies, the power is lost, another history begins.
 *
 * A backup was made at LSN 0.  At any time the files of the archive, one after the other, must have all
 * commits below the meta slot on the disk, those of the present history (what a restoring would find); no checkpoint
 * may find a file of another history in its way; and what is copied must not have been overwritten.
 *
 * One process, a step at a time: all that happens between two steps is atomic for the protocol, and a loss of power
 * leaves nothing but what is on the disk.  A commit is a number that no other commit has (tag).  The place
 * of LSN x in the log is x mod LS.  A file begins at an LSN, and knows the seed of its chain: the commit before it, or
 * the generation that begins there.  LOSSES: how often the power is lost.
 *
 * BUG  1  the log is not synced before the archive
 *      2  the meta slot is written, and the log given up, before it is archived
 *      3  the file is not synced before it gets its name
 *      4  the folder is not synced before the meta slot is written
 *      5  writers reuse the log up to what is frozen, not up to the checkpoint
 *      6  the successor of a dead checkpointer does not archive again
 *      7  the checkpoint that begins a generation does not archive
 *      8  a file is not written aside, but under its name
 *      9  a file goes on to the newest commit, not to what is frozen, but the meta slot says so
 */
#ifndef BUG
#define BUG 0
#endif
#ifndef LOSSES
#define LOSSES 2
#endif
#define N    4 /* LSNs */
#define LS   3 /* places in the log */
#define TAGS 6 /* commits in all histories */
#define GEN  100

/* what everybody shares, gone with the power */
byte head, cp, cpseed = GEN, frozen, frozenseed, from, fromseed;
byte gen, genstart;
byte hist[N];
byte tag, losses;
byte pc; /* of the checkpoint */
byte tempend;
byte temp[N];

/* files: in the page cache, and on the disk */
typedef place { byte lsn; byte tag; byte seed };
place cache[LS];
place disk[LS];
typedef file { byte end; byte seed; byte has[N] };
file named[N];
file kept[N];
bool contents = true; /* of the file named last is on the disk */
byte meta, metaseed = GEN, pendmeta, pendseed;
bool pending;

byte i, k, s;
bool same;

#define SEED(x) (x == genstart -> GEN + gen : hist[x - 1])

inline sync_log()
{
    i = 0;
    do
    :: i < LS -> disk[i].lsn = cache[i].lsn; disk[i].tag = cache[i].tag; disk[i].seed = cache[i].seed; i++
    :: else -> break
    od
}

/* What restoring would find: every commit below the meta slot that is on the disk. */
inline look()
{
    s = 0;
    do
    :: s < meta ->
        assert(kept[s].end > s); /* no gap */
        i = s;
        do
        :: i < kept[s].end && i < meta -> assert(kept[s].has[i] == hist[i]); i++
        :: else -> break
        od;
        s = kept[s].end
    :: else -> break
    od;
    i = 0; s = 0
}

inline sync_folder()
{
    i = 0;
    do
    :: i < N ->
        kept[i].end = named[i].end; kept[i].seed = named[i].seed;
        k = 0;
        do
        :: k < N -> kept[i].has[k] = named[i].has[k]; k++
        :: else -> break
        od;
        i++
    :: else -> break
    od;
    i = 0; k = 0
}

inline take_temp()
{
    named[from].end = tempend; named[from].seed = fromseed;
    i = 0;
    do
    :: i < N -> named[from].has[i] = temp[i]; i++
    :: else -> break
    od;
    i = 0
}

/* A file that is there must be of this history: one is the beginning of the other. */
inline compare()
{
    if
    :: named[from].end != 0 ->
        assert(named[from].seed == fromseed);
        i = from;
        do
        :: i < tempend && i < named[from].end -> assert(named[from].has[i] == temp[i]); i++
        :: else -> break
        od;
        i = 0
    :: else
    fi
}

/* The records [from, frozen) out of the page cache. */
inline copy_log()
{
    tempend = (BUG == 9 -> head : frozen);
    i = 0;
    do
    :: i < N ->
        if
        :: i >= from && i < tempend ->
            assert(cache[i % LS].lsn == i && cache[i % LS].tag == hist[i]); /* not overwritten */
            temp[i] = hist[i]
        :: else -> temp[i] = 0
        fi;
        i++
    :: else -> break
    od;
    i = 0
}

/* The power is gone: of each place, name and slot that is not synced the old or the new is there. */
inline lose_power()
{
    i = 0;
    do
    :: i < LS ->
        if
        :: cache[i].lsn != disk[i].lsn || cache[i].tag != disk[i].tag || cache[i].seed != disk[i].seed ->
            if
            :: disk[i].lsn = cache[i].lsn; disk[i].tag = cache[i].tag; disk[i].seed = cache[i].seed
            :: skip
            fi
        :: else
        fi;
        cache[i].lsn = disk[i].lsn; cache[i].tag = disk[i].tag; cache[i].seed = disk[i].seed;
        i++
    :: else -> break
    od;
    if
    :: !contents -> /* torn: a part of it */
        named[from].has[from] = 0; contents = true
    :: true -> contents = true
    fi;
    if
    :: sync_folder() /* the names were there, without a sync */
    :: skip
    fi;
    i = 0;
    do
    :: i < N ->
        named[i].end = kept[i].end; named[i].seed = kept[i].seed;
        k = 0;
        do
        :: k < N -> named[i].has[k] = kept[i].has[k]; k++
        :: else -> break
        od;
        i++
    :: else -> break
    od;
    if
    :: pending -> meta = pendmeta; metaseed = pendseed
    :: true
    fi;
    pending = false; i = 0; k = 0
}

/* From the meta slot on, as far as the chain goes; then another generation begins, with a checkpoint. */
inline recover()
{
    head = meta; cp = meta; cpseed = metaseed;
    s = metaseed;
    do
    :: head < N && disk[head % LS].lsn == head && disk[head % LS].tag != 0 && disk[head % LS].seed == s ->
        hist[head] = disk[head % LS].tag;
        s = hist[head];
        head++
    :: else -> break
    od;
    i = head;
    do
    :: i < N -> hist[i] = 0; i++
    :: else -> break
    od;
    gen++;
    genstart = head;
    frozen = head; frozenseed = GEN + gen;
    tempend = 0; i = 0; s = 0;
    pc = (BUG == 7 -> 5 : 1)
}

active proctype all()
{
end:
    do
    /* a commit */
    :: atomic { head < N && tag < TAGS && head - (BUG == 5 && pc > 0 -> frozen : cp) < LS ->
        cache[head % LS].seed = SEED(head);
        tag++;
        cache[head % LS].lsn = head; cache[head % LS].tag = tag;
        hist[head] = tag;
        head++ }
    /* the flusher's sync */
    :: atomic { losses < LOSSES -> sync_log(); i = 0 }
    /* a checkpoint */
    :: atomic { pc == 0 && head > cp -> frozen = head; frozenseed = SEED(head); pc = 1 }
    :: atomic { pc == 1 ->
        from = cp; fromseed = cpseed;
        if
        :: BUG != 1 -> sync_log(); i = 0
        :: else
        fi;
        pc = (BUG == 2 || frozen == cp -> 5 : 2) }
    :: atomic { pc == 2 ->
        copy_log();
        if
        :: BUG == 8 -> compare(); take_temp(); contents = false; pc = 4
        :: else -> pc = 3
        fi }
    :: atomic { pc == 3 -> compare(); take_temp(); contents = (BUG != 3); pc = 4 }
    :: atomic { pc == 4 ->
        if
        :: BUG != 4 -> sync_folder()
        :: else
        fi;
        if
        :: BUG == 8 -> contents = true
        :: else
        fi;
        pc = (BUG == 2 -> 0 : 5) }
    :: atomic { pc == 5 -> pendmeta = frozen; pendseed = frozenseed; pending = true; pc = 6 }
    :: atomic { pc == 6 ->
        meta = pendmeta; metaseed = pendseed; pending = false;
        cp = frozen; cpseed = frozenseed;
        if
        :: BUG == 2 && from < frozen -> pc = 2
        :: else -> pc = 0
        fi;
        look() }
    /* the checkpointer dies, and somebody else goes on */
    :: atomic { pc > 1 && BUG != 2 -> tempend = 0; pc = (BUG == 6 && pc < 5 -> 5 : 1) }
    /* all die, the power goes, somebody opens it again */
    :: atomic { losses < LOSSES -> losses++; lose_power(); recover(); look() }
    od
}
