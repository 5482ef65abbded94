/* The memory layout of the parameter, attribute and result blocks of a kernel. Code generation and SslProgramInfo
 * both take their offsets from it.
 *
 *   result block: fault word [16] | outputs, [scalars][16] each | lobes, weight [3][16] args [n][16]
 *                 each | lobe masks, uint16_t each | padding to 64 bytes
 *   attribute block: for each attribute that is read: value, ddx and ddy if read, [component][16] each, then
 *                 existence [16] if read
 *   parameters:   4 bytes a scalar, in order; strings and textures take none
 *
 * A kernel with rows (SslBuildDesc.rows) has places in lists for its parameters and outputs instead of offsets. */
#ifndef SSL_KERNEL_LAYOUT_H
#define SSL_KERNEL_LAYOUT_H

#include "ssl/ir/ir.h"

enum { KERNEL_LANE_ROW_BYTES = SSL_BLOCK * 4 }; /* one scalar of all lanes */

typedef struct KernelLayout {
    SslGlobalsLayout globals;
    const uint32_t *param_offset;       /* [info.param_count]; arena */
    const uint32_t *output_offset;      /* [outputs.count]; 0 for outputs without storage; arena */
    const SslLobeSlot *lobes;           /* [slots.count]; arena */
    const SslAttributeSlot *attributes; /* [info.attribute_count]; arena */
    uint32_t params_bytes, fault_offset, result_stride_bytes, attributes_stride_bytes;
    const SslRows *rows; /* borrowed; NULL: offsets hold */
} KernelLayout;

/* Computes the layout of `m`, which has gone through ir_pipeline. Arrays are allocated in `arena`. */
void kernel_layout_compute(const IrModule *m, const SslRows *rows, Arena *arena,
                           KernelLayout *out_layout);
/* STATUS_INVALID: the module is to have rows, and makes closures. */
Status kernel_rows_check(const IrModule *m, const SslRows *rows, Error *err) SORT_MUST_CHECK;
/* Returns the number of scalars that the arguments of a closure row take in a lobe. */
uint32_t kernel_layout_closure_scalars(const SslClosureRow *row);

#endif
