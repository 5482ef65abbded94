/* Opening and closing textures, and the directory from ids to them.
 *
 * An id is generation << 18 | index. The directory is two levels of atomic pointers, so that lookups
 * read it without a lock while others open. */
#include "base/alloc.h"
#include "base/cast.h"
#include "base/clock.h"
#include "base/path.h"
#include "textures/cache/texcache_state.h"
#include <inttypes.h>
#include <string.h>

enum {
    INDEX_BITS = 18,
    GENERATION_MAX = (1 << (32 - INDEX_BITS)) - 1,
    TEXTURES_MAX = TEXTURE_BLOCK * TEXTURE_BLOCK_COUNT
};
_Static_assert(TEXTURES_MAX == 1 << INDEX_BITS, "an index for every place");

Texture *texture_at(const TexCache *c, uint32_t index)
{
    TextureBlock *block =
        atomic_load_explicit(&c->blocks[index / TEXTURE_BLOCK], memory_order_acquire);
    return block
               ? atomic_load_explicit(&block->textures[index % TEXTURE_BLOCK], memory_order_acquire)
               : NULL;
}

Texture *texture_of(const TexCache *c, TexId id)
{
    Texture *texture = texture_at(c, id.id & ((1u << INDEX_BITS) - 1));
    return texture && texture->generation == id.id >> INDEX_BITS ? texture : NULL;
}

static TexId id_of(const Texture *texture)
{
    return (TexId){texture->generation << INDEX_BITS | texture->index};
}

static void texture_free(Texture *texture)
{
    if (!texture)
        return;
    mem_free(texture->udim);
    mem_free(texture->entries);
    mem_free(texture->path);
    mem_free(texture->name);
    mem_free(texture);
}

uint32_t texture_tail_tiles(const StexHeader *h, uint32_t out_first[TEXTURE_TAILS_MAX + 1])
{
    uint32_t count = 0;
    out_first[count++] = h->first_tail_level;
    if (h->tail_bytes > (uint64_t)SLAB_UNIT_BYTES * 2 && h->first_tail_level + 1u < h->level_count)
        out_first[count++] = h->first_tail_level + 1u;
    out_first[count] = h->level_count;
    return count;
}

/* Returns the offset of a level in the tail; for the level after the last one, the tail's end. */
static uint64_t tail_offset_of(const StexHeader *h, uint32_t level)
{
    return level < h->level_count ? h->levels[level].tail_offset : h->tail_bytes;
}

/* Fills the fields that lookups read, from the header. */
static void texture_prepare(Texture *texture, const StexHeader *h)
{
    texture->format =
        (TexelFormat){(SortTexelType)h->texel_type, h->channel_count,
                      h->color_space == SORT_COLOR_SRGB && h->texel_type == SORT_TEXEL_U8};
    texture->load_quad = texel_quad_loader(texture->format);
    texture->blend_taps = texel_taps_blender(texture->format);
    texture->texel_bytes = stex_texel_bytes(h);
    texture->tile_bytes = stex_tile_bytes(h);
    texture->level_count = h->level_count;
    texture->wrap_s = (TexWrap)h->wrap_s;
    texture->wrap_t = (TexWrap)h->wrap_t;
    uint32_t width_log2 = stex_tile_width_log2(h), tail_first[TEXTURE_TAILS_MAX + 1];
    for (uint32_t i = 0; i < h->first_tail_level; ++i) {
        const StexLevel *from = &h->levels[i];
        texture->levels[i] = (TexLevel){.width = from->width,
                                        .height = from->height,
                                        .tiles_x = from->tiles_x,
                                        .first_tile = cast_u32(from->first_tile),
                                        .row_texels = 1u << width_log2,
                                        .tile_log2_x = (uint8_t)width_log2,
                                        .tile_log2_y = (uint8_t)stex_tile_height_log2(h)};
    }
    texture->tail_count = texture_tail_tiles(h, tail_first);
    for (uint32_t k = 0; k < texture->tail_count; ++k) {
        uint64_t begin = tail_offset_of(h, tail_first[k]);
        texture->tail_bytes[k] = cast_u32(tail_offset_of(h, tail_first[k + 1]) - begin);
        for (uint32_t i = tail_first[k]; i < tail_first[k + 1]; ++i) {
            const StexLevel *from = &h->levels[i];
            texture->levels[i] =
                (TexLevel){.width = from->width,
                           .height = from->height,
                           .first_tile = cast_u32(h->tile_count + k),
                           .offset = cast_u32(from->tail_offset - begin) / texture->texel_bytes,
                           .row_texels = from->width,
                           .tile_log2_x = 31,
                           .tile_log2_y = 31};
        }
    }
}

