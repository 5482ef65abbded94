/* Random differentiable functions, and a shader that compares their derivatives with one another. */
#ifndef TESTS_SSL_RANDOM_WRITER_DIFF_H
#define TESTS_SSL_RANDOM_WRITER_DIFF_H

#include "base/str.h"

/* Writes a source. Its shader has the outputs
 *   jw      w of the tangent that fwd_diff gives: <J t, w>
 *   jw_size the sum of the absolute values of what jw adds up
 *   tv      the tangent by the gradient that bwd_diff gives: <t, J' w>
 *   value   w by the values, of inputs that move along the tangent with global x: its derivative by x is jw, too
 *   same    the same of the value that fwd_diff gives
 *   twice   as jw, of another call beside the first with tangents twice as long
 * Where the seed is a multiple of three, the textures `wood` and `stone` are looked up; of four, the source has detach and no_diff, and jw is not the derivative of value. */
void write_diff_program(uint64_t seed, StrBuf *out);

/* Writes a source whose functions look up the textures `wood` and `stone`, also at coordinates with derivatives. Its shader has a
 * parameter k, reads the globals x and n, and has the float outputs y and z. */
void write_texel_program(uint64_t seed, StrBuf *out);

#endif
