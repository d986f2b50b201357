/*
 * snapshot.pml - snapshots: whose pages are not reused, until when.
 *
 * The tree is one page.  A writer commits: in place, or by a new page while the old
 * one dies; a new page's file bytes are overwritten at once (as those of a long
 * value are), the harshest that can happen; with a number that is lent, by its epoch's
 * checkpoint.  C makes checkpoints; so does S before it begins a snapshot, in the same
 * role.  S reads its snapshots and ends them in any order.  Everybody may die before any step, MAXD times together; a newcomer
 * takes the slot of a dead S.  With LOST a process S may lose its record lock and go
 * on: it passes for dead.
 *
 * What a commit, its undo and a freeze consist of is arena.pml's; here they are one
 * step.  The moves between the bitmaps are single stores.
 *
 * Checked: a read of a snapshot that counts has the bytes of its beginning; the last
 * checkpoint's page is never overwritten; a page number is in the tree, free,
 * pending or held, and only one of these, whenever the mutex is free; the free map
 * of a meta is all but its tree; when all snapshots are over and a checkpoint was
 * made, nothing is held.
 */
#ifndef NC
#define NC 3                    /* commits */
#endif
#ifndef CK
#define CK 1                    /* checkpoints of C, before the last one */
#endif
#ifndef PS
#define PS 1                    /* processes S */
#endif
#ifndef SN
#define SN 2                    /* snapshots of each, at the same time or not */
#endif
#ifndef MAXD
#define MAXD 1
#endif
#ifndef NP
#define NP 4                    /* page numbers 1 .. NP */
#endif
#ifndef BUG
#define BUG 0
#endif

#define FREE 0
#define DEAD 1                  /* the owner died; the next one is told so */
#define OWN(me) ((me) + 2)

#define BIT(n) (1 << (n))
#define ALL (BIT(NP + 1) - 2)

byte mx, role;
byte rt = 1, head;                      /* the tree: its page, LSN of the last commit */
byte c[NP + 1], f[NP + 1];              /* bytes of a page: in memory, in the file */
byte birth[NP + 1], ver[NP + 1];        /* page table */
byte free = ALL & ~2, pend[2], held;    /* bitmaps */
byte epoch = 1, durable, released;
byte fr, flsn, image;                   /* frozen record */
byte mroot = 1, mc;                     /* the newest durable meta: page, its bytes */
byte wlsn[PS], wepoch[PS];              /* words in the process slots: LSN + 1 of the oldest, epoch of the newest */
bool alive[PS];                         /* record locks */
bool lend;                              /* what died in the epoch before may be taken */
short settled;                          /* for which words the held map was gone through last; 0 = do it */
byte deaths, finished;                  /* ghosts */
bool wdone;

/* One step, before which its process may die. */
#define X(s) if :: atomic { s } :: atomic { deaths < MAXD -> deaths++; goto died } fi

#define ONE_OF(a, b, d, e, g) (!((a) & ((b) | (d) | (e) | (g))) && !((b) & ((d) | (e) | (g))) && \
    !((d) & ((e) | (g))) && !((e) & (g)))

inline check_maps() {
    assert(ONE_OF(free, pend[0], pend[1], held, BIT(rt)));
    assert((free | pend[0] | pend[1] | held | BIT(rt)) == ALL)
}

/* Repair: a number in two maps is where it was going to. */
inline settle() {
#if BUG != 8
    held = held & ~free;
#endif
#if BUG == 5
    pend[0] = pend[0] & ~free;
    pend[1] = pend[1] & ~free
#else
    pend[0] = pend[0] & ~(free | held);
    pend[1] = pend[1] & ~(free | held)
#endif
}

inline lock() {
    if
    :: atomic { mx == FREE -> mx = OWN(me) }
    :: atomic { mx == DEAD -> mx = OWN(me); settle() }
    fi
}

inline unlock() { X(check_maps(); mx = FREE) }

proctype Monitor() {
end: atomic { f[mroot] != mc -> assert(false) }
}

#define LENT (lend * pend[1 - (epoch & 1)])

/* Any of the map, for commit L. */
inline take(map, in_file) {
    n = 1;
    do
    :: map & BIT(n) -> break
    :: n < NP -> n++
    :: else -> break
    od;
    if
    :: !(map & BIT(n)) -> skip
    :: else ->
        map = map & ~BIT(n);
        c[n] = L; f[n] = (in_file -> L : f[n]); birth[n] = epoch; ver[n] = L;
        ver[rt] = L;
        pend[epoch & 1] = pend[epoch & 1] | BIT(rt);
        rt = n;
        head = L
    fi
}