DecodedFile texture_decoded_file(TexCache *c, const Texture *texture, const StexHeader *header)
{
    return (DecodedFile){.pool = &c->decoders,
                         .path = texture->path,
                         .stamp = &texture->decoded_stamp,
                         .header = header,
                         .format = texture->format};
}

uint64_t texture_table_bytes(const StexHeader *h, size_t path_bytes, size_t name_bytes)
{
    uint32_t first[TEXTURE_TAILS_MAX + 1];
    return sizeof(Texture) + path_bytes + name_bytes + h->level_count * sizeof(TexLevel) +
           (h->tile_count + texture_tail_tiles(h, first)) * sizeof(TileEntry);
}

/* Reserves budget and memory for a texture, and fills the fields that lookups read. */
static Status texture_allocate(TexCache *c, Texture *texture, const StexHeader *h, Error *err)
{
    uint64_t bytes = texture_table_bytes(h, strlen(texture->path) + 1, strlen(texture->name) + 1);
    uint32_t first[TEXTURE_TAILS_MAX + 1];
    size_t entry_count = (size_t)h->tile_count + texture_tail_tiles(h, first);
    mutex_lock(&c->lock);
    Status status = cache_reserve_tables(c, bytes, texture->path, err);
    mutex_unlock(&c->lock);
    TRY(status);
    texture->bytes = bytes;
    texture->entries = mem_alloc(1, entry_count * sizeof *texture->entries +
                                        h->level_count * sizeof *texture->levels);
    if (!texture->entries)
        return error_set_at(err, STATUS_NO_MEMORY, texture->path, "out of memory");
    void *behind = texture->entries + entry_count;
    texture->levels = behind;
    texture_prepare(texture, h);
    return STATUS_OK;
}

/* Logs the warnings of the file's conversion, line by line. */
static void log_notes(const TexCache *c, const Texture *texture, const char *notes)
{
    while (*notes) {
        int bytes = (int)strcspn(notes, "\n");
        log_warning(c->log, "%s: %.*s", texture->name, bytes, notes);
        notes += bytes + (notes[bytes] != '\0');
    }
}

static Status texture_load(TexCache *c, Texture *texture, int fd, Error *err)
{
    uint64_t file_bytes;
    StexHeader h;
    TRY(stex_read_header(fd, texture->path, &h, &file_bytes, err));
    if (file_bytes < h.file_bytes && texture->remake)
        return error_set_at(err, STATUS_FORMAT, texture->path,
                            "is truncated: %" PRIu64 " of %" PRIu64 " bytes are there", file_bytes,
                            h.file_bytes);
    TRY(texture_allocate(c, texture, &h, err));
    /* The small levels are loaded on demand, but a file whose small levels are damaged is refused now. */
    void *tail = mem_alloc(1, (size_t)h.tail_bytes);
    if (!tail)
        return error_set_at(err, STATUS_NO_MEMORY, texture->path, "out of memory");
    Status status = stex_read_tail(fd, texture->path, &h, tail, err);
    mem_free(tail);
    TRY(status);
    stex_shorten(&h, &texture->header);
    texture->descriptor.header = &texture->header;
    if (file_bytes < h.file_bytes) {
        log_warning(c->log,
                    "%s: is truncated: %" PRIu64 " of %" PRIu64
                    " bytes are there; tiles beyond show the missing colour",
                    texture->path, file_bytes, h.file_bytes);
    }
    log_notes(c, texture, h.notes);
    return STATUS_OK;
}

