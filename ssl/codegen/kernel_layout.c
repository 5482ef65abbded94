#include "ssl/codegen/kernel_layout.h"
#include "base/cast.h"

uint32_t kernel_layout_closure_scalars(const SslClosureRow *row)
{
    uint32_t scalars = 0;
    for (uint32_t i = 0; i < row->arg_count; ++i)
        scalars += ssl_type_scalars(row->args[i].type);
    return scalars;
}

static void note_attribute(SslAttributeSlot *slot, uint32_t shadow)
{
    slot->is_used |= shadow != IR_SHADOW_EXISTS;
    slot->wants_derivs |= shadow == IR_SHADOW_DDX || shadow == IR_SHADOW_DDY;
    slot->wants_existence |= shadow == IR_SHADOW_EXISTS;
}

static void place_attributes(const IrModule *m, Arena *arena, KernelLayout *layout)
{
    SslAttributeSlot *slots = ARENA_ARRAY(arena, SslAttributeSlot, m->info.attribute_count);
    for (IrFuncId id = 1; id < m->funcs.count; ++id) {
        const IrFunc *f = m->funcs.data[id];
        for (IrInstId i = 1; f && i < f->insts.count; ++i)
            if (ir_inst(f, i)->op == IR_ATTRIBUTE)
                note_attribute(&slots[ir_global_row(ir_inst(f, i)->imm)],
                               ir_global_shadow(ir_inst(f, i)->imm));
    }
    uint32_t end = 0;
    for (uint32_t i = 0; i < m->info.attribute_count; ++i) {
        uint32_t scalars = ssl_type_scalars(m->info.attributes[i].type);
        uint32_t rows = slots[i].wants_derivs ? 3 * scalars : slots[i].is_used ? scalars : 0;
        slots[i].offset_bytes = end;
        end += rows * KERNEL_LANE_ROW_BYTES;
        slots[i].existence_offset_bytes = end;
        end += slots[i].wants_existence ? KERNEL_LANE_ROW_BYTES : 0;
    }
    layout->attributes = slots;
    layout->attributes_stride_bytes = end;
}

Status kernel_rows_check(const IrModule *m, const SslRows *rows, Error *err)
{
    for (uint32_t i = 0; rows && i < m->outputs.count; ++i)
        if (m->outputs.data[i].type == SSL_CLOSURE)
            return error_set(err, STATUS_INVALID,
                             "output '%s' of '%s' is a closure, which has no rows",
                             m->outputs.data[i].name, m->info.name);
    return STATUS_OK;
}

void kernel_layout_compute(const IrModule *m, const SslRows *rows, Arena *arena,
                           KernelLayout *out_layout)
{
    *out_layout = (KernelLayout){.rows = rows};
    ssl_globals_layout(m->globals, m->global_count, &out_layout->globals);

    uint32_t *param_offset = ARENA_ARRAY(arena, uint32_t, m->info.param_count);
    for (uint32_t i = 0; i < m->info.param_count; ++i) {
        param_offset[i] = out_layout->params_bytes;
        out_layout->params_bytes +=
            4 * ssl_value_scalars(m->info.params[i].type, m->info.params[i].shape);
    }
    out_layout->param_offset = param_offset;

    place_attributes(m, arena, out_layout);

    uint32_t end = KERNEL_LANE_ROW_BYTES; /* the fault words are at 0 */
    uint32_t *output_offset = ARENA_ARRAY(arena, uint32_t, m->outputs.count);
    for (uint32_t i = 0; i < m->outputs.count; ++i) {
        const IrOutput *output = &m->outputs.data[i];
        if (output->type == SSL_CLOSURE || output->result_count == 0)
            continue;
        output_offset[i] = end;
        end += output->result_count * KERNEL_LANE_ROW_BYTES;
    }
    out_layout->output_offset = output_offset;

    SslLobeSlot *lobes = ARENA_ARRAY(arena, SslLobeSlot, m->slots.count);
    for (uint32_t i = 0; i < m->slots.count; ++i) {
        const IrLobeSlot *slot = &m->slots.data[i];
        lobes[i] = (SslLobeSlot){.closure = slot->closure,
                                 .output = slot->output,
                                 .parent = slot->parent,
                                 .weight_offset = end,
                                 .args_offset = end + 3 * KERNEL_LANE_ROW_BYTES};
        end += (3 + slot->arg_count) * KERNEL_LANE_ROW_BYTES;
    }
    for (uint32_t i = 0; i < m->slots.count; ++i) {
        lobes[i].mask_offset = end;
        end += (uint32_t)sizeof(uint16_t);
    }
    out_layout->lobes = lobes;
    out_layout->result_stride_bytes = cast_u32(size_align(end, SORT_CACHE_LINE));
}
