/*
 * parallel.pml - a plan, not the engine: page changes outside of the writer mutex (docs/engine.md).
 *
 * Every access to one shared word is one step; memory is sequentially consistent.
 * README.md says what is checked and what each -D does.
 *
 * Two leaves of two words each, which must always be seen equal.  A adds 1 to both leaves,
 * B adds 4 to leaf two, S (structural, the way every commit goes today) adds 64 to both; T stores in
 * leaf one a result of what it has read from leaf two.  Each is one commit, and may die before each of its steps.
 * Done twice, lost, or on top of half a change, an addition is seen.
 */
#ifndef MAXD
#define MAXD 1                  /* deaths in one run, all processes together */
#endif
#ifndef BUG
#define BUG 0
#endif

#define A 1                     /* processes, and kinds of commits */
#define B 2
#define S 3
#define T 4
#define R 5
#define J 6

#define FREE 0
#define HELD 1
#define DEAD 2                  /* the owner died; the next lock is told so */
#define OLD 99                  /* in an undo area: of an earlier commit */

byte head, applied;             /* log_head, log_applied */
byte mx;                        /* the writer mutex */
byte latch[3];                  /* by leaf: its holder */
byte ver[3], w0[3], w1[3];      /* by leaf */
byte owner[6];                  /* by LSN: the table of commits in flight */
bit done[6];
byte res[6];                    /* by LSN: the record: what T stores */
byte un[7], gen[7];             /* by process: undo entries that count, generation; one word */
byte up[21], u0[21], u1[21];    /* three entries of each */
bit dead[7];

byte deaths, ended, nproc;      /* ghosts, from here on */
byte lsn[7];                    /* LSN of a kind's commit; 0 = not committed */
byte most;                      /* highest applied */

#define IN(k, at) (lsn[k] && lsn[k] <= (at))
/* What the leaves must hold as of an LSN. */
#define AFTER(k) (lsn[k] > lsn[T] -> 1 : 0)
#define E2(at) ((IN(A, at) -> 1 : 0) + (IN(B, at) -> 4 : 0) + (IN(S, at) -> 64 : 0))
#define E1(at) ((IN(T, at) -> 128 + (IN(A, lsn[T]) -> 16 : 0) + (IN(B, lsn[T]) -> 32 : 0) : 0) + \
    (IN(A, at) && (!IN(T, at) || AFTER(A)) -> 1 : 0) + \
    (IN(S, at) && (!IN(T, at) || AFTER(S)) -> 64 : 0))

#define WRITES(k, leaf) ((k) == A || (k) == S || (leaf) == ((k) == B -> 2 : 1))
#define NEW(k, l, old) ((k) == T -> res[l] : (old) + ((k) == A -> 1 : ((k) == B -> 4 : 64)))
#define AT(p, i) (3 * ((p) - 1) + (i))

/* One step of a process that may die: with the mutex it is found out at the next lock. */
#define X(s) if :: atomic { s } \
    :: atomic { deaths < MAXD && mine -> deaths++; dead[me] = 1; mx = DEAD; goto died } \
    :: atomic { deaths < MAXD && !mine -> deaths++; dead[me] = 1; goto died } fi

#define LOCALS byte me, p, L, leaf, f, i, l, a, g, n, y0, y1; bool mine, ok; byte v[3]

/* Somebody died with a commit in flight, or with a latch. */
#define LOST(x) (dead[x] && (latch[1] == x || latch[2] == x))
#define HELP (mx == DEAD || (mx == FREE && (ANY_LOST || (BUG == 10 && head > applied))))
#define ANY_LOST (LOST(A) || LOST(B) || LOST(T) || lost_entry)
#define lost_entry ((applied < head && !done[applied + 1] && dead[owner[applied + 1]]))

/* Whoever waits goes on over what is done, too: its writer may have died before. */
#define LEFT_DONE (BUG != 14 && applied < head && done[applied + 1])

/* Go on over what is done, whoever did it. */
inline advance() {
    do
    ::  a = applied;
        if
        :: a < head && (done[a + 1] || BUG == 2) ->
#if BUG == 3
            X(applied = a + 1; assert(applied >= most); most = applied)
#else
            X(if :: applied == a -> applied = a + 1; most = applied :: else fi)
#endif
        :: else -> break
        fi
    od;
    a = 0
}