/* Loads a foreign file whose tiles come from a decoder process. */
static Status texture_load_decoded(TexCache *c, Texture *texture, Error *err)
{
    StexHeader h;
    texture->is_decoded = true;
    TRY(decoded_open(&c->decoders, texture->path, texture->wanted_color_space, &h,
                     &texture->decoded_stamp, err));
    TRY(texture_allocate(c, texture, &h, err));
    DecodedFile file = texture_decoded_file(c, texture, &h);
    float values[4];
    uint8_t last[STEX_TEXEL_BYTES_MAX]; /* the texel of the smallest level */
    TileFailure failure;
    if (!decoded_read_levels(&file, h.level_count - 1u, h.level_count, last, &failure)) {
        char reason[256];
        return error_set_at(err, STATUS_FORMAT, texture->path, "its last mip level: %s",
                            stex_failure_text(&failure, reason, sizeof reason));
    }
    texel_decode_row(&c->texels, texture->format, last, 1, values);
    texel_expand(values, h.channel_count, h.average_rgba);
    stex_shorten(&h, &texture->header);
    return STATUS_OK;
}

/* Returns the key by which a later texcache_open() of the same path and settings finds the texture. */
static Hash128 name_key(const TexOpenDesc *what)
{
    HashState h;
    hash128_begin(&h);
    hash128_update_text(&h, what->path);
    hash128_update_u64(&h, (uint64_t)what->color_space);
    return hash128_end(&h);
}

/* Computes the key that is equal for files made from the same picture with the same settings, whatever their
 * names; their tiles are equal. Returns false if the file does not record its source. */
static bool picture_key(const StexBrief *h, Hash128 *out_key)
{
    static const uint8_t no_digest[sizeof h->source_digest];
    if (memcmp(h->source_digest, no_digest, sizeof no_digest) == 0)
        return false;
    HashState s;
    hash128_begin(&s);
    hash128_update(&s, h->source_digest, sizeof h->source_digest);
    hash128_update_u64(&s, (uint64_t)h->width << 32 | h->height);
    hash128_update_u64(&s, (uint64_t)h->tail_crc << 32 | (h->flags & STEX_PREMULTIPLIED));
    const uint8_t format[] = {h->channel_count, h->texel_type, h->color_space, h->wrap_s,
                              h->wrap_t};
    hash128_update(&s, format, sizeof format);
    *out_key = hash128_end(&s);
    return true;
}

/* Finds an open texture with the same content as this one, which has been loaded. The caller holds the lock. */
static Texture *find_equal(const TexCache *c, const Texture *texture)
{
    Texture *known = cache_index_find(c->names, texture->by_name.key);
    if (!known && texture->has_picture)
        known = cache_index_find(c->pictures, texture->by_picture.key);
    return known;
}

/* Returns the first free place of the directory, or TEXTURES_MAX. The caller holds the lock. */
static uint32_t free_place(TexCache *c)
{
    while (c->first_free < TEXTURES_MAX && texture_at(c, c->first_free))
        ++c->first_free;
    return c->first_free;
}

/* Allocates a block of the directory and counters for its textures. The caller holds the lock, which may be
 * dropped meanwhile. */
static Status give_block(TexCache *c, uint32_t b, const Texture *texture, Error *err)
{
    if (!atomic_load(&c->blocks[b])) {
        TRY(cache_reserve_tables(c, sizeof(TextureBlock), texture->path, err));
        bool is_needed = !atomic_load(&c->blocks[b]); /* another thread may have been quicker */
        TextureBlock *block = is_needed ? MEM_NEW(TextureBlock) : NULL;
        if (!block)
            cache_release_tables(c, sizeof *block);
        if (is_needed && !block)
            return error_set_at(err, STATUS_NO_MEMORY, texture->path, "out of memory");
        if (block)
            atomic_store(&c->blocks[b], block);
    }
    return cache_give_counters_to_all(c, texture, b, err);
}

/* Puts a texture into the directory. The caller holds the lock, which may be dropped meanwhile. */
static Status texture_register(TexCache *c, Texture *texture, Error *err)
{
    for (uint32_t i = free_place(c); i < TEXTURES_MAX; i = free_place(c)) {
        TRY(give_block(c, i / TEXTURE_BLOCK, texture, err));
        if (texture_at(c, i))
            continue; /* another thread has taken the place */
        c->generation = c->generation == GENERATION_MAX ? 1 : c->generation + 1;
        texture->index = i;
        texture->generation = c->generation;
        texture->refs = 1;
        if (c->trace && !texture->udim)
            texture->trace_number = trace_number_texture(c->trace);
        cache_index_add(&c->names, &texture->by_name);
        if (texture->has_picture)
            cache_index_add(&c->pictures, &texture->by_picture);
        TextureBlock *block = atomic_load(&c->blocks[i / TEXTURE_BLOCK]);
        atomic_store_explicit(&block->textures[i % TEXTURE_BLOCK], texture, memory_order_release);
        return STATUS_OK;
    }
    return error_set_at(err, STATUS_LIMIT, texture->path, "%d textures are open already",
                        TEXTURES_MAX);
}

