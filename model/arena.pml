/*
 * arena.pml - arena slots, epochs, checkpoints and the reuse of page numbers.
 *
 * commit.pml models a commit, its undo and its repair.  Here the same commit lives with
 * a checkpointer that takes arena slots away from pages that live on, and gives back the
 * numbers of pages that died.  README.md says what is checked and what each -D does.
 *
 * The tree is two leaves, named by two words of the tree-state block (rt).  Commit L
 * changes one leaf and makes both words of its page L, by adding the difference that the
 * log record holds: added twice, or to foreign bytes, it is wrong and seen.  So a page of
 * version v must always read (v, v), and v must be a commit that changed this leaf.
 *
 * W commits, C has the checkpoint role, R reads.  A process that dies starts again as
 * another one that knows nothing.  Every access to a word that others may read at that
 * moment is one step; memory is sequentially consistent.  What only the owner of the
 * mutex looks at is changed in one go with its neighbours, but may be cut short by death.
 */
#ifndef MAXD
#define MAXD 1                  /* deaths in one run, all processes together */
#endif
#ifndef NC
#define NC 3                    /* commits */
#endif
#ifndef CK
#define CK 2                    /* checkpoints */
#endif
#ifndef NP
#define NP 4                    /* page numbers 1 .. NP; at first 1 and 2 are the leaves */
#endif
#ifndef NS
#define NS 3                    /* arena slots 1 .. NS */
#endif
#ifndef BUG
#define BUG 0
#endif

#define FREE 0
#define HELD 1
#define DEAD 2                  /* the owner died; the next lock is told so */

#define BIT(n) (1 << (n))
#define ALL_PAGES (BIT(NP + 1) - 2)
#define ALL_SLOTS (BIT(NS + 1) - 2)

/* The word of a page-table entry, loaded and stored at once: slot (0 = none), obsolete, birth. */
#define OBSOLETE 8
#define WORD(slot, birth) ((slot) << 4 | (birth))
#define SLOT(w) ((w) >> 4)
#define NOSLOT(w) ((w) & 15)
#define BIRTH(w) ((w) & 7)
#define DIED(w) ((w) & OBSOLETE)

#define UFREE 1                 /* kinds of undo entries */
#define USLOTS 2
#define UWORD 3
#define UROOT 4
#define UPAGE 5
#define UPEND 6
#define UMAX 7

byte mx;
byte head, applied;             /* log_head, log_applied */
byte rk[NC + 1], rd[NC + 1];    /* log by LSN: leaf (+ 4: moves to a new page), difference */
byte ulsn, ucnt, uk[UMAX], up[UMAX], u0[UMAX], u1[UMAX];
byte ver[NP + 1], word[NP + 1]; /* page table */
byte s0[NS + 1], s1[NS + 1];    /* arena */
byte own[NS + 1];               /* page that took the slot last */
byte rt[3];
byte free = ALL_PAGES & ~6, slots = ALL_SLOTS, pend[2]; /* bitmaps: free, free, died in an epoch of that parity */
byte epoch = 1, durable, released;
bool lend;                      /* what died in the epoch before may be taken */
byte fr1, fr2, flsn, image;     /* the frozen record */

byte f0[NP + 1], f1[NP + 1], unsynced;          /* data file: pages; which may be lost */
byte mep[2], mr1[2], mr2[2], mlsn[2], munsynced; /* meta slots; the newest may be lost */
bool mwhole[2];                                  /* not half written */

byte deaths, checks;            /* ghosts, from here on */
byte c1[NC + 1], c2[NC + 1];    /* LSN of the last change of each leaf, as of commit L */
byte vis[3];                    /* the same as of what is visible */
bool cdone;
hidden byte hk, ho, hs, hb;     /* scratch of the checks, not part of the state */

/*
 * I1 and recovery, looked at in every state: whichever meta is found after all processes
 * were killed or the power failed, its tree is whole and synced in the file, with the
 * leaves as of its LSN, and the log from there on has not been given up.
 */
#define NEWEST (mwhole[1] && (mep[1] > mep[0] || !mwhole[0]) -> 1 : 0)
#define RECOVERS(j) (mwhole[j] && mep[j] >= durable && !(unsynced & (BIT(mr1[j]) | BIT(mr2[j]))) && \
    f0[mr1[j]] == c1[mlsn[j]] && f1[mr1[j]] == c1[mlsn[j]] && \
    f0[mr2[j]] == c2[mlsn[j]] && f1[mr2[j]] == c2[mlsn[j]])
