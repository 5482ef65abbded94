/* .stack_sizes is a list of {address of a function, ULEB128 bytes}. In an object that is not linked yet the
 * address is a relocation: a symbol, most often that of .text, and an addend. The function is the one whose
 * symbol stands at that place. */
#include "ssl/jit/frame_check.h"
#include "ssl/codegen/codegen.h"
#include "ssl/ssl_limits.h"
#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* Beside what the section counts: the return address, and the gap when a frame of 64-byte vectors is aligned. */
enum { FRAME_EXTRA_BYTES = 8 + 64 };

typedef struct Object {
    const char *bytes;
    size_t size_bytes;
    const Elf64_Shdr *sections;
    uint32_t section_count;
    const Elf64_Sym *symbols;
    size_t symbol_count;
    const char *names; /* of symbols; the last byte is 0 */
    size_t names_bytes;
} Object;

/* NULL: it does not lie within the object, or is not aligned. */
static const void *section_content(const Object *o, const Elf64_Shdr *s, size_t item_bytes)
{
    if (s->sh_offset > o->size_bytes || s->sh_size > o->size_bytes - s->sh_offset ||
        s->sh_size % item_bytes != 0 || s->sh_offset % (item_bytes > 1 ? 8 : 1) != 0)
        return NULL;
    return o->bytes + s->sh_offset;
}

static bool find_symbols(Object *o)
{
    for (uint32_t i = 0; i < o->section_count; ++i) {
        const Elf64_Shdr *s = &o->sections[i];
        if (s->sh_type != SHT_SYMTAB || s->sh_link >= o->section_count)
            continue;
        const Elf64_Shdr *names = &o->sections[s->sh_link];
        o->symbols = section_content(o, s, sizeof(Elf64_Sym));
        o->symbol_count = s->sh_size / sizeof(Elf64_Sym);
        o->names = section_content(o, names, 1);
        o->names_bytes = names->sh_size;
        return o->symbols && o->names && o->names_bytes > 0 && !o->names[o->names_bytes - 1];
    }
    return false;
}

static bool open_object(LLVMMemoryBufferRef buffer, Object *out)
{
    *out = (Object){.bytes = LLVMGetBufferStart(buffer), .size_bytes = LLVMGetBufferSize(buffer)};
    Elf64_Ehdr head;
    if (out->size_bytes < sizeof head || (uintptr_t)out->bytes % 8 != 0)
        return false;
    memcpy(&head, out->bytes, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shoff % 8 != 0 ||
        head.e_shoff > out->size_bytes ||
        head.e_shnum > (out->size_bytes - head.e_shoff) / sizeof(Elf64_Shdr))
        return false;
    out->sections = (const void *)(out->bytes + head.e_shoff);
    out->section_count = head.e_shnum;
    return find_symbols(out);
}

static const Elf64_Sym *find_function(const Object *o, const char *name)
{
    for (size_t i = 0; i < o->symbol_count; ++i) {
        const Elf64_Sym *s = &o->symbols[i];
        if (ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_name < o->names_bytes &&
            strcmp(o->names + s->st_name, name) == 0)
            return s;
    }
    return NULL;
}

static bool read_uleb(const unsigned char *at, const unsigned char *end, uint64_t *out_value)
{
    *out_value = 0;
    for (uint32_t shift = 0; at < end && shift < 63; shift += 7) {
        *out_value |= (uint64_t)(*at & 0x7f) << shift;
        if (!(*at++ & 0x80))
            return true;
    }
    return false;
}

/* Finds the frame of a function in the section that `relocations` belong to. */
static bool frame_in_section(const Object *o, const Elf64_Shdr *relocations,
                             const Elf64_Sym *function, uint64_t *out_bytes)
{
    const Elf64_Shdr *sizes = &o->sections[relocations->sh_info];
    const Elf64_Rela *rows = section_content(o, relocations, sizeof *rows);
    const unsigned char *content = section_content(o, sizes, 1);
    size_t count = rows && content ? relocations->sh_size / sizeof *rows : 0;
    for (size_t i = 0; i < count; ++i) {
        uint64_t symbol = ELF64_R_SYM(rows[i].r_info), at = rows[i].r_offset;
        if (symbol >= o->symbol_count || at > sizes->sh_size || sizes->sh_size - at < 8)
            continue;
        const Elf64_Sym *base = &o->symbols[symbol];
        if (base->st_shndx == function->st_shndx &&
            base->st_value + (uint64_t)rows[i].r_addend == function->st_value)
            return read_uleb(content + at + 8, content + sizes->sh_size, out_bytes);
    }
    return false;
}

static bool frame_of(const Object *o, const char *name, uint64_t *out_bytes)
{
    Elf64_Ehdr head;
    memcpy(&head, o->bytes, sizeof head);
    const Elf64_Sym *function = find_function(o, name);
    if (!function || head.e_shstrndx >= o->section_count)
        return false;
    const Elf64_Shdr *names = &o->sections[head.e_shstrndx];
    const char *text = section_content(o, names, 1);
    static const char wanted[] = ".stack_sizes";
    for (uint32_t i = 0; text && i < o->section_count; ++i) {
        const Elf64_Shdr *s = &o->sections[i];
        if (s->sh_type != SHT_RELA || s->sh_info >= o->section_count)
            continue;
        uint64_t name_at = o->sections[s->sh_info].sh_name;
        if (name_at < names->sh_size && names->sh_size - name_at >= sizeof wanted &&
            memcmp(text + name_at, wanted, sizeof wanted) == 0 &&
            frame_in_section(o, s, function, out_bytes)) {
            *out_bytes += FRAME_EXTRA_BYTES;
            return true;
        }
    }
    return false;
}

/* 0: the function is no recursive one. */
static uint64_t planned_bytes(LLVMValueRef function)
{
    LLVMAttributeRef plan =
        LLVMGetStringAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                      GEN_FRAME_PLAN, sizeof GEN_FRAME_PLAN - 1);
    if (!plan)
        return 0;
    unsigned length;
    return strtoull(LLVMGetStringAttributeValue(plan, &length), NULL, 10);
}

Status frame_check(LLVMMemoryBufferRef object, LLVMModuleRef module, const char *shader,
                   uint64_t *out_kernel_bytes, Error *err)
{
    Object o;
    *out_kernel_bytes = 0;
    if (!open_object(object, &o))
        return error_set(err, STATUS_INTERNAL, "the object of shader '%s' is not readable", shader);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f))
            continue;
        size_t length;
        const char *name = LLVMGetValueName2(f, &length);
        uint64_t bytes, plan = planned_bytes(f);
        if (!frame_of(&o, name, &bytes))
            return error_set(err, STATUS_INTERNAL,
                             "the object of shader '%s' does not tell the stack that %s takes",
                             shader, name);
        if (plan && bytes > plan)
            return error_set(err, STATUS_LIMIT,
                             "the recursive function %s of shader '%s' takes %llu bytes of stack a "
                             "call; it may take %llu",
                             name + strlen(GEN_FUNCTION_PREFIX), shader, (unsigned long long)bytes,
                             (unsigned long long)plan);
        *out_kernel_bytes += plan ? 0 : bytes;
    }
    if (*out_kernel_bytes > SSL_MAX_FRAME_BYTES)
        return error_set(err, STATUS_LIMIT,
                         "shader '%s' has too many values at once: they take %llu bytes of stack; "
                         "a kernel may take %d",
                         shader, (unsigned long long)*out_kernel_bytes, SSL_MAX_FRAME_BYTES);
    return STATUS_OK;
}
