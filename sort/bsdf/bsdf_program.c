#include "sort/bsdf/bsdf_program.h"

#include "base/check.h"

void bsdf_program_run(const BsdfProgram *p, const BsdfRows *rows, uint16_t live)
{
    enum { LOOP_BUDGET = 1 << 16 };
    const void *in[BSDF_PORTS_MAX];
    void *out[BSDF_PORTS_MAX];
    ASSERT(p->in_count <= BSDF_PORTS_MAX && p->out_count <= BSDF_PORTS_MAX);
    for (uint32_t i = 0; i < p->in_count; ++i) {
        BsdfPort port = p->in[i];
        ASSERT(port.kind == BSDF_PORT_NONE || rows->list[port.kind]);
        in[i] = port.kind ? rows->list[port.kind] + (size_t)port.row * SSL_BLOCK : NULL;
    }
    for (uint32_t i = 0; i < p->out_count; ++i) {
        ASSERT(rows->list[p->out[i].kind]);
        out[i] = rows->list[p->out[i].kind] + (size_t)p->out[i].row * SSL_BLOCK;
    }
    SslBatch batch = {
        .live = &live, .params = in, .result = out, .block_count = 1, .loop_budget = LOOP_BUDGET};
    p->run(&batch);
}
