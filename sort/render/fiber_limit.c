#include "sort/render/fiber_limit.h"

#include "base/check.h"

/* In windows. Fibers that are too many finish what they are at, and load for it: a room goes by until the fewest
 * show. */
enum {
    WINDOWS_A_ROOM = 8,
    SETTLE_FEW = 8,
    MEASURE_FEW = 8,
    SETTLE_MORE = 1,
    MEASURE_MORE = 4,
    REST_FIRST = 64,
    REST_MOST = 1024
};
#define SHARE_HIGH 0.1  /* of loads that are repeated: the fewest fibers, then */
#define SHARE_LOW  0.03 /* for a room: one more of them */
#define COST_MORE  1.1  /* what more fibers may cost, by the fewest */

void fiber_limit_init(FiberLimit *f, uint32_t begin, uint32_t most)
{
    begin = begin < most ? begin : most;
    *f = (FiberLimit){.limit = begin > FIBER_LIMIT_LEAST ? begin : FIBER_LIMIT_LEAST,
                      .most = most,
                      .rest = REST_FIRST};
}

static double repeated_bytes(const FiberCost *begin, const FiberCost *end)
{
    return (double)(end->loaded - begin->loaded) - (double)(end->unique - begin->unique);
}

static double cost_since(const FiberCost *begin, const FiberCost *end)
{
    uint64_t paths = end->paths - begin->paths;
    ASSERT(end->paths >= begin->paths && end->loaded >= begin->loaded);
    return repeated_bytes(begin, end) / (paths > 0 ? (double)paths : 1.0);
}

static void take_few(FiberLimit *f, uint32_t windows)
{
    f->trial = FIBER_TRIAL_FEW;
    f->limit = FIBER_LIMIT_LEAST;
    f->windows = windows;
}

/* Judges a window with the fewest fibers: a trial with more follows, unless no number is left that is worth one. */
static void judge_few(FiberLimit *f, const FiberCost *now, double share)
{
    if (share < SHARE_LOW) {
        f->trial = FIBER_TRIAL_FREE;
        return;
    }
    if (f->before <= FIBER_LIMIT_LEAST)
        return;
    if (f->windows == MEASURE_FEW)
        f->measured = *now;
    if (f->windows > 0) {
        --f->windows;
        return;
    }
    f->few_cost = cost_since(&f->measured, now);
    f->trial = FIBER_TRIAL_MORE;
    f->limit = f->before < f->most ? f->before : f->most;
    f->windows = SETTLE_MORE + MEASURE_MORE;
}

static void judge_more(FiberLimit *f, const FiberCost *now)
{
    if (f->windows == MEASURE_MORE)
        f->measured = *now;
    if (f->windows > 0) {
        --f->windows;
        return;
    }
    if (cost_since(&f->measured, now) <= COST_MORE * f->few_cost) {
        f->trial = FIBER_TRIAL_FREE;
        f->hold = f->rest;
    } else {
        f->before /= 2;
        take_few(f, f->rest);
    }
    f->rest = 2 * f->rest < REST_MOST ? 2 * f->rest : REST_MOST;
}

static void judge(FiberLimit *f, const FiberCost *now, double share)
{
    switch (f->trial) {
    case FIBER_TRIAL_FEW:
        judge_few(f, now, share);
        return;
    case FIBER_TRIAL_MORE:
        judge_more(f, now);
        return;
    case FIBER_TRIAL_FREE:
        break;
    }
    f->quiet = share < SHARE_LOW ? f->quiet : 0;
    if (f->hold > 0) {
        --f->hold;
    } else if (share < SHARE_LOW) {
        if (++f->quiet >= WINDOWS_A_ROOM) {
            f->quiet = 0;
            f->limit += f->limit < f->most;
        }
    } else if (share > SHARE_HIGH && f->limit > FIBER_LIMIT_LEAST) {
        f->before = f->limit;
        take_few(f, SETTLE_FEW + MEASURE_FEW);
    }
}

uint32_t fiber_limit_watch(FiberLimit *f, FiberCost now, uint64_t room)
{
    if (now.loaded < room) /* the memory has not been filled once, so it may be enough */
        f->window = now;
    uint64_t bytes = now.loaded - f->window.loaded;
    if (bytes < room / WINDOWS_A_ROOM || bytes == 0)
        return f->limit;
    double share = repeated_bytes(&f->window, &now) / (double)bytes;
    f->window = now;
    judge(f, &now, share);
    ASSERT(f->limit >= FIBER_LIMIT_LEAST);
    return f->limit;
}