#define I1 (RECOVERS(NEWEST) && (!munsynced || !mwhole[0] || !mwhole[1] || RECOVERS(1 - NEWEST)))

proctype Monitor() {
end: atomic { !I1 -> assert(false) }
}

/* Page numbers that may be taken before they are free: a page of this epoch is written by the next checkpoint. */
#if BUG == 32
#define LENDER (epoch & 1)
#else
#define LENDER (1 - (epoch & 1))
#endif
#define LENT (lend * pend[LENDER])

/* One step of the owner of the mutex (X) or of the checkpoint role (Y); before each it may die. */
#define X(s) if :: atomic { s } \
    :: atomic { deaths < MAXD -> deaths++; mx = DEAD; goto died } fi
#define Y(s) if :: atomic { s } \
    :: atomic { deaths < MAXD -> deaths++; goto died } fi

/* L record, k leaf, d difference; o old page, so its slot; n, s new page and slot. */
#define LOCALS byte L, k, d, i, o, so, n, s, ep
#define CLEAR L = 0; k = 0; d = 0; i = 0; o = 0; so = 0; n = 0; s = 0; ep = 0

/* At rest, that is at every unlock. */
inline check_all() {
    assert(head == applied);
    hb = BIT(rt[1]) | BIT(rt[2]);
    hk = 1;
    do
    :: hk > 2 -> break
    :: else ->
        ho = rt[hk];
        hs = SLOT(word[ho]);
        assert(!DIED(word[ho]) && ver[ho] == vis[hk]);
        assert((hs -> s0[hs] : f0[ho]) == vis[hk] && (hs -> s1[hs] : f1[ho]) == vis[hk]);
        hk++
    od;
    /* A page number is in the tree, free, or waiting in one of the two: just one of these. */
    assert(!(free & hb) && !((pend[0] | pend[1]) & (hb | free)) && !(pend[0] & pend[1]));
    assert((free | pend[0] | pend[1] | hb) == ALL_PAGES);
    /* A free slot has no page, another one at most one. */
    hb = slots;
    ho = 1;
    do
    :: ho > NP -> break
    :: else ->
        hs = SLOT(word[ho]);
        if
        :: hs -> assert(!(hb & BIT(hs))); hb = hb | BIT(hs)
        :: else
        fi;
        ho++
    od;
    hk = 0; ho = 0; hs = 0; hb = 0
}

/* No slot is lost: after a checkpoint each has its page or is free. */
inline check_slots() {
    hs = 1;
    do
    :: hs > NS -> break
    :: else -> assert((slots & BIT(hs)) || SLOT(word[own[hs]]) == hs); hs++
    od;
    hs = 0
}

/* Clears what nobody reads again, for fewer states: what old undo entries could do is
   shown by commit.pml. */
inline forget() {
    CLEAR;
    ulsn = 0; ucnt = 0;
    hk = 0;
    do
    :: hk == UMAX -> break
    :: else -> uk[hk] = 0; up[hk] = 0; u0[hk] = 0; u1[hk] = 0; hk++
    od;
    hk = 0
}

inline unlock() { X(d_step { check_all(); forget(); mx = FREE }) }

#define PUT(kind, p, a0, a1) \
    X(uk[ucnt] = kind; up[ucnt] = p; u0[ucnt] = a0; u1[ucnt] = a1; ucnt++)

/* The writer takes the lowest, a redo the highest: it need not choose as the writer did. */
inline pick(x, map, redo) {
    x = (redo -> 7 : 1);
    do
    :: (map) & BIT(x) -> break
    :: else -> x = (redo -> x - 1 : x + 1)
    od
}

#if BUG == 9
#define EPOCH ep
#else
#define EPOCH epoch
#endif
#if BUG == 8
#define IN_PLACE(w) (SLOT(w))
#else
#define IN_PLACE(w) (BIRTH(w) == EPOCH)
#endif

/*
 * Page o dies.  It keeps its slot, and its number waits, until this epoch is durable.  No undo: its
 * version, its pending bit and its flag, in this order, tell repair that L killed it.
 */
