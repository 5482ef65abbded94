/* What the files of filter*.c share. [Filtered] functions antialias themselves: where a comparison decides between two values, and
 * its outcome changes within a sample's footprint, the result is their mean over the footprint. For each such bool a number is computed
 * beside it, its coverage: the part of the footprint in which it is true. The footprint is a box across the edge, as wide as
 * the length of the gradient (ddx, ddy), which has the variance of a square pixel at any angle.
 *
 *   shapes     how the floats and ints that are compared run through the footprint: without jumps, or with period 1 in some phase
 *   coverages  of comparisons by closed forms of their shapes; of && || ! from those of their arguments
 *   mixes      choices by a bool with a coverage (?:, if) give (value if true) * coverage + (value if false) * (1 - coverage)
 *
 * Whatever has no closed form stays as it is. Where nothing changes within the footprint, results have the bits of the function
 * without the mark. */
#ifndef SSL_PASSES_FILTER_H
#define SSL_PASSES_FILTER_H

#include "ssl/ir/ir_clone.h"
#include "ssl/passes/pass.h"

enum { FILTER_PHASES_MAX = 4 };

typedef struct Coverage Coverage;
typedef struct Shape Shape;

/* A value of the function that is built. */
typedef struct Operand {
    IrValue v;
    const Shape *shape;
} Operand;

/* How a float or an int runs through the footprint. f(t) is t - floor(t). */
typedef enum ShapeKind {
    SHAPE_SMOOTH,   /* without jumps, as far as is known */
    SHAPE_CELLS,    /* without jumps but where one of several f(t) begins anew */
    SHAPE_SAW,      /* offset + slope * f(t) */
    SHAPE_TRIANGLE, /* offset + slope * |f(t) - centre| */
    SHAPE_WAVE,     /* offset + slope * sin(2 pi t) */
    SHAPE_WHOLE,    /* a sum of floor(t), of several t; perhaps plus a constant */
    SHAPE_STEPS,    /* slope * floor(t) */
    SHAPE_ODD,      /* 1 or 0, or with `has_sign` -1: whether a WHOLE is odd */
    SHAPE_EXTREME,  /* the smaller or greater of two values, `of`, of which one has a period */
    SHAPE_CHOICE,   /* of[0] where `cond` holds, else of[1] */
    SHAPE_JUMPS     /* with jumps of which no closed form is known */
} ShapeKind;

struct Shape {
    ShapeKind kind;
    IrValue t[FILTER_PHASES_MAX]; /* values of the function that is built, as all here */
    uint32_t phase_count;
    bool is_flipped; /* WHOLE, ODD: an odd constant was added */
    bool has_sign;
    bool is_floor; /* WHOLE, STEPS: the value is floor(t), or slope * floor(t), itself */
    bool is_minimum;
    IrValue offset, slope, centre;
    const Operand *of; /* [2] */
    const Coverage *cond;
    const char *why; /* JUMPS: what jumps */
};

/* The part of the footprint in which a bool is true. All are values of the function that is built. */
struct Coverage {
    IrValue k;             /* 0: there is none */
    IrValue is_soft;       /* bool: k is neither 0 nor 1, and the footprint is not empty */
    IrValue dx, dy, width; /* of one edge: its gradient and the gradient's length; 0: it is none */
    IrValue t, low, high;  /* of a periodic interval: low <= f(t) < high; 0: it is none */
    IrValue t_width;
};

/* Functions of the library that are looked through. */
typedef enum FilterLibrary { LIBRARY_FRACT, LIBRARY_MOD, LIBRARY_STEP, LIBRARY_NONE } FilterLibrary;

/* A float that a choice has mixed. */
typedef struct FilterMix {
    IrValue cond; /* of the function that is read, without BNOT; 0: the value is no mix */
    IrValue if_true, if_false;
} FilterMix;

typedef struct Filter {
    IrModule *module;
    IrClone *clone;
    IrBuilder *b;
    const IrFunc *f;
    uint8_t *is_needed;  /* [value of f]: coverage is asked for */
    uint8_t *varies;     /* [value of f]: may differ from point to point */
    Shape *shapes;       /* [value of f]: floats and ints */
    Coverage *coverages; /* [value of f]: bools */
    FilterMix *mixes;    /* [value of f] */
    /* [value of f]: a comparison or a rounding reads it, so that a mean of it would say nothing; what it is
     * without being mixed, or 0: as it is in the copy. */
    uint8_t *is_place;
    IrValue *places;
    IrFuncId library[LIBRARY_NONE]; /* 0: not called */
    uint32_t footprint; /* row of the global with the width of a sample in pixels; UINT32_MAX: 1 */
} Filter;

/* --- filter.c --- */
FilterLibrary filter_library(const Filter *w, const IrInst *call);
/* Whether an operation on floats has a result with steps: a comparison, a rounding, or a function of the library. */
bool filter_is_step(const Filter *w, const IrInst *inst);
/* The copy of a value, not mixed. */
Operand filter_operand(const Filter *w, IrValue v);
/* Builds an operation, or calls a function of the library: IR_OP_COUNT plus a FilterLibrary. */
IrValue filter_build(Filter *w, uint32_t op, const Operand *args, uint32_t count);

/* --- filter_shape.c --- */
/* Finds the shapes of an instruction's results, which is copied already. */
void filter_find_shape(Filter *w, const IrInst *inst);
/* That of an IF's result, if its condition has no coverage. */
Shape filter_if_shape(const Filter *w, const IrInst *inst, uint32_t i);
/* That of a choice by a condition with a coverage. */
Shape filter_choice_shape(Filter *w, const Coverage *cond, Operand if_true, Operand if_false);

/* --- filter_coverage.c --- */
/* Returns the coverage of x < y; `plain`: that bool, as it is. Tells the closed form, or the reason why there is none. */
Coverage filter_less(Filter *w, Operand x, Operand y, IrValue plain, const char **out_rule);
/* Returns that of "x is odd". */
Coverage filter_odd(Filter *w, const Shape *x);
Coverage filter_not(Filter *w, Coverage x);
Coverage filter_and(Filter *w, Coverage x, Coverage y);
Coverage filter_or(Filter *w, Coverage x, Coverage y);
Coverage filter_xor(Filter *w, Coverage x, Coverage y);
/* That of cond ? x : y. */
Coverage filter_choice(Filter *w, Coverage cond, Coverage x, Coverage y);
/* 1 or 0: of a bool that has no coverage. */
Coverage filter_hard(Filter *w, IrValue plain);

#endif
