/*
 * log.pml - flusher, durable point, circular log, checkpoints, recovery.
 *
 * The code: src/log/flush.c, checkpoint.c, lengthen.c, recover.c, replay.c.
 *
 * A record is one cell of the log file: LSN x lies at x mod S; and one of the ring, x mod R.
 * Its content is its place in the chain: generation * 64 + path, where the path of a
 * generation begins with 1 and each record appends one bit, what it says (c).  So a cell
 * continues a chain exactly if its path without the last bit is the path so far.  A record
 * with c = 1 has a value out of line, a run, in the data file.
 *
 * The data file: two meta slots, runs, and the pages of each epoch (arena.pml shows that
 * those of the epoch before are left alone).  Whatever was written is in the cache, and
 * on the disk after the next sync of that file; if the power goes, each cell, slot and run
 * may be the old or the new one.
 *
 * One process, an endless choice between the next steps of writer, flusher, checkpointer
 * (their counters are wpc, fpc, cpc) and recovery (rpc); a step is what one store or system call
 * does.  Flusher and checkpointer may die before any step (MAXD times), the next one takes
 * over.  All processes may be killed, or the power may go, at any moment, in a recovery too
 * (CRASH times).
 *
 * With LONG a checkpoint may plan a log of LONG cells: the place of LSN x is then (x - base) mod size, the meta
 * slot has both, and the four steps of lengthen.c are steps here.
 *
 * Checked at each recovery: the newest meta has its pages; the chain that is found has
 * nothing that was not committed, and all of what was promised: after a loss of power what
 * log_durable said, after kill-all everything.
 */
#ifndef NC
#define NC 3        /* commits, all together */
#endif
#ifndef S
#define S 2         /* records in the log file */
#endif
#ifndef R
#define R 2         /* in the ring */
#endif
#ifndef CK
#define CK 2        /* checkpoints, but for those of recoveries */
#endif
#ifndef CRASH
#define CRASH 1
#endif
#ifndef MAXD
#define MAXD 1
#endif
#ifndef BUG
#define BUG 0
#endif

#ifdef LONG
#define CELLS LONG
#else
#define CELLS S
#define LONG  0
#endif

typedef meta { byte epoch; byte lsn; short seed; byte base; byte size };

/* files: c = cache, d = disk */
short fc[CELLS], fd[CELLS];
bit rc[8], rd[8];
meta mc[2], md[2];
byte pgc, pgd;               /* epochs whose pages are there */

/* the segment */
byte head, written, durable, ckpt, epoch = 2, durable_epoch = 1;
short seed, ring[R], segment_seed;
byte base, size = S, limit, next_base, next_size, next_epoch; /* of the log; limit 0: none */
bit planning;
bit runs_unsynced, sip;
meta frozen;

/* the truth */
bit h[8];                    /* what commit x said */
byte promised, commits, checkpoints, crashes, deaths;

byte wpc, fpc, cpc, rpc, upto, newest, end, want, i;
bit fdead, killed, wrun;
short s;

#define START(gen)      ((gen) * 64 + 1)
#define GEN(t)          ((t) / 64)
#define APPEND(t, c)    (GEN(t) * 64 + ((t) % 64) * 2 + (c))
#define CONTINUES(t, q) (GEN(t) == GEN(q) && ((t) % 64) / 2 == (q) % 64 && (t) % 64 > 1)
#define PARITY(e)       ((e) % 2)
#define CELL(x)         (((x) + 4 * size - base) % size) /* 4: % is never of less than 0 */
#define IN_META(x, m)   (((x) + 4 * m.size - m.base) % m.size)

inline sync_data()
{
    d_step {
        i = 0;
        do
        :: i < 8 -> rd[i] = rc[i]; i++
        :: else -> break
        od;
        pgd = pgc;
        copy_meta(md[0], mc[0]);
        copy_meta(md[1], mc[1]);
        i = 0
    }
}

