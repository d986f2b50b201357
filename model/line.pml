/*
 * line.pml - the line of clients that wait for keys, over workers that may be killed.
 *
 * The code: front/server/meet/line.h (L1 to L5), blocked.c, wait_end.c.
 *
 * Two workers with a client each, two keys: a client waits before both.  What is an `atomic` after the word "commit" is a
 * transaction: it is run again if what it has read is not so any more.  `count` lies in shared memory, outside of
 * transactions: the clients that wait, or are about to.  A worker dies between any two steps (DIE); the supervisor empties its count;
 * its successor has another birth and deletes what the dead one left.
 *
 * Checked: a client has a request or an answer or neither (L1); what is served has its request (L2), is the first that
 * lives (L5); each element is in a key, in an answer, with a client, or lost with a client whose worker died (L4); when
 * nothing moves any more, nobody waits before a key that has something, and nothing of the dead is left (L3, L5).
 *
 * Seeded errors, -DBUG=n: 1 counted after the commit, 2 no second look at the count, 3 keys read outside of the
 * transaction, 4 a request that was served stays, 5 the answer is another transaction, 6 the dead are served, 7 an answer
 * is deleted after it was copied, 8 places stay and are believed, 9 the end of time overlooks an answer, 10 not the first
 * is served, 11 nobody deletes what the dead left.
 *
 * Without NET nobody dies, and no worker looks at keys by itself: a wake-up that is lost is lost for good.  With NET
 * workers die; one that dies after it pushed, and before it looked again at the count, is what the net is for.
 */
#ifndef BUG
#define BUG 0
#endif
#ifndef PUSHES
#define PUSHES 2
#endif
#ifndef BEGINS
#define BEGINS 2
#endif
#ifndef TIMEOUTS
#define TIMEOUTS 1
#endif
#ifndef NET
#define KILLS 0
#endif
#ifndef KILLS
#define KILLS 1
#endif
#define ELEMENT 1

byte key[2], place[4] /* of key k and client c: 2 * k + c */, req[2], req_birth[2], ans[2], ans_birth[2]; /* the database */
byte count[2]; /* shared memory */
byte birth[2] = 1, in_hand[2];
bool up[2] = 1, waiting[2];
byte ticket = 1, pushed, got, lost;
byte pushes = PUSHES, begins[2] = BEGINS, timeouts = TIMEOUTS, kills = KILLS;

#define ANYBODY   (count[0] + count[1] > 0)
#define ALIVE(c)  (up[c] && req_birth[c] == birth[c])
#define IS(a)     (ans[a] == ELEMENT)
#define CONSERVED assert(pushed == key[0] + key[1] + IS(0) + IS(1) + in_hand[0] + in_hand[1] + got + lost)
#define DIE       if :: kills > 0 -> kills--; goto dead :: skip fi

inline delete(c) /* a request with its places */
{
        if :: BUG != 4 -> req[c] = 0 :: else fi;
        place[c] = 0;
        if :: BUG != 8 -> place[2 + c] = 0 :: else fi
}

inline first_of(k) /* c: the first in a line, 2: nobody */
{
        if
        :: place[2 * k] == 0 && place[2 * k + 1] == 0 -> c = 2
        :: place[2 * k] != 0 && (place[2 * k + 1] == 0 || place[2 * k] < place[2 * k + 1]) -> c = 0
        :: else -> c = 1
        fi;
        if
        :: BUG == 10 && place[2 * k] != 0 && place[2 * k + 1] != 0 -> c = 1 - c
        :: else
        fi
}

inline serve_line(k) /* in a transaction of the worker `me` */
{
        do
        :: key[k] == 0 -> break
        :: key[k] > 0 ->
                first_of(k);
                if
                :: c == 2 -> break
                :: c < 2 && (req[c] == 0 || req[c] != place[2 * k + c]) && BUG != 8 -> place[2 * k + c] = 0 /* passed over */
                :: c < 2 && req[c] != 0 && req[c] == place[2 * k + c] && !ALIVE(c) && BUG != 6 -> delete(c)
                :: else ->
                        assert(req[c] != 0 && ALIVE(c)); /* L2, L5 */
                        assert(place[2 * k + 1 - c] == 0 || place[2 * k + c] < place[2 * k + 1 - c] || !ALIVE(1 - c) || req[1 - c] == 0);
                        key[k]--;
                        delete(c);
                        if
                        :: c == me -> in_hand[me]++; waiting[me] = 0; count[me]--
                        :: c != me && BUG == 5 -> taken = 1
                        :: else -> assert(ans[c] == 0); ans[c] = ELEMENT; ans_birth[c] = req_birth[c]
                        fi
                fi
        od;
        assert(req[0] == 0 || ans[0] == 0 || ans_birth[0] != req_birth[0]); /* L1 */
        assert(req[1] == 0 || ans[1] == 0 || ans_birth[1] != req_birth[1]);
        CONSERVED
}

