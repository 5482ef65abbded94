#include "tests/sort/package/zip_forge.h"

#include "base/alloc.h"
#include "base/check.h"
#include <stdio.h>
#include <string.h>
#include <zlib.h>

typedef struct Bytes {
    unsigned char *data;
    size_t size_bytes, capacity_bytes;
} Bytes;

static void put(Bytes *b, const void *data, size_t size_bytes)
{
    while (!b->data || b->size_bytes + size_bytes > b->capacity_bytes) {
        b->capacity_bytes = 2 * b->capacity_bytes + 4096;
        b->data = mem_realloc(b->data, b->capacity_bytes, 1);
        CHECK(b->data);
    }
    memcpy(b->data + b->size_bytes, data, size_bytes);
    b->size_bytes += size_bytes;
}

/* Little-endian. */
static void put_number(Bytes *b, uint64_t value, size_t size_bytes)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < size_bytes; ++i)
        bytes[i] = (unsigned char)(value >> (8 * i));
    put(b, bytes, size_bytes);
}

typedef struct Stored {
    Bytes bytes;
    uint32_t crc;
    uint32_t offset; /* of the local header */
} Stored;

static Bytes deflated(const ForgeEntry *e)
{
    Bytes out = {0};
    z_stream z = {0};
    unsigned char piece[4096], nothing = 0;
    CHECK(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    z.next_in = &nothing;
    unsigned char *copy = MEM_ARRAY(unsigned char, e->size_bytes + 1);
    CHECK(copy);
    if (e->size_bytes > 0)
        memcpy(copy, e->data, e->size_bytes);
    z.next_in = copy;
    z.avail_in = (uInt)e->size_bytes;
    int code;
    do {
        z.next_out = piece;
        z.avail_out = sizeof piece;
        code = deflate(&z, Z_FINISH);
        put(&out, piece, sizeof piece - z.avail_out);
    } while (code == Z_OK);
    CHECK(code == Z_STREAM_END);
    deflateEnd(&z);
    mem_free(copy);
    return out;
}

/* Writes the fields that both headers share, from "version needed" on. */
static void put_common(Bytes *b, const ForgeEntry *e, const Stored *s)
{
    put_number(b, 20, 2);
    put_number(b, e->flags, 2);
    put_number(b, e->method ? e->method : e->is_deflated ? 8 : 0, 2);
    put_number(b, 0, 2);
    put_number(b, 0x5821, 2); /* 2024-01-01 */
    put_number(b, e->claimed_crc ? e->claimed_crc : s->crc, 4);
    put_number(b, s->bytes.size_bytes, 4);
    put_number(b, e->claimed_size ? e->claimed_size : e->size_bytes, 4);
    put_number(b, strlen(e->name), 2);
    put_number(b, 0, 2);
}

void zip_forge(const char *path, const ForgeEntry *entries, uint32_t count)
{
    Bytes file = {0};
    Stored *stored = MEM_ARRAY(Stored, count);
    CHECK(stored);
    for (uint32_t i = 0; i < count; ++i) {
        const ForgeEntry *e = &entries[i];
        if (e->is_deflated)
            stored[i].bytes = deflated(e);
        else if (e->size_bytes > 0)
            put(&stored[i].bytes, e->data, e->size_bytes);
        stored[i].crc = (uint32_t)crc32(0, e->data, (uInt)e->size_bytes);
        stored[i].offset = (uint32_t)file.size_bytes;
        if (e->repeats_of) {
            stored[i].offset = stored[e->repeats_of - 1].offset;
            continue;
        }
        put_number(&file, 0x04034b50, 4);
        put_common(&file, e, &stored[i]);
        put(&file, e->name, strlen(e->name));
        put(&file, stored[i].bytes.data, stored[i].bytes.size_bytes);
    }
    size_t directory = file.size_bytes;
    for (uint32_t i = 0; i < count; ++i) {
        const ForgeEntry *e = &entries[i];
        put_number(&file, 0x02014b50, 4);
        put_number(&file, 3 << 8 | 20, 2); /* made on Unix */
        put_common(&file, e, &stored[i]);
        put_number(&file, 0, 2);
        put_number(&file, 0, 2);
        put_number(&file, 0, 2);
        put_number(&file, (uint64_t)(e->unix_mode ? e->unix_mode : 0100644) << 16, 4);
        put_number(&file, stored[i].offset, 4);
        put(&file, e->name, strlen(e->name));
    }
    size_t directory_bytes = file.size_bytes - directory;
    put_number(&file, 0x06054b50, 4);
    put_number(&file, 0, 4);
    put_number(&file, count, 2);
    put_number(&file, count, 2);
    put_number(&file, directory_bytes, 4);
    put_number(&file, directory, 4);
    put_number(&file, 0, 2);
    FILE *out = fopen(path, "wb"); /* file_write would wait for the disk */
    CHECK(out && fwrite(file.data, 1, file.size_bytes, out) == file.size_bytes);
    CHECK(fclose(out) == 0);
    for (uint32_t i = 0; i < count; ++i)
        mem_free(stored[i].bytes.data);
    mem_free(stored);
    mem_free(file.data);
}