inline sync_log()
{
    d_step {
        i = 0;
        do
        :: i < CELLS -> fd[i] = fc[i]; i++
        :: else -> break
        od;
        i = 0
    }
}

inline copy_meta(to, from)
{
    to.epoch = from.epoch; to.lsn = from.lsn; to.seed = from.seed; to.base = from.base; to.size = from.size
}

/* Each thing that is not synced: the old one or the new one. */
inline lose_power()
{
    i = 0;
    do
    :: i < CELLS && fc[i] != fd[i] -> if :: fd[i] = fc[i] :: fc[i] = fd[i] fi; i++
    :: i < CELLS && fc[i] == fd[i] -> i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < 8 && rc[i] != rd[i] -> if :: rd[i] = rc[i] :: rc[i] = rd[i] fi; i++
    :: i < 8 && rc[i] == rd[i] -> i++
    :: else -> break
    od;
    if :: pgc != pgd -> if :: pgd = pgc :: pgc = pgd fi :: else fi;
    i = 0;
    do
    :: i < 2 -> if :: mc[i].epoch != md[i].epoch -> if :: copy_meta(md[i], mc[i]) :: copy_meta(mc[i], md[i]) fi
                   :: else
                   fi; i++
    :: else -> break
    od;
    i = 0
}

/* The steps of a checkpoint after the freeze; the last one is left to the caller. */
inline write_epoch(pc)
{
    if
    :: pc == 2 -> pgc = pgc | (1 << frozen.epoch); pc = 3
    :: pc == 3 -> if :: BUG != 4 -> sync_data() :: else fi; pc = 4
    :: pc == 4 ->
        if
        :: next_size != 0 && frozen.epoch >= next_epoch -> frozen.base = next_base; frozen.size = next_size
        :: else -> frozen.base = base; frozen.size = size
        fi;
        copy_meta(mc[PARITY(frozen.epoch)], frozen);
        if :: BUG == 3 -> ckpt = frozen.lsn :: else fi;
        pc = 5
    :: pc == 5 -> sync_data(); pc = 6
    fi
}

inline freeze()
{
    checkpoints++;
    frozen.epoch = epoch; frozen.lsn = head; frozen.seed = seed; epoch++;
    cpc = (BUG == 11 -> 1 : 2)
}

