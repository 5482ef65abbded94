#include "sort/film/cryptomatte.h"

#include "base/json_write.h"
#include <stdio.h>
#include <string.h>

static uint32_t rotate(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

static uint32_t scramble(uint32_t k)
{
    return rotate(k * 0xcc9e2d51u, 15) * 0x1b873593u;
}

/* MurmurHash3_x86_32 [Appleby2011]. */
static uint32_t murmur3(const char *text)
{
    const uint8_t *bytes = (const uint8_t *)text;
    size_t length = strlen(text), i = 0;
    uint32_t h = 0, tail = 0;
    for (; i + 4 <= length; i += 4) {
        uint32_t k = (uint32_t)bytes[i] | (uint32_t)bytes[i + 1] << 8 |
                     (uint32_t)bytes[i + 2] << 16 | (uint32_t)bytes[i + 3] << 24;
        h = rotate(h ^ scramble(k), 13) * 5 + 0xe6546b64u;
    }
    for (size_t k = length; k > i; --k)
        tail = tail << 8 | bytes[k - 1];
    h ^= scramble(tail) ^ (uint32_t)length;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

uint32_t cryptomatte_id(const char *name)
{
    uint32_t id = murmur3(name), exponent = id >> 23 & 255;
    return exponent == 0 || exponent == 255 ? id ^ 1u << 23 : id;
}

float cryptomatte_float(uint32_t id)
{
    float value;
    memcpy(&value, &id, sizeof value);
    return value;
}

void cryptomatte_layer_key(const char *layer, char out[8])
{
    char digits[9];
    (void)snprintf(digits, sizeof digits, "%08x", murmur3(layer));
    memcpy(out, digits, 7);
    out[7] = '\0';
}

void cryptomatte_manifest(const char *const *names, uint32_t count, StrBuf *out)
{
    JsonWriter w = json_writer(out, JSON_ONE_LINE);
    json_write_object(&w, NULL);
    for (uint32_t i = 0; i < count; ++i) {
        char digits[9];
        (void)snprintf(digits, sizeof digits, "%08x", cryptomatte_id(names[i]));
        json_write_string(&w, names[i], digits);
    }
    json_write_end(&w);
}
