#include "sort/render/fiber_limit.h"

/* Fibers that are too many finish what they are at, and load for it: windows until a lower limit shows. */
enum { WINDOWS_A_ROOM = 8, HOLD_WINDOWS = 64, SETTLE_UP = 1, SETTLE_DOWN = 8 };
#define SHARE_HIGH 0.3 /* of loads that are repeated: worth a trial with fewer fibers */
#define SHARE_LOW  0.1 /* worth more of them */
#define GAIN       0.8 /* a trial must bring the share down to this much of what it was */

void fiber_limit_init(FiberLimit *f, uint32_t begin, uint32_t most)
{
    begin = begin < most ? begin : most;
    *f = (FiberLimit){.limit = begin > FIBER_LIMIT_LEAST ? begin : FIBER_LIMIT_LEAST, .most = most};
}

static void change(FiberLimit *f, uint32_t limit)
{
    f->settling = limit > f->limit ? SETTLE_UP : limit < f->limit ? SETTLE_DOWN : 0;
    f->limit = limit;
}

static void end_trial(FiberLimit *f, uint32_t limit)
{
    f->trial = FIBER_TRIAL_NONE;
    f->hold = HOLD_WINDOWS;
    change(f, limit);
}

/* Twice as many, but not as many as there were. */
static void climb(FiberLimit *f)
{
    if (2 * f->limit < f->before)
        change(f, 2 * f->limit);
    else
        end_trial(f, f->limit);
}

static void judge(FiberLimit *f, double share)
{
    switch (f->trial) {
    case FIBER_TRIAL_FEW:
        if (share >= GAIN * f->share) {
            end_trial(f, f->before);
            return;
        }
        f->trial = FIBER_TRIAL_CLIMB;
        f->share = share;
        climb(f);
        return;
    case FIBER_TRIAL_CLIMB:
        if (GAIN * share > f->share && share > SHARE_LOW)
            end_trial(f, f->limit / 2);
        else
            climb(f);
        return;
    case FIBER_TRIAL_NONE:
        break;
    }
    if (share < SHARE_LOW && f->limit < f->most) {
        change(f, f->limit + 1);
    } else if (f->hold > 0) {
        --f->hold;
    } else if (share > SHARE_HIGH && f->limit > FIBER_LIMIT_LEAST) {
        f->trial = FIBER_TRIAL_FEW;
        f->before = f->limit;
        f->share = share;
        change(f, FIBER_LIMIT_LEAST);
    }
}

uint32_t fiber_limit_watch(FiberLimit *f, uint64_t loaded, uint64_t unique, uint64_t room)
{
    if (loaded < room) { /* nothing says yet that there is too little */
        f->loaded = loaded;
        f->unique = unique;
    }
    uint64_t window = loaded - f->loaded;
    if (window < room / WINDOWS_A_ROOM || window == 0)
        return f->limit;
    double share = 1.0 - (double)(unique - f->unique) / (double)window;
    f->loaded = loaded;
    f->unique = unique;
    if (f->settling > 0)
        --f->settling;
    else
        judge(f, share);
    return f->limit;
}