proctype W() {
    byte n, L;
    do
    :: head == NC -> break
    :: head < NC ->
        atomic {
            (mx == FREE || mx == DEAD);
            if :: mx == DEAD -> settle(); check_maps(); mx = FREE :: else fi;
            L = head + 1;
            if
            :: birth[rt] == epoch -> c[rt] = L; ver[rt] = L; head = L
            :: free -> take(free, true)
            :: LENT -> take(pend[1 - (epoch & 1)], false)
            :: !(free | LENT) && wdone -> head = NC
            :: !(free | LENT) && !wdone -> skip
            fi;
            check_maps();
            n = 0; L = 0
        }
    :: head < NC && wdone -> break      /* no need to make all of them */
    od
}

/* In the role: who keeps pages?  The words of the dead are cleared before a page is freed. */
inline look() {
    s = 0;
    do
    :: s == PS -> break
    :: else ->
        X(kl[s] = wlsn[s]);
        X(ke[s] = (kl[s] -> wepoch[s] : 0);
            if
            :: kl[s] && (!alive[s] || BUG == 7) ->
                kl[s] = 0; ke[s] = 0;
                if
                :: BUG == 12 -> skip
                :: else -> wlsn[s] = 0
                fi
            :: else
            fi;
            s++)
    od;
    s = 0
}

/* The snapshots that keep pages, as one number. */
#if PS > 1
#define KEEPERS (1 + kl[0] + 8 * ke[0] + 64 * kl[1] + 512 * ke[1])
#else
#define KEEPERS (1 + kl[0] + 8 * ke[0])
#endif

#if BUG == 2
#define BORN(p) (birth[p] < ke[s])
#else
#define BORN(p) (birth[p] <= ke[s])
#endif

/* kept = those of the map that somebody keeps */
inline keep(map) {
    d_step {
        kept = 0; p = 1;
        do
        :: p > NP -> break
        :: else ->
            s = 0;
            do
            :: s == PS -> break
            :: else ->
                if
                :: (map & BIT(p)) && kl[s] && BORN(p) && ver[p] >= kl[s] -> kept = kept | BIT(p)
                :: else
                fi;
                s++
            od;
            p++
        od;
        s = 0; p = 0
    }
}

/* The numbers that died in epoch - 1. */
inline release_pages() {
#if BUG != 18
    look();
#endif
#if BUG != 11
    X(if :: settled != KEEPERS -> settled = 0 :: else fi);
#endif
    lock();
    keep(pend[(epoch - 1) & 1]);
#if BUG == 9
    X(p = pend[(epoch - 1) & 1]; pend[(epoch - 1) & 1] = 0);
    X(held = held | kept);
    X(free = free | (p & ~kept); p = 0);
#else
    X(held = held | kept);
    X(free = free | (pend[(epoch - 1) & 1] & ~kept));
    X(pend[(epoch - 1) & 1] = 0);
#endif
    X(kept = 0; check_maps(); mx = FREE);
    X(released = epoch - 1)
}

/* What nobody keeps any more. */
inline release_held() {
    if
    :: held ->
        look();
        if
        :: settled != KEEPERS ->
#if BUG == 15
            X(settled = KEEPERS);
#endif
            lock();
#if BUG != 10
            keep(held);
#endif
            X(free = free | (held & ~kept));
            X(held = kept);
            X(kept = 0; check_maps(); mx = FREE);
            X(settled = KEEPERS)
        :: else
        fi
    :: else
    fi
}

/* Finish what a dead one began. */
inline finish() {
    if
    :: durable < epoch - 1 ->
        X(f[fr] = c[fr]);               /* born before: the same bytes once more */
        X(assert(image == (ALL & ~BIT(fr))); mroot = fr; mc = c[fr]; durable = epoch - 1)
    :: else
    fi;
    if
    :: released < epoch - 1 -> release_pages()
    :: else
    fi
}

inline take_role() {
#if BUG == 18
    look();
#endif
    if
    :: atomic { role == FREE -> role = OWN(me) }
    :: atomic { role == DEAD -> role = OWN(me) }
    fi
}

#if PS > 1
#define ANY_WORDS (wlsn[0] || wlsn[1])
#else
#define ANY_WORDS (wlsn[0])
#endif

inline freeze() {
    lock();
    X(fr = rt; flsn = head;
        image = free | pend[epoch & 1] | (BUG == 4 -> 0 : held);
        epoch++;
        lend = (BUG == 19 || !ANY_WORDS));
    unlock()
}

/* A checkpoint: afterwards durable = released = epoch - 1. */
inline checkpoint() {
    finish();
    if
    :: flsn != head || epoch == 1 -> freeze(); finish()
    :: else
    fi;
    release_held()
}

inline forget_all() {
    kl[0] = 0; ke[0] = 0;
#if PS > 1
    kl[1] = 0; ke[1] = 0;
#endif
    s = 0; p = 0; kept = 0
}

inline drop_mutexes() {
    if :: mx == OWN(me) -> mx = DEAD :: else fi;
    if :: role == OWN(me) -> role = DEAD :: else fi
}

