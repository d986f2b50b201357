/*
 * await.pml - sleeping until something is committed, on a place that is given from hand to hand.
 *
 * The code: src/log/await.c, src/api/wait.c, caret__repair in src/log/repair.c.
 *
 * One place (word, bit, owner, key).  Two processes wait, each for a commit of its own key, one after the other
 * on that place; three commit: keys 1, 2, 1.  MAXD deaths, before any step.
 *
 * Shared: per key whether a commit of it exists (head) and is visible (applied); the writer mutex (wm), which tells
 * of a dead owner (wm_dead).  The fence of step b is the order of the steps: BUG 3 is without.
 *
 * Checked: when nothing moves any more, no sleeper has a commit of its key; if somebody has died, the look that
 * comes after a second finds it (and finishes a commit that is half done).
 */
#ifndef MAXD
#define MAXD 1
#endif
#ifndef BUG
#define BUG 0
#endif

#define NOBODY 9

bool head[3], applied[3], asleep[2], gone[2];
bool armed, wm_dead;
byte word, owner = NOBODY, key, wm = NOBODY, deaths;

/* One step, or death. */
#define STEP(x) if :: atomic { x } :: atomic { deaths < MAXD -> deaths++; goto dead } fi

/* All who sleep on the word. */
#define WAKE asleep[0] = 0; asleep[1] = 0

/* A commit is finished by whoever gets the mutex of its dead owner; that one wakes everybody. */
#define REPAIR \
        if :: wm_dead -> wm_dead = 0; applied[1] = head[1]; applied[2] = head[2]; \
              armed = 0; word++; WAKE \
           :: else \
        fi

proctype waiter(byte id; byte mine)
{
    byte seen;

    STEP( owner == NOBODY || gone[owner] -> owner = id );
    if
    :: BUG == 5 -> STEP( armed = 1 )
    :: else
    fi;
    STEP( key = 0 ); /* it is written in two steps: torn between */
    STEP( key = mine );
again:
    if
    :: BUG == 1 -> if :: applied[mine] -> goto found :: else fi
    :: else
    fi;
    if
    :: BUG != 4 -> STEP( seen = word ) /* 2 */
    :: else
    fi;
    if
    :: BUG != 5 -> STEP( armed = 1 ) /* 3 */
    :: else
    fi;
    STEP( skip );
    if
    :: BUG != 1 && applied[mine] -> goto found /* 4 */
    :: else
    fi;
    if
    :: BUG == 4 -> STEP( seen = word )
    :: else
    fi;
    STEP( if :: word == seen -> asleep[id] = 1 :: else fi ); /* 5 */
    if
    :: atomic { !asleep[id] -> goto again }
    :: atomic { timeout -> /* its second is over */
        assert(!head[mine] || deaths > 0);
        asleep[id] = 0;
        if :: wm == NOBODY && BUG != 7 -> REPAIR :: else fi;
        assert(!head[mine] || applied[mine]) }
    fi;
found:
    if
    :: BUG == 6 -> STEP( if :: owner == id -> owner = NOBODY :: else fi ); STEP( armed = 0 )
    :: else -> STEP( armed = 0 ); STEP( if :: owner == id -> owner = NOBODY :: else fi ) /* 7 */
    fi;
    goto end;
dead:
    atomic { gone[id] = 1; asleep[id] = 0 };
end:
    skip
}

proctype committer(byte id; byte what)
{
    bool look, mine;

    STEP( wm == NOBODY -> wm = id; REPAIR );
    STEP( head[what] = 1 );
    if
    :: BUG == 3 -> STEP( look = armed )
    :: else
    fi;
    STEP( applied[what] = 1 ); /* a */
    STEP( wm = NOBODY ); /* b */
    if
    :: BUG != 3 -> STEP( look = armed ) /* c */
    :: else
    fi;
    if
    :: !look -> goto end
    :: else
    fi;
    STEP( mine = (key == what) );
    if
    :: !mine -> goto end
    :: else
    fi;
    if
    :: BUG == 2 -> STEP( word++ ); STEP( WAKE ); STEP( armed = 0 )
    :: else ->
        STEP( look = armed; armed = 0 ); /* d */
        if
        :: look -> STEP( word++ ); STEP( WAKE ) /* e */
        :: else
        fi
    fi;
    goto end;
dead:
    atomic { if :: wm == id -> wm = NOBODY; wm_dead = 1 :: else fi };
end:
    skip
}

init {
    atomic { run waiter(0, 1); run waiter(1, 2); run committer(2, 1); run committer(3, 2); run committer(4, 1) }
}
