/* Inside sort/film/: how often the samples of a pixel met each id.
 *
 * A pixel's record holds room for FILM_ID_SLOTS ids a layer; what does not fit goes to a table beside the records,
 * so that counts are exact whatever the order of samples. */
#ifndef SORT_FILM_FILM_IDS_H
#define SORT_FILM_FILM_IDS_H

#include "base/thread.h"
#include "sort/film/film.h"

enum { FILM_ID_SLOTS = 6 };

typedef struct IdCount {
    uint32_t id, count; /* count 0: an empty slot */
} IdCount;

typedef struct IdOverflow {
    uint64_t place; /* pixel * FILM_ID_COUNT + layer */
    IdCount entry;
} IdOverflow;

/* Open addressing; entries with count 0 are free. */
typedef struct IdTable {
    Mutex lock;
    IdOverflow *entries; /* owned; [capacity], a power of two */
    size_t capacity, count;
    bool has_failed; /* memory ran out: counts are missing */
} IdTable;

void id_table_init(IdTable *table);
void id_table_destroy(IdTable *table);
void id_table_clear(IdTable *table);
/* Any thread. Without memory it sets has_failed. */
void id_table_add(IdTable *table, uint64_t place, uint32_t id, uint32_t count);

/* Adds `count` to the id in these slots of a locked record, or in the table. */
void id_count_add(IdTable *table, IdCount slots[FILM_ID_SLOTS], uint64_t place, uint32_t id,
                  uint32_t count);
/* All ids of a place, most often met first, then by id; at most `room`. Returns how many there are. */
uint32_t id_count_ranked(const IdTable *table, const IdCount slots[FILM_ID_SLOTS], uint64_t place,
                         IdCount *out, uint32_t room);

#endif