inline drop() {
#ifdef ATONCE
    atomic {
        PUT(UWORD, o, word[o], 0);
        X(ver[o] = L)
    };
    if
    :: BIRTH(word[o]) == epoch ->       /* born in this epoch: both are free from the next commit on */
        X(word[o] = NOSLOT(word[o]) | OBSOLETE);
        atomic {
            PUT(UFREE, 0, free, 0);
            X(free = free | BIT(o));
            PUT(USLOTS, 0, slots, 0);
            X(slots = slots | BIT(so))
        }
    :: BIRTH(word[o]) != epoch ->
        X(pend[epoch & 1] = pend[epoch & 1] | BIT(o));
        X(word[o] = word[o] | OBSOLETE)
    fi
#else
#if BUG == 4
    X(ver[o] = L);
    X(word[o] = word[o] | OBSOLETE);
    atomic {
        PUT(UFREE, 0, free, 0);
        X(free = free | BIT(o))
    }
#elif BUG == 26
    X(ver[o] = L);
    X(word[o] = word[o] | OBSOLETE);
    X(pend[epoch & 1] = pend[epoch & 1] | BIT(o))
#elif BUG == 27
    X(pend[epoch & 1] = pend[epoch & 1] | BIT(o));
    X(ver[o] = L);
    X(word[o] = word[o] | OBSOLETE)
#else
    X(ver[o] = L);
    X(pend[epoch & 1] = pend[epoch & 1] | BIT(o));
    X(word[o] = word[o] | OBSOLETE)
#endif
#endif
}

/* Repair: the pages that died in commit head are alive again. */
inline take_back() {
    i = 1;
    do
    :: i > NP || BUG == 28 -> break
    :: else ->
        if
        :: (pend[epoch & 1] & BIT(i)) && (ver[i] == head || BUG == 29) ->
#if BUG == 30
            X(pend[epoch & 1] = pend[epoch & 1] & ~BIT(i));
            X(word[i] = ((free | LENT) & BIT(i) -> word[i] : word[i] & ~OBSOLETE))
#else
            X(word[i] = ((free | LENT) & BIT(i) -> word[i] : word[i] & ~OBSOLETE));
            X(pend[epoch & 1] = pend[epoch & 1] & ~BIT(i))
#endif
        :: else
        fi;
        i++
    od;
    i = 0;
    d_step {                            /* all is as of log_applied: the redo goes through live pages */
        hb = BIT(rt[1]) | BIT(rt[2]);
        assert(!DIED(word[rt[1]]) && !DIED(word[rt[2]]) && !((pend[0] | pend[1]) & hb));
        hb = 0
    }
}

/* Apply record L: change leaf k in place, or by a new page that takes its role. */
inline apply(redo) {
    atomic {
        k = rk[L] & 3;
        d = rd[L];
        o = rt[k];
        so = SLOT(word[o]);
        X(ucnt = 0);
        X(ulsn = L)
    };
    if
    :: IN_PLACE(word[o]) && !(rk[L] & 4) ->
        atomic {
            PUT(UPAGE, so, s0[so], s1[so]);
            X(ver[o] = L)
        };
        X(s0[so] = s0[so] + d);
        X(s1[so] = s1[so] + d)
    :: else ->
#if BUG == 24
        drop();
#endif
        atomic {
            pick(n, free | LENT, redo);
            pick(s, slots, redo);
            if
            :: LENT & BIT(n) ->
                if :: BUG != 34 -> PUT(UPEND, LENDER, pend[LENDER], 0) :: else fi;
                X(pend[LENDER] = pend[LENDER] & ~BIT(n));
                if :: BUG == 36 -> f0[n] = L :: else fi
            :: else ->
                if :: BUG != 21 -> PUT(UFREE, 0, free, 0) :: else fi;
                X(free = free & ~BIT(n))
            fi;
            if :: BUG != 22 -> PUT(USLOTS, 0, slots, 0) :: else fi;
            X(slots = slots & ~BIT(s));
            X(own[s] = n)
        };
        atomic {
            if :: BUG != 23 -> PUT(UWORD, n, word[n], 0) :: else fi;
            X(ver[n] = L)
        };
        X(word[n] = WORD(s, EPOCH));
        X(s0[s] = (so -> s0[so] : f0[o]) + d);
        X(s1[s] = (so -> s1[so] : f1[o]) + d);
#if BUG != 24
        drop();
#endif
        atomic {
            PUT(UROOT, k, o, 0);
            X(rt[k] = n)
        }
    fi;
    X(applied = L; vis[k] = L)
}

/* The mutex is ours and its owner died: make the state whole. */
inline repair() {
    if
    :: head > applied ->
        if
        :: ulsn > applied ->
            i = ucnt;
            do
            :: i == 0 -> break
            :: i > 0 ->
                i--;
                if
                :: uk[i] == UFREE -> X(free = u0[i])
                :: uk[i] == USLOTS -> X(slots = u0[i])
                :: uk[i] == UWORD -> X(word[up[i]] = u0[i])
                :: uk[i] == UPEND -> X(pend[up[i]] = u0[i])
                :: uk[i] == UROOT -> X(rt[up[i]] = u0[i])
                :: uk[i] == UPAGE -> X(s0[up[i]] = u0[i]); X(s1[up[i]] = u1[i])
                fi
            od
        :: else
        fi;
        X(ucnt = 0);
        take_back();
        L = head;
        ep = epoch;
        apply(true)
    :: else ->                          /* it may have died in give_back */
#if BUG == 20
        skip
#else
        atomic {
            X(pend[0] = pend[0] & ~free);
            X(pend[1] = pend[1] & ~free)
        }
#endif
    fi
}

