/* A fiber is a stack and the place where it stopped. The switch itself is Boost.Context's, through
 * its two C entry points (x86-64, AArch64 and others; it preserves the callee-saved registers, MXCSR
 * and the x87 control word). A new fiber starts with the floating-point modes of its creator.
 *
 *   low address                                            high address
 *   [ guard ][ ............ free ............ <- stack grows | used ]
 *
 * Both sanitizers keep a shadow of each stack and must be notified just before and just after every
 * switch: see resume, entry, suspend. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "base/fiber.h"
#include "base/alloc.h"
#include "base/cast.h"
#include "base/thread.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if SORT_ASAN
#    include <sanitizer/asan_interface.h>
#    include <sanitizer/common_interface_defs.h>
#endif
#if SORT_TSAN
#    include <sanitizer/tsan_interface.h>
#endif

/* boost/context/detail/fcontext.hpp, version 1.74, which has no C header of its own. */
typedef void *fcontext_t;
typedef struct transfer_t {
    fcontext_t fctx; /* the context in which the other side stopped */
    void *data;      /* the data that the other side passed */
} transfer_t;
extern transfer_t jump_fcontext(fcontext_t to, void *data);
extern fcontext_t make_fcontext(void *stack_top, size_t size, void (*entry)(transfer_t));

typedef enum FiberState { FIBER_NEW, FIBER_RUNNING, FIBER_SUSPENDED, FIBER_DONE } FiberState;

struct Fiber {
    fcontext_t context; /* context of the fiber while it is suspended, else of its resumer */
    FiberState state;
    void (*run)(void *data);
    void *data;
    unsigned char *mapping; /* the guard pages, then the stack */
    size_t mapping_bytes, guard_bytes;
    /* Sanitizers: the fake stack of the side that does not run. */
    void *fake_stack, *resumer_fake_stack;
    const void *resumer_bottom;
    size_t resumer_bytes;
    void *tsan_fiber, *tsan_resumer;
};

enum { STACK_LEAST = 16 * 1024, WATERMARK = 0xa5 };

static unsigned char *stack_bottom(const Fiber *f)
{
    return f->mapping + f->guard_bytes;
}

static size_t stack_bytes_of(const Fiber *f)
{
    return f->mapping_bytes - f->guard_bytes;
}

static void before_switch(void **fake_stack, const void *bottom, size_t bytes, void *tsan_fiber)
{
#if SORT_ASAN
    __sanitizer_start_switch_fiber(fake_stack, bottom, bytes);
#endif
#if SORT_TSAN
    __tsan_switch_to_fiber(tsan_fiber, 0);
#endif
    (void)fake_stack, (void)bottom, (void)bytes, (void)tsan_fiber;
}

static void after_switch(void *fake_stack, const void **out_bottom, size_t *out_bytes)
{
#if SORT_ASAN
    __sanitizer_finish_switch_fiber(fake_stack, out_bottom, out_bytes);
#endif
    (void)fake_stack, (void)out_bottom, (void)out_bytes;
}

static void fiber_entry(transfer_t from)
{
    Fiber *f = from.data;
    f->context = from.fctx;
    after_switch(NULL, &f->resumer_bottom, &f->resumer_bytes);
    f->run(f->data);
    f->state = FIBER_DONE;
    /* NULL tells the sanitizer that this stack is left for good. */
    before_switch(NULL, f->resumer_bottom, f->resumer_bytes, f->tsan_resumer);
    (void)jump_fcontext(f->context, f);
    UNREACHABLE();
}

Status fiber_create(void (*run)(void *data), void *data, size_t stack_bytes, Fiber **out_fiber,
                    Error *err)
{
    *out_fiber = NULL;
    Fiber *f = MEM_NEW(Fiber);
    if (!f)
        return error_set(err, STATUS_NO_MEMORY, "out of memory for a fiber");
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (stack_bytes < STACK_LEAST)
        stack_bytes = STACK_LEAST;
    if (stack_bytes > SIZE_MAX / 2) {
        mem_free(f);
        return error_set(err, STATUS_INVALID, "a fiber stack of %zu bytes", stack_bytes);
    }
    f->guard_bytes = size_align(THREAD_GUARD_BYTES, page);
    f->mapping_bytes = size_align(stack_bytes, page) + f->guard_bytes;
    f->mapping =
        mmap(NULL, f->mapping_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (f->mapping == MAP_FAILED || mprotect(f->mapping, f->guard_bytes, PROT_NONE) != 0) {
        int reason = errno;
        if (f->mapping != MAP_FAILED)
            (void)munmap(f->mapping, f->mapping_bytes);
        mem_free(f);
        return error_set(err, STATUS_NO_MEMORY, "cannot map a fiber stack of %zu bytes: %s",
                         stack_bytes, strerror(reason));
    }
#if SORT_ASSERTIONS
    memset(stack_bottom(f), WATERMARK, stack_bytes_of(f));
#endif
#if SORT_TSAN
    f->tsan_fiber = __tsan_create_fiber(0);
#endif
    f->run = run;
    f->data = data;
    f->context = make_fcontext(stack_bottom(f) + stack_bytes_of(f), stack_bytes_of(f), fiber_entry);
    *out_fiber = f;
    return STATUS_OK;
}

void fiber_resume(Fiber *f)
{
    ASSERT(f->state == FIBER_NEW || f->state == FIBER_SUSPENDED);
    f->state = FIBER_RUNNING;
#if SORT_TSAN
    f->tsan_resumer = __tsan_get_current_fiber();
#endif
    before_switch(&f->resumer_fake_stack, stack_bottom(f), stack_bytes_of(f), f->tsan_fiber);
    transfer_t back = jump_fcontext(f->context, f);
    after_switch(f->resumer_fake_stack, NULL, NULL);
    f->context = back.fctx;
}

void fiber_suspend(Fiber *self)
{
    ASSERT(self->state == FIBER_RUNNING);
    self->state = FIBER_SUSPENDED;
    before_switch(&self->fake_stack, self->resumer_bottom, self->resumer_bytes, self->tsan_resumer);
    transfer_t from = jump_fcontext(self->context, self);
    after_switch(self->fake_stack, &self->resumer_bottom, &self->resumer_bytes);
    self->context = from.fctx;
}

bool fiber_is_done(const Fiber *f)
{
    return f->state == FIBER_DONE;
}

size_t fiber_stack_peak_bytes(const Fiber *f)
{
#if SORT_ASSERTIONS
    const unsigned char *bottom = stack_bottom(f);
    size_t bytes = stack_bytes_of(f), untouched = 0;
#    if SORT_ASAN
    ASAN_UNPOISON_MEMORY_REGION(bottom, bytes);
#    endif
    while (untouched < bytes && bottom[untouched] == WATERMARK)
        ++untouched;
    return bytes - untouched;
#else
    SORT_UNUSED(f);
    return 0;
#endif
}

void fiber_destroy(Fiber *f)
{
    if (!f)
        return;
    CHECK(f->state == FIBER_NEW || f->state == FIBER_DONE);
#if SORT_TSAN
    __tsan_destroy_fiber(f->tsan_fiber);
#endif
#if SORT_ASAN
    ASAN_UNPOISON_MEMORY_REGION(stack_bottom(f), stack_bytes_of(f));
#endif
    (void)munmap(f->mapping, f->mapping_bytes);
    mem_free(f);
}