/* After the commit point: the leaves of commit L of process p, whose undo area is used. */
inline apply(p, L) {
    f = 1;
    do
    :: f > 2 -> break
    :: f <= 2 && !WRITES(p, f) -> f++
    :: f <= 2 && WRITES(p, f) ->
        X(up[AT(p, un[p])] = f; u0[AT(p, un[p])] = w0[f]; u1[AT(p, un[p])] = w1[f]);
        X(un[p]++);
        X(w0[f] = NEW(p, L, w0[f]));
        X(w1[f] = NEW(p, L, w1[f]));
#if BUG == 4
        X(if :: latch[f] == p -> latch[f] = 0 :: else fi);
#endif
        f++
    od;
    f = 0;
    X(done[L] = 1)
}

inline raise(p, L) {
    f = 1;
    do
    :: f > 2 -> break
    :: f <= 2 && WRITES(p, f) -> X(if :: ver[f] < L -> ver[f] = L :: else fi); f++
    :: f <= 2 && !WRITES(p, f) -> f++
    od;
    f = 0
}

inline let_go(p) {
    X(if :: latch[1] == p -> latch[1] = 0 :: else fi);
    X(if :: latch[2] == p -> latch[2] = 0 :: else fi)
}

/* With the mutex: what the dead left.  Their leaves are latched until their commits are done. */
inline repair() {
    p = A;
    do
    :: p > T -> break
    :: p <= T && (dead[p] || (BUG == 10 && head > applied && owner[applied + 1] == p)) ->
        l = applied + 1;
        do
        :: l > head -> break
        :: l <= head && owner[l] == p && !done[l] ->
#if BUG != 6
            i = un[p];
            do
            :: i == 0 -> break
            :: i > 0 ->
                i--;
                X(w0[up[AT(p, i)]] = u0[AT(p, i)]);
                X(w1[up[AT(p, i)]] = u1[AT(p, i)])
            od;
#endif
            X(un[p] = 0; gen[p]++);
            raise(p, l);
            apply(p, l);
            l++
        :: else -> l++
        od;
        let_go(p);
        p++
    :: else -> p++
    od;
    l = 0; i = 0; p = 0;
    advance()
}

inline lock() {
    if
    :: atomic { mx == FREE -> mx = HELD; mine = true }
    :: atomic { mx == DEAD -> mx = HELD; mine = true }; repair()
    fi
}

inline unlock() { X(mx = FREE; mine = false) }

/* Wait for something; help where somebody died. */
#define WAIT(cond) do \
    :: cond -> break \
    :: LEFT_DONE -> advance() \
    :: atomic { HELP -> mx = HELD; mine = true }; repair(); unlock() \
    od

#define MAY_TAKE (latch[leaf] == 0 || (BUG == 7 && dead[latch[leaf]]))

/* Steps 1 to 6 of the plan.  T: v[2] is the version of what it has read. */
inline commit() {
    do
    ::  leaf = 1;                       /* 1 latches, in order */
        do
        :: leaf > 2 -> break
        :: leaf <= 2 && WRITES(me, leaf) ->
            WAIT(MAY_TAKE);
            X(if :: MAY_TAKE -> latch[leaf] = me; ok = true :: else -> ok = false fi);
            if
            :: ok -> v[leaf] = ver[leaf]; leaf++
            :: else
            fi
        :: leaf <= 2 && !WRITES(me, leaf) -> leaf++
        od;
        lock();                         /* 2 */
        ok = true;
#if BUG != 9
        if :: WRITES(me, 1) && ver[1] != v[1] -> ok = false :: else fi;
        if :: ver[2] != v[2] -> ok = false :: else fi;
#endif
        if
        :: !ok -> unlock(); let_go(me); if :: me == T -> goto again :: else fi
        :: else -> break
        fi
    od;
    leaf = 0; v[1] = 0; v[2] = 0; ok = false;
    L = head + 1;                       /* 3 */
#if BUG == 5
    X(owner[L] = me; done[L] = 0; gen[me]++);
#else
    X(owner[L] = me; done[L] = 0; un[me] = 0; gen[me]++);
#endif
    X(res[L] = 128 + y0);
    X(head = L; lsn[me] = L);
#if BUG == 1
    unlock();
    raise(me, L);
#else
    raise(me, L);
    unlock();                           /* 4 */
#endif
    apply(me, L);                          /* 5 */
#if BUG == 11
    X(un[me] = 0);
#endif
    let_go(me);
    advance();                          /* 6 */
    WAIT(applied >= L)
}