#define LOCALS byte kl[PS], ke[PS], s, p, kept

proctype C() {
    LOCALS;
    byte n, me = PS;
top:
    do
    :: n < CK ->
        take_role();
        checkpoint();
        X(role = FREE; n++; forget_all())
    :: finished == PS ->
        wdone = true;
        take_role();
        checkpoint();
        X(assert(held == 0); role = FREE);
        goto stop
    od;
died:
    atomic { drop_mutexes(); forget_all(); goto top };
stop: skip
}

/* Words as the list of this process's snapshots says. */
inline store_words() {
    X(i = 0; lo = 0; hi = 0;
        do
        :: i == SN -> break
        :: else ->
            if
            :: sl[i] ->
                if
#if BUG == 3
                :: lo == 0 || sl[i] > lo -> lo = sl[i]
#else
                :: lo == 0 || sl[i] < lo -> lo = sl[i]
#endif
                :: else
                fi;
                if
#if BUG == 14
                :: hi == 0 || se[i] < hi -> hi = se[i]
#else
                :: se[i] > hi -> hi = se[i]
#endif
                :: else
                fi
            :: else
            fi;
            i++
        od;
        i = 0;
        if :: hi -> wepoch[me] = hi :: else fi);
#if BUG == 17
    X(wlsn[me] = lo; lo = 0; hi = 0)
#else
    X(if
        :: wlsn[me] == published -> wlsn[me] = lo; published = lo
        :: else -> if :: lo == 0 -> published = 0 :: else fi
        fi;
        lo = 0; hi = 0)
#endif
}

inline note() { sroot[k] = fr; se[k] = epoch - 1; sc[k] = c[fr]; sl[k] = flsn + 1 }

inline begin_snapshot() {
    take_role();
#if BUG == 16
    finish();
    freeze();
    X(note());
    store_words();
#else
    checkpoint();
#endif
#if BUG == 1
    X(role = FREE);
    X(note());
    store_words();
#elif BUG == 16
    X(role = FREE);
#else
    if
    :: wlsn[me] == published || BUG == 17 -> X(note()); store_words()
    :: else
    fi;
    X(role = FREE);
#endif
    X(forget_all(); begun++)
}

/* Look at the page, then whether it still counts. */
inline read() {
    X(r = f[sroot[k]]);
#if BUG == 13
    X(assert(r == sc[k]); r = 0)
#else
    X(if :: wlsn[me] && wlsn[me] <= sl[k] -> assert(r == sc[k]) :: else -> assert(lost) fi; r = 0)
#endif
}

proctype S(byte me) {
    LOCALS;
    byte sl[SN], se[SN], sroot[SN], sc[SN];     /* snapshots; sl 0 = none */
    byte k, i, lo, hi, r, begun;
    byte published;                             /* what wlsn should be: else we pass for dead */
    bool lost;
top:
    do
    :: begun < SN ->
        k = 0;
        do
        :: sl[k] -> k++
        :: else -> break
        od;
        begin_snapshot();
        k = 0
#ifdef LOST
    :: !lost -> atomic { lost = true; alive[me] = false }
#endif
    :: else ->
        if
        :: sl[0] -> k = 0
#if SN > 1
        :: sl[1] -> k = 1
#endif
        :: !sl[0] && (SN == 1 || !sl[SN - 1]) -> break
        fi;
        read();
        if
        :: begun < SN
        :: X(sl[k] = 0; se[k] = 0; sroot[k] = 0; sc[k] = 0); store_words(); k = 0
        fi
    :: begun > 0 && begun < SN && sl[0] ->      /* a read, and perhaps the end, before the next begins */
        k = 0;
        read();
        if
        :: true
        :: X(sl[0] = 0; se[0] = 0; sroot[0] = 0; sc[0] = 0); store_words()
        fi
    od;
    goto stop;
died:
    atomic {
        drop_mutexes();
        alive[me] = false;
        forget_all();
        i = 0;
        do
        :: i == SN -> break
        :: else -> sl[i] = 0; se[i] = 0; sroot[i] = 0; sc[i] = 0; i++
        od;
        k = 0; i = 0; lo = 0; hi = 0; r = 0; published = 0;
        begun = SN                      /* a newcomer, if there is one, only takes the slot */
    };
    if
    :: true                             /* nobody comes */
    :: true ->
        atomic {                        /* reaped and taken */
#if BUG != 6
            wlsn[me] = 0;
#endif
            alive[me] = true
        };
        if :: begun = SN :: begun = SN - 1 fi;
        goto top
    fi;
stop:
    atomic { finished++ }
}

init {
    atomic {
        alive[0] = true;
        run Monitor();
        run W();
        run C();
        run S(0);
#if PS > 1
        alive[1] = true;
        run S(1)
#endif
    }
}