/* Releases what texture_load() acquired. The texture is not registered. */
static void texture_discard(TexCache *c, Texture *texture)
{
    if (texture->udim)
        udim_close(c, texture->udim);
    descriptor_close(&c->descriptors, &texture->descriptor);
    mutex_lock(&c->lock);
    cache_release_tables(c, texture->bytes);
    mutex_unlock(&c->lock);
    texture_free(texture);
}

/* Opens the files of a UDIM set. */
static Status texture_load_set(TexCache *c, Texture *texture, const TexOpenDesc *what, Error *err)
{
    uint64_t bytes = sizeof *texture + strlen(texture->path) + 1 + strlen(texture->name) + 1 +
                     sizeof *texture->udim;
    mutex_lock(&c->lock);
    Status status = cache_reserve_tables(c, bytes, texture->path, err);
    mutex_unlock(&c->lock);
    TRY(status);
    texture->bytes = bytes;
    texture->udim = MEM_NEW(UdimSet);
    if (!texture->udim)
        return error_set_at(err, STATUS_NO_MEMORY, texture->path, "out of memory");
    return udim_open(c, what, texture->udim, err);
}

static Status texture_load_file(TexCache *c, Texture *texture, Error *err)
{
    if (c->decoders.command && !path_has_extension(texture->path, ".stex"))
        return texture_load_decoded(c, texture, err);
    int fd;
    TileFailure failure;
    if (!descriptor_acquire(&c->descriptors, &texture->descriptor, &fd, &failure, err))
        return err->code;
    Status status = texture_load(c, texture, fd, err);
    descriptor_release(&c->descriptors, &texture->descriptor);
    return status;
}

/* Opens and loads a texture that is not registered yet. */
static Status texture_create(TexCache *c, const TexOpenDesc *what, Texture **out_texture,
                             Error *err)
{
    const char *path = what->path;
    *out_texture = NULL;
    Texture *texture = MEM_NEW(Texture);
    if (texture)
        texture->path = mem_strdup(path);
    if (texture)
        texture->name = mem_strdup(what->name ? what->name : path);
    if (!texture || !texture->path || !texture->name) {
        texture_free(texture);
        return error_set_at(err, STATUS_NO_MEMORY, path, "out of memory");
    }
    descriptor_init(&texture->descriptor, texture->path);
    texture->by_name = (TexIndexNode){.key = name_key(what), .owner = texture};
    texture->by_picture.owner = texture;
    texture->wanted_color_space = what->color_space;
    texture->remake = what->remake;
    texture->remake_data = what->remake_data;
    Error reason = {0};
    Status status = texcache_is_udim(path) ? texture_load_set(c, texture, what, &reason)
                                           : texture_load_file(c, texture, &reason);
    if (status == STATUS_OK) {
        texture->has_picture =
            !texture->udim && picture_key(&texture->header, &texture->by_picture.key);
        *out_texture = texture;
        return STATUS_OK;
    }
    texture_discard(c, texture);
    if (err)
        *err = reason;
    return status;
}

/* Creates a texture and repeats the attempt a few times when storage fails temporarily. */
static Status texture_create_patiently(TexCache *c, const TexOpenDesc *what, Texture **out_texture,
                                       Error *err)
{
    static const uint32_t pauses_ms[] = {1, 4, 16, 64};
    Status status = texture_create(c, what, out_texture, err);
    /* Each file of a set is retried by its own texcache_open(). */
    uint32_t retries = texcache_is_udim(what->path) ? 0 : SORT_COUNT_OF(pauses_ms);
    for (uint32_t i = 0; status == STATUS_IO && i < retries; ++i) {
        mutex_lock(&c->lock);
        ++c->loads.retries;
        mutex_unlock(&c->lock);
        clock_sleep_ns((uint64_t)pauses_ms[i] * 1000000);
        status = texture_create(c, what, out_texture, err);
    }
    return status;
}