inline lock() {
    if
    :: atomic { mx == FREE -> mx = HELD }
    :: atomic { mx == DEAD -> mx = HELD }; repair()
    fi
}

proctype W() {
    LOCALS;
top:
    do
    ::
#if BUG == 9
        ep = epoch;
#endif
        lock();
        if
        :: head == NC -> unlock(); break
        :: head < NC && (free | LENT) && slots ->
            atomic {
                if :: k = 1 :: head > 0 -> k = 2 fi;
                if :: n = 0 :: IN_PLACE(word[rt[k]]) -> n = 4 fi;
                L = head + 1;
                X(rk[L] = k + n; rd[L] = L - vis[k]);
                X(head = L; c1[L] = (k == 1 -> L : c1[L - 1]); c2[L] = (k == 2 -> L : c2[L - 1]))
            };
            apply(false);
            unlock()
        :: else ->                      /* short of something: room is made outside the mutex */
            unlock();
            if
            :: (free | LENT) && slots
            :: cdone -> break
            fi
        fi
    od;
    goto stop;
died:
    atomic { CLEAR; goto top };
stop: skip
}

#if BUG == 5
#define PARITY(e) ((e) + 1 & 1)
#else
#define PARITY(e) ((e) & 1)
#endif
#if BUG == 10
#define SKIPPED(w, p) DIED(w)
#elif BUG == 33
#define SKIPPED(w, p) (DIED(w) && (pend[e & 1] & BIT(p)))
#else
#define SKIPPED(w, p) (image & BIT(p)) /* died before the freeze; may live again */
#endif
#if BUG == 13
#define M 0
#else
#define M (e & 1)
#endif

/* 1. Freeze: the record first, the new epoch last. */
inline freeze() {
#if BUG == 7
    Y(fr1 = rt[1]; fr2 = rt[2]);
#endif
    lock();
    atomic {
        ep = epoch;
#if BUG == 6
        X(epoch = ep + 1);
#endif
#if BUG != 7
        X(fr1 = rt[1]);
        X(fr2 = rt[2]);
#endif
        X(flsn = applied);
        X(image = free | (BUG == 25 -> 0 : pend[ep & 1]));
#if BUG != 6
        X(epoch = ep + 1);
#endif
        X(lend = true);
        unlock()
    }
}

#define TAKEN(t) (!(slots & BIT(t)))
#define LEAKED(t) (TAKEN(t) && SLOT(word[own[t]]) != (t))
#define OURS(t) (TAKEN(t) && SLOT(word[own[t]]) == (t) && (BIRTH(word[own[t]]) <= e || BUG == 18))

/* The page is in the file: others may have its slot before the meta is written.  (A slot that has a page keeps it.) */
inline give_slot() {
    lock();
    atomic {
        assert(OURS(t));
        X(word[own[t]] = NOSLOT(word[own[t]]))
    };
    atomic {
        X(slots = slots | BIT(t));
        unlock()
    }
}

/* 2. Write the frozen pages, then the meta, without the mutex. */
inline write_out() {
    t = 1;
    do
    :: t > NS -> break
    :: else ->
        o = own[t];
        n = word[o];
        if
        :: SLOT(n) == t && BIRTH(n) <= e && !SKIPPED(n, o) ->
            /* Writing what is there already, as a successor does, puts nothing at risk. */
#if BUG == 31
            b = o;
            give_slot();
            o = b;
#endif
            Y(unsynced = (f0[o] == s0[t] && f1[o] == s1[t] -> unsynced : unsynced | BIT(o)); f0[o] = s0[t]);
            Y(f1[o] = s1[t]);
            if
            :: BUG != 31 -> give_slot()
            :: true
            fi
        :: else
        fi;
        atomic { t++; o = 0; n = 0; b = 0 }
    od;
#if BUG != 11
    Y(unsynced = 0);
#endif
    Y(mwhole[M] = false; munsynced = 1);
    Y(mep[M] = e; mr1[M] = fr1; mr2[M] = fr2; mlsn[M] = flsn; mwhole[M] = true;
        assert(image == (ALL_PAGES & ~(BIT(fr1) | BIT(fr2)))));
#if BUG == 12
    Y(durable = e);
    Y(munsynced = 0)
#else
    Y(munsynced = 0; unsynced = 0);
    Y(durable = e)
#endif
}

