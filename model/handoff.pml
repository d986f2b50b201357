/*
 * handoff.pml - the loop of a worker goes on while a script runs.
 *
 * The code: front/server/handoff.c, front/server/worker.c; with -DMACHINE also front/server/node/m.c, the line for the
 * machine of M.
 *
 * Threads: 1 is the worker's first, 2 and 3 are stand-ins.  Connections: 0 and 1, each of which runs scripts or asks
 * for the other's end.  `has` is the thread that has the turn, `lent` the thread that lent it, `loop` the thread that
 * serves, `watcher` the one that looks for scripts that take long.  A step of a script in Lua is an `atomic` of its own.
 *
 * Checked: one thread is in the worker's code at a time (INSIDE), a connection is served by one at a time, is not used
 * after its end, and not ended while a script runs for it; when nothing moves any more, nobody is in a script, one
 * thread is the loop's, and it is the first.
 *
 * MACHINE: a connection may have a command that wants the machine (`owes`).  While that runs it gets in line; whoever ends
 * a run, and each turn of the loop, calls one.  A called one may be refused, one in line may be gone.  Checked as well: an
 * answer is copied before the machine runs for another; nobody calls what is gone; at the end nobody is in line.
 */
#ifndef BUG
#define BUG 0
#endif
#ifndef RUNS
#define RUNS 3
#endif
#define NOBODY 9
#define FIRST 1

byte has = NOBODY, lent = NOBODY, loop = FIRST, watcher = NOBODY, inside, away, handoffs, runs = RUNS;
bool gone[2], serving[2], is_away[2], done;

#ifdef MACHINE
bool m_runs, in_line[2], owes[2], woken[2];
byte called = NOBODY, answer = NOBODY;

#define CALL(c) in_line[c] = 0; called = c; woken[c] = 1; assert(!gone[c])

/* serve__m_turn() */
inline call_one()
{
        if
        :: m_runs || BUG == 11
        :: else ->
                if
                :: called != NOBODY && BUG != 12 && !woken[called] -> called = NOBODY
                :: else
                fi;
                if
                :: called == NOBODY && in_line[0] -> CALL(0)
                :: called == NOBODY && in_line[1] -> CALL(1)
                :: else
                fi
        fi
}

#define LEAVES(c)        if :: BUG != 13 -> in_line[c] = 0; owes[c] = 0; woken[c] = 0 :: else fi
#define NOBODY_IN_LINE   (!m_runs && !in_line[0] && !in_line[1] && !owes[0] && !owes[1])
#define AT_REST          (!woken[0] && !woken[1])
#define CALLED_BEFORE(c) (called == 1 - c && (woken[1 - c] || BUG == 12))
#else
#define LEAVES(c)      skip
#define NOBODY_IN_LINE 1
#define AT_REST        1
#endif

#define INSIDE  inside++; assert(inside == 1); inside--
#define TAKE_TURN atomic { has == NOBODY -> has = _pid } /* the code has tickets: the order is that of asking */
#define GIVE_TURN assert(has == _pid); has = NOBODY

/* Serve connection c, by a script.  At the end the thread has the turn. */
inline script(c, mine)
{
        atomic { INSIDE; assert(!gone[c] && !serving[c]); serving[c] = 1; assert(lent == NOBODY); lent = _pid };
        mine = 1;
        do
        :: skip -> /* in Lua; then a command, or the end */
#ifdef MACHINE
                if
                :: BUG == 10 && answer == c -> m_runs = 0 /* before it has the turn */
                :: else
                fi;
#endif
                if
                :: mine && BUG == 1 -> /* looks, then writes */
                        if
                        :: lent == _pid -> lent = NOBODY
                        :: else -> mine = 0; TAKE_TURN
                        fi
                :: mine && BUG != 1 ->
                        atomic {
                                if
                                :: lent == _pid -> lent = NOBODY
                                :: lent != _pid && BUG != 9 -> mine = 0
                                :: lent != _pid && BUG == 9 -> mine = 0; lent = NOBODY /* another's */
                                fi
                        };
                        if
                        :: mine == 0 -> TAKE_TURN
                        :: else
                        fi
                :: !mine -> TAKE_TURN
                fi;
                atomic { INSIDE };
                if
                :: break
                :: runs > 0 -> /* back to Lua: one that is away gives the turn, the loop's lends it */
                        atomic { runs--;
                        if
                        :: mine || BUG == 2 -> lent = _pid
                        :: else -> GIVE_TURN
                        fi }
                fi
        od;
        atomic {
                INSIDE;
                serving[c] = 0;
                if
                :: !mine -> away--; is_away[c] = 0; /* served by whoever is the loop */
                        if
                        :: _pid == FIRST && BUG != 3 -> loop = FIRST
                        :: else
                        fi
                :: else
                fi
        }
}