Status texcache_open(TexCache *c, const TexOpenDesc *what, TexId *out_id, Error *err)
{
    CHECK(what->size_bytes == sizeof *what && what->path);
    *out_id = (TexId){0};
    Hash128 name = name_key(what);
    mutex_lock(&c->lock);
    Texture *known = cache_index_find(c->names, name);
    if (known) {
        ++known->refs;
        *out_id = id_of(known);
    }
    mutex_unlock(&c->lock);
    if (known)
        return STATUS_OK;

    Texture *texture;
    TRY(texture_create_patiently(c, what, &texture, err));
    Status status = STATUS_OK;
    mutex_lock(&c->lock);
    known = find_equal(c, texture); /* another thread may have been quicker */
    if (known)
        ++known->refs;
    else
        status = texture_register(c, texture, err);
    if (status == STATUS_LIMIT)
        c->refused_bytes +=
            texture->bytes; /* its tables had room, what counts its lookups has not */
    if (status == STATUS_OK)
        *out_id = id_of(known ? known : texture);
    mutex_unlock(&c->lock);
    if (status != STATUS_OK || known)
        texture_discard(c, texture);
    else if (c->trace && !texture->udim)
        cache_record_texture(c, texture);
    return status;
}

void texcache_retain(TexCache *c, TexId id)
{
    mutex_lock(&c->lock);
    Texture *texture = texture_of(c, id);
    CHECK(texture);
    ++texture->refs;
    mutex_unlock(&c->lock);
}

/* Frees all slots of a texture that is no longer looked up or loaded, and returns the epoch after which their
 * memory is free. The caller holds the lock. */
static uint64_t drop_tiles(TexCache *c, Texture *texture)
{
    uint64_t tile_count = texture->udim ? 0 : texture_tile_count(texture);
    TextureBlock *block = atomic_load(&c->blocks[texture->index / TEXTURE_BLOCK]);
    atomic_store(&block->textures[texture->index % TEXTURE_BLOCK], NULL);
    if (texture->index < c->first_free)
        c->first_free = texture->index;
    cache_forget_counters(c, texture);
    uint64_t tag = epoch_retire(&c->epochs);
    for (uint64_t i = 0; i < tile_count; ++i) {
        uint32_t entry = atomic_load_explicit(&texture->entries[i].word, memory_order_relaxed);
        if (entry_tag(entry) == ENTRY_READY)
            slab_give_back(&c->slabs, entry_payload(entry), tag);
    }
    return tag;
}

void texcache_close(TexCache *c, TexId id)
{
    mutex_lock(&c->lock);
    Texture *texture = texture_of(c, id);
    CHECK(texture && texture->refs > 0);
    bool is_last = --texture->refs == 0;
    if (is_last) {
        cache_index_remove(&c->names, &texture->by_name);
        if (texture->has_picture)
            cache_index_remove(&c->pictures, &texture->by_picture);
        while (texture->queued_count > 0)
            cache_sleep(c);
        cache_wait_for_readers(c, drop_tiles(c, texture));
    }
    mutex_unlock(&c->lock);
    if (is_last)
        texture_discard(c, texture);
}

void texture_destroy_all(TexCache *c)
{
    for (uint32_t b = 0; b < TEXTURE_BLOCK_COUNT; ++b) {
        TextureBlock *block = atomic_load(&c->blocks[b]);
        if (!block)
            continue;
        for (uint32_t i = 0; i < TEXTURE_BLOCK; ++i) {
            Texture *texture = atomic_load(&block->textures[i]);
            if (texture) {
                descriptor_close(&c->descriptors, &texture->descriptor);
                texture_free(texture);
            }
        }
        mem_free(block);
    }
}

Status texcache_info(const TexCache *c, TexId id, TexInfo *out_info, Error *err)
{
    const Texture *texture = texture_of(c, id);
    if (!texture)
        return error_set(err, STATUS_NOT_FOUND, "no open texture has the id %" PRIu32, id.id);
    for (uint32_t i = 0; texture->udim; ++i) { /* a set has at least one file */
        if (texture->udim->ids[i].id != 0)
            texture = texture_of(c, texture->udim->ids[i]);
    }
    StexHeader header;
    stex_restore(&texture->header, &header);
    stex_describe(&header, out_info);
    return STATUS_OK;
}