inline send() /* what is in the output goes to the client */
{
        DIE;
        atomic { got = got + in_hand[me]; in_hand[me] = 0; c = 0; CONSERVED }
}

proctype worker(byte me)
{
        byte c, k;
        bool seen, taken;
end:    do
        :: atomic { begins[me] > 0 && !waiting[me] -> begins[me]-- };
again:          if
                :: atomic { key[0] > 0 -> key[0]--; in_hand[me]++; CONSERVED }; send()
                :: atomic { key[1] > 0 -> key[1]--; in_hand[me]++; CONSERVED }; send()
                :: key[0] == 0 && key[1] == 0 -> /* the command has read that they are empty */
                        if :: BUG != 1 -> count[me]++ :: else fi;
                        DIE;
                        atomic { /* commit */
                                if
                                :: (key[0] > 0 || key[1] > 0) && BUG != 3 ->
                                        if :: BUG != 1 -> count[me]-- :: else fi;
                                        goto again
                                :: else ->
                                        req[me] = ticket; req_birth[me] = birth[me];
                                        place[me] = ticket; place[2 + me] = ticket; ticket++;
                                        waiting[me] = 1
                                fi
                        };
                        if :: BUG == 1 -> count[me]++ :: else fi;
                        DIE
                fi
        :: atomic { pushes > 0 -> pushes--; if :: k = 0 :: k = 1 fi };
                seen = ANYBODY;
                DIE;
                atomic { /* commit */
                        key[k]++; pushed++;
                        if
                        :: seen && k == 0 -> serve_line(0)
                        :: seen && k == 1 -> serve_line(1)
                        :: else
                        fi;
                        c = 0
                };
                DIE;
                if
                :: !seen && ANYBODY && BUG != 2 -> /* somebody began in between */
                        atomic { serve_line(0); serve_line(1); c = 0 }
                :: else
                fi;
                send();
                seen = 0; k = 0
        :: atomic { waiting[me] && ans[me] != 0 && ans_birth[me] == birth[me] -> /* commit: collect */
                in_hand[me]++;
                waiting[me] = 0; count[me]--;
                if :: BUG != 7 -> ans[me] = 0 :: else fi;
                CONSERVED };
                send();
                if :: BUG == 7 -> ans[me] = 0 :: else fi
        :: atomic { waiting[me] && timeouts > 0 && (req[me] != 0 || BUG == 9) -> /* commit: time is over */
                timeouts--;
                delete(me);
                waiting[me] = 0; count[me]-- }
#ifdef NET
        :: atomic { waiting[me] && req[me] != 0 && key[0] + key[1] > 0 -> /* a look at the keys of our client */
                serve_line(0); serve_line(1); c = 0 };
                send()
#endif
        od;
dead:   atomic { up[me] = 0; waiting[me] = 0; lost = lost + in_hand[me]; in_hand[me] = 0; c = 0; k = 0; seen = 0; CONSERVED };
        count[me] = 0; /* the supervisor */
        atomic { birth[me]++; up[me] = 1 }; /* the lock of another name */
        if
        :: BUG == 11 -> skip
        :: BUG != 11 ->
                atomic { /* commit */
                        if :: req[me] != 0 && req_birth[me] != birth[me] -> delete(me) :: else fi };
                atomic { /* commit */
                        if
                        :: ans[me] != 0 && ans_birth[me] != birth[me] ->
                                lost = lost + IS(me); ans[me] = 0
                        :: else
                        fi;
                        CONSERVED }
        fi;
        goto end
}

#define RESTS(c)                                                                                    \
        assert(up[c]);                                                                              \
        assert(waiting[c] == (req[c] != 0)); /* nobody waits without a request, nor the reverse */  \
        assert(count[c] == waiting[c]);                                                             \
        assert(ans[c] == 0);                                                                        \
        assert(req[c] == 0 || req_birth[c] == birth[c]);                                            \
        assert(req[c] == 0 || (key[0] == 0 && key[1] == 0)) /* L3 */

init
{
        atomic { run worker(0); run worker(1) };
        timeout -> RESTS(0); RESTS(1); CONSERVED
}