#ifdef MACHINE
/* A command of connection c that wants the machine. */
inline machine(c, mine)
{
        atomic {
                INSIDE;
                owes[c] = 1;
                woken[c] = 0;
                if
                :: !m_runs && (called == c || (!in_line[1 - c] && !CALLED_BEFORE(c))) ->
                        m_runs = 1; owes[c] = 0; assert(answer == NOBODY); answer = c
                :: else -> in_line[c] = 1
                fi;
                if
                :: called == c -> called = NOBODY
                :: else
                fi
        };
        if
        :: in_line[c]
        :: else -> script(c, mine);
                atomic { assert(answer == c); answer = NOBODY; m_runs = 0; call_one() }
        fi
}
#endif

inline serve(c, mine)
{
        if
        :: gone[c] || (is_away[c] && BUG != 4)
#ifdef MACHINE
        :: !gone[c] && !is_away[c] && in_line[c] /* it is blocked, */
        :: !gone[c] && !is_away[c] && in_line[c] -> atomic { gone[c] = 1; LEAVES(c) } /* or it has left */
        :: !gone[c] && !is_away[c] && woken[c] ->
                if
                :: machine(c, mine)
                :: atomic { owes[c] = 0; woken[c] = 0 } /* it is refused: it has not the right any more */
                fi
#endif
        :: else ->
                if
                :: runs > 0 -> runs--; script(c, mine)
#ifdef MACHINE
                :: runs > 0 -> runs--; machine(c, mine)
#endif
                :: !is_away[1 - c] || BUG == 5 -> /* its command ends the other: not one that is away */
                        atomic { INSIDE; assert(!serving[1 - c]); gone[1 - c] = 1; LEAVES(1 - c) }
                :: skip
                fi
        fi
}

/* The loop of a thread that has the turn, until it is another's. */
inline run_loop(mine, seen, ready0, ready1)
{
        do
        :: loop != _pid || done -> break
        :: else ->
                if
                :: away > 0 && BUG != 6 -> /* wait without the turn; look again with it */
                        GIVE_TURN; TAKE_TURN
                :: away > 0 && BUG == 6 -> false /* nothing comes until the script has ended */
                :: else
                fi;
                if
                :: loop != _pid && BUG != 7 -> break
                :: else
                fi;
#ifdef MACHINE
                atomic { call_one() };
#endif
                ready0 = !gone[0]; ready1 = !gone[1]; seen = handoffs;
                if
                :: ready0 -> serve(0, mine)
                :: else
                fi;
                if
                :: ready1 && (seen == handoffs || BUG == 8) -> assert(!gone[1] || BUG != 8); serve(1, mine)
                :: else
                fi;
#ifdef MACHINE
                atomic { call_one() }; /* the turn that nothing comes in */
#endif
                if
                :: runs == 0 && away == 0 && loop == _pid && AT_REST -> done = 1
                :: else
                fi
        od
}

proctype first()
{
        bit mine, ready0, ready1;
        byte seen;
        TAKE_TURN;
        do
        :: done -> break
        :: else -> assert(loop == FIRST); run_loop(mine, seen, ready0, ready1)
        od;
        assert(loop == FIRST && !serving[0] && !serving[1] && NOBODY_IN_LINE);
        GIVE_TURN
}

proctype standin()
{
        bit mine, ready0, ready1;
        byte seen;
        do
        :: done -> break
        :: atomic { !done && watcher == NOBODY -> watcher = _pid };
                /* A script takes long: the turn goes from hand to hand, with whoever lent it none the wiser. */
                if
                :: atomic { lent != NOBODY -> assert(has == lent && lent != _pid); has = _pid; lent = NOBODY;
                            INSIDE; handoffs++; away++; loop = _pid; watcher = NOBODY;
                            if :: serving[0] && !is_away[0] -> is_away[0] = 1 :: else -> is_away[1] = 1 fi };
                        run_loop(mine, seen, ready0, ready1);
                        GIVE_TURN
                :: done -> break
                fi
        od
}

init { atomic { run first(); run standin(); run standin() } }