active proctype world()
{
    /* a new database: epoch 1 is durable, generation 1 begins */
    atomic {
        mc[1].epoch = 1; mc[1].seed = START(1); mc[1].size = S;
        copy_meta(md[1], mc[1]);
        pgc = 2; pgd = 2;
        seed = START(1); segment_seed = seed
    };
    do
    /* ---- writer: perhaps a run, then the record, under its mutex */
    :: atomic { rpc == 0 && wpc == 0 && commits < NC && head < 5 -> wrun = 0; wpc = 3 }
    :: atomic { rpc == 0 && wpc == 0 && commits < NC && head < 5 ->
            wrun = 1; rd[head + 1] = 0; rc[head + 1] = 0;
            if :: BUG == 14 -> runs_unsynced = 1 :: else fi;
            wpc = 1 }
    :: atomic { rpc == 0 && wpc == 1 -> rc[head + 1] = 1; wpc = 2 }
    :: atomic { rpc == 0 && wpc == 2 -> if :: BUG != 14 -> runs_unsynced = 1 :: else fi; wpc = 3 }
    :: atomic { rpc == 0 && wpc == 3 && !planning && head + 1 - written <= R + (BUG == 8 -> 1 : 0) &&
                head + 1 - ckpt <= size + (BUG == 7 -> 1 : 0) &&
                (limit == 0 || head + 1 < limit || BUG == 15) ->
            seed = APPEND(seed, wrun);
            ring[(head + 1) % R] = seed;
            head++;
            h[head] = wrun;
            commits++;
            wpc = 0 }

    /* ---- flusher: write_ring, sync_files */
    :: atomic { rpc == 0 && fpc == 0 && head > durable && (cpc < 9 || cpc == 10 || cpc == 11) ->
            if
            :: fdead && sip -> sip = 0; if :: BUG != 5 -> runs_unsynced = 1 :: else fi
            :: else
            fi;
            fdead = 0; fpc = 1 }
    :: atomic { rpc == 0 && fpc == 1 && written < head ->
            if
            :: BUG != 10 -> fc[CELL(written + 1)] = ring[(written + 1) % R]; written++
            :: else -> written++; fpc = 7
            fi }
    :: atomic { rpc == 0 && fpc == 7 -> fc[CELL(written)] = ring[written % R]; fpc = 1 }
    :: atomic { rpc == 0 && fpc == 1 -> fpc = 0 }
    :: atomic { rpc == 0 && fpc == 1 && written > durable -> upto = (BUG == 9 -> head : written); sip = 1; fpc = 2;
            if :: BUG == 2 -> durable = upto; promised = durable :: else fi }
    :: atomic { rpc == 0 && fpc == 2 ->
            if :: BUG == 1 -> fpc = 4 :: runs_unsynced && BUG != 1 -> fpc = 3 :: else -> fpc = 4 fi;
            if :: BUG != 1 -> runs_unsynced = 0 :: else fi }
    :: atomic { rpc == 0 && fpc == 3 -> sync_data(); fpc = 4 }
    :: atomic { rpc == 0 && fpc == 4 -> sync_log(); fpc = 5 }
    :: atomic { rpc == 0 && fpc == 5 -> sip = 0; fpc = 6 }
    :: atomic { rpc == 0 && fpc == 6 -> durable = upto; promised = durable; upto = 0; fpc = 0 }
    :: atomic { rpc == 0 && fpc > 0 && deaths < MAXD -> deaths++; fdead = 1; fpc = 0; upto = 0 }

    /* ---- checkpointer: finish what is unfinished, freeze, write */
    :: atomic { rpc == 0 && cpc == 0 && durable_epoch < epoch - 1 -> cpc = 2 }
    :: atomic { rpc == 0 && cpc == 0 && durable_epoch == epoch - 1 && head != ckpt && checkpoints < CK &&
                limit == 0 -> freeze() }
    /* ---- the freeze; with a longer log, if one is planned: record x + 1 is the first that head = x leaves to be written */
    :: atomic { rpc == 0 && cpc == 0 && durable_epoch == epoch - 1 && head != ckpt && checkpoints < CK &&
                LONG != 0 && next_size == 0 && limit == 0 && size < LONG ->
            next_base = (head + 1) - CELL(head + 1); next_epoch = epoch;
            if :: BUG == 16 -> next_base = head + 1 :: else fi;
            limit = next_base + size; planning = 1; cpc = 10 }
    :: atomic { rpc == 0 && cpc == 10 -> next_size = LONG; cpc = 11 }
    :: atomic { rpc == 0 && cpc == 11 -> freeze(); planning = 0 }
    /* a plan of which the freeze died: the next is of the same epoch */
    :: atomic { rpc == 0 && cpc == 0 && durable_epoch == epoch - 1 && next_size != 0 && next_epoch == epoch -> freeze() }
    :: atomic { rpc == 0 && cpc == 1 -> frozen.seed = seed; cpc = 2 }
    :: atomic { rpc == 0 && cpc >= 2 && cpc <= 5 -> write_epoch(cpc) }
    :: atomic { rpc == 0 && cpc == 6 -> ckpt = frozen.lsn; cpc = 7 }
    :: atomic { rpc == 0 && BUG == 17 && cpc > 1 && cpc < 6 && fpc == 0 && next_size != 0 ->
            base = next_base; size = next_size; limit = 0 }
    :: atomic { rpc == 0 && cpc == 7 -> durable_epoch = frozen.epoch; cpc = (limit != 0 -> 8 : 0) }
    /* ---- the switch, under flush and writer mutex; or what a death left of a plan */
    :: atomic { rpc == 0 && cpc == 0 && limit != 0 && durable_epoch == epoch - 1 &&
                (next_size == 0 || next_epoch <= durable_epoch) -> cpc = 8 }
    :: atomic { rpc == 0 && cpc == 8 && fpc == 0 && next_size != 0 && written + 1 >= next_base ->
            base = next_base; planning = 1; cpc = 9 }
    :: atomic { rpc == 0 && cpc == 8 && fpc == 0 && next_size == 0 -> limit = 0; cpc = 0 }
    :: atomic { rpc == 0 && cpc == 9 -> size = next_size; cpc = 12 }
    :: atomic { rpc == 0 && cpc == 12 -> next_size = 0; cpc = 13 }
    :: atomic { rpc == 0 && cpc == 13 -> limit = 0; planning = 0; cpc = 0 }
    :: atomic { rpc == 0 && cpc > 0 && deaths < MAXD -> deaths++; cpc = 0; planning = 0 }

    /* ---- the end of all processes: killed, or without power */
    :: atomic { crashes < CRASH && rpc != 1 ->
            crashes++;
            wpc = 0; fpc = 0; cpc = 0; planning = 0; sip = 0; fdead = 0; upto = 0; wrun = 0;
            if
            :: killed = (rpc == 0 || killed) /* the segment is there, if it was */
            :: killed = 0; lose_power()
            fi;
            rpc = 1 }

    /* ---- recovery: 1 rescue, scan */
    :: atomic { rpc == 1 ->
            newest = (mc[0].epoch > mc[1].epoch -> 0 : 1);
            assert(mc[newest].epoch > 0 && (pgc & (1 << mc[newest].epoch)) != 0);
            want = promised;
            end = mc[newest].lsn;
            s = mc[newest].seed;
            if
            :: killed -> want = head;
                /* a segment of an older generation has nothing that the file has not */
                if
                :: GEN(s) == GEN(segment_seed) && BUG != 13 ->
                    i = (written > end -> written : end);
                    do
                    :: i < head -> fc[IN_META(i + 1, mc[newest])] = ring[(i + 1) % R]; i++
                    :: else -> break
                    od;
                    i = 0;
                    sync_log()
                :: else
                fi
            :: else
            fi;
            do
            :: end - mc[newest].lsn < mc[newest].size && CONTINUES(fc[IN_META(end + 1, mc[newest])], s) &&
               (fc[IN_META(end + 1, mc[newest])] % 2 == 0 || rc[end + 1]) ->
                s = fc[IN_META(end + 1, mc[newest])];
                end++;
                assert(end <= head);       /* nothing that was never committed, or was given up */
                assert(h[end] == s % 2)
            :: else -> break
            od;
            assert(end >= want);           /* nothing that was promised is missing */
            if :: killed :: else -> head = end fi; /* what was not found is given up, for ever */
            base = mc[newest].base; size = mc[newest].size; limit = 0; next_size = 0;
            frozen.epoch = mc[newest].epoch + 1;
            frozen.lsn = end;
            frozen.seed = (BUG == 6 -> s : START(GEN(s) + 1));
            newest = 0; s = 0; want = 0;
            rpc = (BUG == 12 -> 6 : 2) }
    /* a checkpoint with the new generation, then the new segment is published */
    :: atomic { rpc >= 2 && rpc <= 5 -> write_epoch(rpc) }
    :: atomic { rpc == 6 ->
            head = frozen.lsn; written = head; durable = head; ckpt = head; promised = head;
            epoch = frozen.epoch + 1; durable_epoch = frozen.epoch;
            seed = frozen.seed; segment_seed = seed;
            runs_unsynced = 0; killed = 0; end = 0;
            i = 0;
            do
            :: i < R -> ring[i] = 0; i++
            :: else -> break
            od;
            i = 0;
            rpc = 0 }
    :: atomic { rpc == 0 && commits == NC && durable == head && fpc == 0 && cpc == 0 -> break }
    /* full, and no checkpoint is left to make room */
    :: atomic { rpc == 0 && head + 1 - ckpt > size && checkpoints == CK && durable == head && fpc == 0 && cpc == 0 -> break }
    od
}
