/*
 * log.pml - flusher, durable point, circular log, checkpoints, recovery.
 *
 * The code: src/log/flush.c, checkpoint.c, recover.c, replay.c.
 *
 * A record is one cell of the log file: LSN x lies at x mod S; and one of the ring, x mod R.
 * Its content is its place in the chain: generation * 64 + path, where the path of a
 * generation begins with 1 and each record appends one bit, what it says (c).  So a cell
 * continues a chain exactly if its path without the last bit is the path so far.  A record
 * with c = 1 has a value out of line, a run, in the data file.
 *
 * The data file: two meta slots, runs, and the pages of each epoch (arena.pml shows that
 * those of the epoch before are left alone).  Whatever was written is in the cache, and
 * on the disk behind the next sync of that file; if the power goes, each cell, slot and run
 * may be the old or the new one.
 *
 * One process, an endless choice between the next steps of writer, flusher, checkpointer
 * (their counters are wpc, fpc, cpc) and recovery (rpc); a step is what one store or system call
 * does.  Flusher and checkpointer may die before any step (MAXD times), the next one takes
 * over.  All processes may be killed, or the power may go, at any moment, in a recovery too
 * (CRASH times).
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

typedef meta { byte epoch; byte lsn; short seed };

/* files: c = cache, d = disk */
short fc[S], fd[S];
bit rc[8], rd[8];
meta mc[2], md[2];
byte pgc, pgd;               /* epochs whose pages are there */

/* the segment */
byte head, written, durable, ckpt, epoch = 2, durable_epoch = 1;
short seed, ring[R], segment_seed;
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
        :: i < S -> fd[i] = fc[i]; i++
        :: else -> break
        od;
        i = 0
    }
}

inline copy_meta(to, from)
{
    to.epoch = from.epoch; to.lsn = from.lsn; to.seed = from.seed
}

/* Each thing that is not synced: the old one or the new one. */
inline lose_power()
{
    i = 0;
    do
    :: i < S && fc[i] != fd[i] -> if :: fd[i] = fc[i] :: fc[i] = fd[i] fi; i++
    :: i < S && fc[i] == fd[i] -> i++
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

/* The steps of a checkpoint behind the freeze; the last one is left to the caller. */
inline write_epoch(pc)
{
    if
    :: pc == 2 -> pgc = pgc | (1 << frozen.epoch); pc = 3
    :: pc == 3 -> if :: BUG != 4 -> sync_data() :: else fi; pc = 4
    :: pc == 4 -> copy_meta(mc[PARITY(frozen.epoch)], frozen);
        if :: BUG == 3 -> ckpt = frozen.lsn :: else fi;
        pc = 5
    :: pc == 5 -> sync_data(); pc = 6
    fi
}

active proctype world()
{
    /* a new database: epoch 1 is durable, generation 1 begins */
    atomic {
        mc[1].epoch = 1; mc[1].seed = START(1);
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
    :: atomic { rpc == 0 && wpc == 3 && head + 1 - written <= R + (BUG == 8 -> 1 : 0) &&
                head + 1 - ckpt <= S + (BUG == 7 -> 1 : 0) ->
            seed = APPEND(seed, wrun);
            ring[(head + 1) % R] = seed;
            head++;
            h[head] = wrun;
            commits++;
            wpc = 0 }

    /* ---- flusher: write_ring, sync_files */
    :: atomic { rpc == 0 && fpc == 0 && head > durable ->
            if
            :: fdead && sip -> sip = 0; if :: BUG != 5 -> runs_unsynced = 1 :: else fi
            :: else
            fi;
            fdead = 0; fpc = 1 }
    :: atomic { rpc == 0 && fpc == 1 && written < head ->
            if
            :: BUG != 10 -> fc[(written + 1) % S] = ring[(written + 1) % R]; written++
            :: else -> written++; fpc = 7
            fi }
    :: atomic { rpc == 0 && fpc == 7 -> fc[written % S] = ring[written % R]; fpc = 1 }
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
    :: atomic { rpc == 0 && cpc == 0 && durable_epoch == epoch - 1 && head != ckpt && checkpoints < CK ->
            checkpoints++;
            frozen.epoch = epoch; frozen.lsn = head; frozen.seed = seed; epoch++;
            cpc = (BUG == 11 -> 1 : 2) }
    :: atomic { rpc == 0 && cpc == 1 -> frozen.seed = seed; cpc = 2 }
    :: atomic { rpc == 0 && cpc >= 2 && cpc <= 5 -> write_epoch(cpc) }
    :: atomic { rpc == 0 && cpc == 6 -> ckpt = frozen.lsn; cpc = 7 }
    :: atomic { rpc == 0 && cpc == 7 -> durable_epoch = frozen.epoch; cpc = 0 }
    :: atomic { rpc == 0 && cpc > 0 && deaths < MAXD -> deaths++; cpc = 0 }

    /* ---- the end of all processes: killed, or without power */
    :: atomic { crashes < CRASH && rpc != 1 ->
            crashes++;
            wpc = 0; fpc = 0; cpc = 0; sip = 0; fdead = 0; upto = 0; wrun = 0;
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
                    :: i < head -> fc[(i + 1) % S] = ring[(i + 1) % R]; i++
                    :: else -> break
                    od;
                    i = 0;
                    sync_log()
                :: else
                fi
            :: else
            fi;
            do
            :: end - mc[newest].lsn < S && CONTINUES(fc[(end + 1) % S], s) &&
               (fc[(end + 1) % S] % 2 == 0 || rc[end + 1]) ->
                s = fc[(end + 1) % S];
                end++;
                assert(end <= head);       /* nothing that was never committed, or was given up */
                assert(h[end] == s % 2)
            :: else -> break
            od;
            assert(end >= want);           /* nothing that was promised is missing */
            if :: killed :: else -> head = end fi; /* what was not found is given up, for ever */
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
    od
}