/* 3. Take the slots away, also from obsolete pages; the lock is dropped after each. */
inline release() {
    t = 1;
    do
    :: t > NS -> break
    :: else ->
        lock();
        atomic {
            do
            :: t > NS -> break
            :: t <= NS && OURS(t) ->
#if BUG == 17
                X(slots = slots | BIT(t));
#else
                X(word[own[t]] = NOSLOT(word[own[t]]));
#endif
                break
            :: t <= NS && LEAKED(t) && BUG != 19 -> break
            :: else -> t++
            od
        };
        atomic {
            if
#if BUG == 17
            :: t <= NS -> X(word[own[t]] = NOSLOT(word[own[t]]))
#else
            :: t <= NS -> X(slots = slots | BIT(t))
#endif
            :: else
            fi;
            unlock()
        }
    od
}

/* 4. The page numbers that died in e are free. */
inline give_back() {
    lock();
    atomic {
        X(free = free | (BUG == 35 -> image : pend[PARITY(e)]));
        X(pend[PARITY(e)] = 0; lend = false);
        X(released = e; checks++; d_step { check_slots() });
        e = 0; t = 0;
        unlock()
    }
}

#if BUG == 15
#define FINISHED true
#elif BUG == 16
#define FINISHED (durable == epoch - 1)
#else
#define FINISHED (released == epoch - 1)
#endif

/* A successor goes on from what the words say. */
proctype C() {
    LOCALS;
    byte e, t, b;
top:
    do
    :: checks == CK -> break
    :: else ->
        if :: FINISHED -> freeze() :: else fi;
        e = epoch - 1;
        if :: durable < e || BUG == 14 -> write_out() :: else fi;
        release();
        give_back()
    od;
    cdone = true;
    goto stop;
died:
    atomic { CLEAR; e = 0; t = 0; b = 0; goto top };
stop: skip
}

#if BUG == 2
#define MOVED false
#elif BUG == 3
#define MOVED (SLOT(word[p]) != SLOT(w))
#else
#define MOVED (word[p] != w)
#endif

#ifdef READER
/* Reads a leaf through a remembered (page, version); from the root if that does not hold. */
proctype R() {
    byte k, p, v, w, y0, y1, low;
    atomic {                            /* read properly, some time ago */
        if
        :: ver[rt[1]] <= applied && !DIED(word[rt[1]]) -> k = 1
        :: ver[rt[2]] <= applied && !DIED(word[rt[2]]) -> k = 2
        fi;
        p = rt[k];
        v = ver[p]
    };
    atomic { low = vis[k]; if :: ver[p] == v -> goto look :: else fi };
again:
    p = rt[k];
    v = ver[p];
#if BUG == 1
    if :: rt[k] != p -> goto retry :: else fi;
    if :: v > applied -> goto retry :: else fi;
#else
    if :: v > applied -> goto retry :: else fi;
    if :: rt[k] != p -> goto retry :: else fi;
#endif
look:
    w = word[p];
    if :: DIED(w) -> goto retry :: else fi;
    y0 = (SLOT(w) -> s0[SLOT(w)] : f0[p]);
    y1 = (SLOT(w) -> s1[SLOT(w)] : f1[p]);
    if                                  /* two loads without an order between them */
    :: ver[p] != v || MOVED -> goto retry
    :: ver[p] == v -> if :: MOVED -> goto retry :: !MOVED fi
    :: !MOVED -> if :: ver[p] != v -> goto retry :: ver[p] == v fi
    fi;
    atomic {
        assert(y0 == v && y1 == v);                     /* not torn, no other page's bytes */
        assert((k == 1 -> c1[v] : c2[v]) == v);         /* nor the other leaf's */
        assert(v >= low);                               /* never backwards */
        k = 0; p = 0; v = 0; w = 0; y0 = 0; y1 = 0; low = 0;
        goto stop
    };
retry:
    atomic { p = 0; v = 0; w = 0; y0 = 0; y1 = 0; goto again };
stop: skip
}
#endif

init {
    atomic {
        rt[1] = 1; rt[2] = 2;
        mr1[0] = 1; mr2[0] = 2; mwhole[0] = true;
        run Monitor();
        run W();
        run C();
#ifdef READER
        run R()
#endif
    }
}