/* The state as of log_applied, from undo entries: of the newest commit in flight first. */
inline rebuild(pn) {
    ok = false;
    a = applied;
    g = gen[A] + gen[B] + gen[S] + gen[T];
    y0 = w0[pn];
    y1 = w1[pn];
#if BUG == 8
    l = a + 1;
#else
    l = head;
#endif
    do
    :: l <= a || l > head -> break
    :: l > a && l <= head -> atomic {
        n = owner[l];
        i = un[n];
        do
        :: i == 0 -> break
        :: i > 0 -> i--; if :: up[AT(n, i)] == pn -> y0 = u0[AT(n, i)]; y1 = u1[AT(n, i)] :: else fi
        od;
#if BUG == 8
        l++;
#else
        l--;
#endif
        n = 0 }
    od;
    if
    :: atomic { applied == a && g == gen[A] + gen[B] + gen[S] + gen[T] ->
        ok = true;
        assert(y0 == (pn == 1 -> E1(a) : E2(a)) && y1 == y0) }
    :: else
    fi;
    l = 0; g = 0; i = 0
}

/* Read a leaf: y0, its version in v[]. */
inline read(pn) {
    do
    ::  v[pn] = ver[pn];
        if
        :: applied < v[pn] ->
            if
            :: applied >= v[pn]
            :: LEFT_DONE -> advance()
            :: atomic { HELP -> mx = HELD; mine = true }; repair(); unlock()
#ifdef AROUND
            :: applied < v[pn] -> rebuild(pn); if :: ok -> v[pn] = a; break :: else fi
#endif
            fi
        :: else ->
            y0 = w0[pn];
            y1 = w1[pn];
            if :: BUG == 12 || ver[pn] == v[pn] -> break :: else fi
        fi
    od;
    assert(y0 == y1)                    /* never torn */
}

proctype Writer(byte who) {
    LOCALS;
    me = who;
again:
    commit();
died: ended++
}

/* As today: no latches; nothing else is in flight. */
proctype Structural() {
    LOCALS;
    me = S;
    lock();
#if BUG != 13
    do
    :: applied == head -> break
    :: LEFT_DONE -> advance()
    :: lost_entry -> repair()           /* those in flight don't need the mutex to go on */
    od;
#endif
    L = head + 1;
    X(owner[L] = me; done[L] = 0; un[me] = 0; gen[me]++);
    X(head = L; lsn[me] = L);
    raise(me, L);
    apply(me, L);
    advance();
    unlock();
died: ended++
}

proctype Transaction() {
    LOCALS;
    me = T;
again:
    read(2);
    y0 = ((y0 & 1) -> 16 : 0) + ((y0 & 4) -> 32 : 0);
    commit();
died: ended++
}

proctype Reader() {
    LOCALS;
    byte x1, x2;
    me = R;
    read(1);
    x1 = y0; y0 = 0; y1 = 0; v[1] = 0;
    read(2);
    x2 = y0;
    assert((!(x1 & 1) || x1 >= 128) || (x2 & 1));     /* never half a commit */
    assert(x1 >= 128 || !(x1 & 64) || (x2 & 64))
died: ended++
}

/* When all have finished or died: lock (and so repair) once more and look. */
proctype Judge() {
    LOCALS;
    me = J;
    atomic { ended == nproc -> deaths = MAXD };
    atomic { mx != HELD -> mx = HELD; mine = true };
    repair();
    unlock();
    assert(mx == FREE && head == applied && latch[1] == 0 && latch[2] == 0);
    assert(w0[1] == E1(head) && w1[1] == E1(head));
    assert(w0[2] == E2(head) && w1[2] == E2(head));
    assert(ver[1] <= applied && ver[2] <= applied);
died: skip
}

init {
    atomic {
        un[A] = 1; up[AT(A, 0)] = 1; u0[AT(A, 0)] = OLD; u1[AT(A, 0)] = OLD;
        un[B] = 1; up[AT(B, 0)] = 2; u0[AT(B, 0)] = OLD; u1[AT(B, 0)] = OLD;
        nproc = 2;
        run Writer(A);
        run Writer(B);
#ifdef STRUCTURE
        run Structural(); nproc++;
#endif
#ifdef RWTX
        run Transaction(); nproc++;
#endif
#ifdef READER
        run Reader(); nproc++;
#endif
        run Judge()
    }
}
