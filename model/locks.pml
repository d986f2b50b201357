/*
 * locks.pml - process slots, a lock, and what dies with its holder.
 *
 * The code: src/shm/slots.c, src/txn/lock.c, lock_repair.c, caret__reap in src/open/recover.c.
 *
 * Three processes: two have slots 0 and 1, the third, the newcomer, takes slot 0 when its
 * record lock (byte) is free: given back, or its process is dead.  Each takes lock X, makes
 * a commit under it, releases it and gives its slot back.  MAXD deaths, before any step.
 *
 * Shared: slots (state, nonce, byte), the lock's cell (held publishes owner and ononce),
 * the lock mutex (lm), the writer mutex (wm) with a commit that is half made (half), the
 * futex word and its sleepers.  The kernel: a death frees byte and mutexes, the next
 * owner of a mutex is told.
 *
 * Checked: one live process at most is in the section of X; whoever gets X sees no half
 * commit of the one before; nobody sleeps for ever though X is free (no invalid end: sleeps
 * end by themselves only when somebody has died, so a wake-up that is lost is seen).
 */
#ifndef MAXD
#define MAXD 1
#endif
#ifndef BUG
#define BUG 0
#endif

#define NONE 9
#define FREE 0
#define USED 1
#define REAPING 2

byte state[2], nonce[2], byte_of[2] = NONE;
bool held, waiting[3], asleep[3], half;
byte owner, ononce, futex;
byte lm = NONE, wm = NONE;
bool lm_dead, wm_dead;
byte inside, deaths;
bool begun;      /* slot 0 was taken once */
bool settled[2]; /* the process with the byte has raised the nonce: before, the dead one counts as alive */

/* One step, or death. */
#define STEP(x) if :: atomic { x } :: atomic { deaths < MAXD -> deaths++; goto dead } fi

#define ALIVE(s, n) (nonce[s] == n && state[s] != FREE && byte_of[s] != NONE)
#define SOMEBODY_WAITS (waiting[0] || waiting[1] || waiting[2])
#define WAKE asleep[0] = 0; asleep[1] = 0; asleep[2] = 0

/* The lock mutex; after a death the derived part, the records of waiters, is made anew. */
#define ENTER  lm == NONE -> lm = id; \
        if :: lm_dead -> lm_dead = 0; waiting[0] = 0; waiting[1] = 0; waiting[2] = 0; futex++; WAKE \
           :: else \
        fi
/* The writer mutex: a commit of a dead owner is finished. */
#define ENTER_WRITER  wm == NONE -> wm = id; if :: wm_dead -> wm_dead = 0; half = 0 :: else fi

/* Release what process (s, n) left. */
#define RELEASE(s, n) \
        if :: held && owner == s && (ononce == n || BUG == 2) -> held = 0; \
              if :: SOMEBODY_WAITS -> futex++; WAKE :: else fi \
           :: else \
        fi

proctype process(byte id; byte slot)
{
    byte mine, s, n, seen;
    bool is_inside, alive;

    /* ---- slot: byte; reap; nonce; state */
    STEP( byte_of[slot] == NONE && (id != 2 || begun) -> byte_of[slot] = id; settled[slot] = 0; begun = begun || slot == 0 );
    if
    :: state[slot] != FREE ->
        STEP( state[slot] = REAPING; n = nonce[slot] );
        STEP( ENTER_WRITER );
        STEP( wm = NONE );
        STEP( ENTER );
        STEP( RELEASE(slot, n); lm = NONE );
        STEP( state[slot] = FREE )
    :: else
    fi;
    STEP( if :: BUG != 7 || nonce[slot] == 0 -> nonce[slot]++ :: else fi; mine = nonce[slot] );
    STEP( state[slot] = USED; settled[slot] = 1 );

    /* ---- take X */
again:
    STEP( ENTER );
    if
    :: !held ->
        if
        :: BUG == 5 -> STEP( held = 1 ); STEP( owner = slot; ononce = mine )
        :: else -> STEP( owner = slot; ononce = mine ); STEP( held = 1 )
        fi;
        STEP( waiting[id] = 0; lm = NONE; assert(!half); assert(inside == 0); inside++; is_inside = 1 )
    :: else ->
        STEP( assert(inside == 1 || !settled[owner] || !ALIVE(owner, ononce)); /* what a live process holds, it knows of */
              waiting[id] = 1; s = owner; n = ononce; if :: BUG != 3 -> seen = futex :: else fi );
        STEP( lm = NONE );
        STEP( alive = ALIVE(s, n) );
        if
        :: !alive ->
            if
            :: BUG != 1 -> STEP( ENTER_WRITER ); STEP( wm = NONE )
            :: else
            fi;
            STEP( ENTER );
            STEP( RELEASE(s, n); lm = NONE )
        :: else ->
            if :: BUG == 3 -> STEP( seen = futex ) :: else fi;
            /* the kernel compares and sleeps in one step */
            STEP( if :: seen == futex -> asleep[id] = 1 :: else fi );
            STEP( !asleep[id] || deaths > 0 -> asleep[id] = 0 )
        fi;
        s = 0; n = 0; seen = 0; alive = 0;
        goto again
    fi;

    /* ---- a commit under it */
    STEP( ENTER_WRITER );
    STEP( half = 1 );
    STEP( half = 0 );
    STEP( wm = NONE );

    /* ---- release X */
    if
    :: BUG == 4 -> STEP( if :: SOMEBODY_WAITS -> futex++; WAKE :: else fi )
    :: else
    fi;
    STEP( ENTER );
    STEP( assert(held && owner == slot && ononce == mine); inside--; is_inside = 0; held = 0;
          if :: BUG != 4 && SOMEBODY_WAITS -> futex++; alive = 1 :: else fi );
    STEP( lm = NONE );
    STEP( if :: alive -> WAKE :: else fi; alive = 0 );

    /* ---- give the slot back */
    if
    :: BUG == 6 -> STEP( byte_of[slot] = NONE ); STEP( state[slot] = FREE )
    :: else -> STEP( state[slot] = FREE ); STEP( byte_of[slot] = NONE )
    fi;
    goto end;

dead:
    atomic {
        if :: byte_of[slot] == id -> byte_of[slot] = NONE :: else fi;
        if :: lm == id -> lm = NONE; lm_dead = 1 :: else fi;
        if :: wm == id -> wm = NONE; wm_dead = 1 :: else fi;
        if :: is_inside -> inside-- :: else fi;
        begun = begun || slot == 0; is_inside = 0; asleep[id] = 0; mine = 0; s = 0; n = 0; seen = 0; alive = 0
    };
end:
    skip
}

init {
    atomic { run process(0, 0); run process(1, 1); run process(2, 0) }
}
