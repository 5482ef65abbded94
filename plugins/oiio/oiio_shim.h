/* The calls of OpenImageIO that the decoder needs, as C functions, through which no exception and no type
 * of OpenImageIO passes. Coordinates are OpenImageIO's own: pixels of the data window. An OiioFile belongs
 * to one thread at a time. Functions that fail leave a text in `why`. */
#ifndef SORT_OIIO_SHIM_H
#define SORT_OIIO_SHIM_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct OiioFile OiioFile;

typedef enum OiioType { OIIO_TYPE_U8, OIIO_TYPE_U16, OIIO_TYPE_HALF, OIIO_TYPE_FLOAT } OiioType;

typedef enum OiioResult {
    OIIO_RESULT_OK,
    OIIO_RESULT_OPEN,   /* no such file, no permission, no format that OpenImageIO reads */
    OIIO_RESULT_FORMAT, /* the content is broken */
    OIIO_RESULT_NO_MEMORY
} OiioResult;

enum { OIIO_WORD_MAX = 64, OIIO_CHANNELS_MAX = 4, OIIO_WHY_MAX = 512 };

typedef struct OiioLevel {
    int data_x, data_y, data_width, data_height; /* data window */
    int full_x, full_y, full_width, full_height; /* display window */
    int depth;                                   /* 1 unless it is a volume */
    int tile_width, tile_height;                 /* 0: stored by rows */
    int channel_count;
    int alpha_channel; /* or -1 */
    bool is_rgb;       /* the first three are R, G, B */
    bool is_deep;
    bool is_float;                   /* half or float in the file */
    bool is_unassociated;            /* the colour is not multiplied by alpha */
    OiioType type;                   /* the least type here that holds all channels */
    float gamma;                     /* 0: the file does not say */
    int orientation;                 /* EXIF; 1: normal */
    char color_space[OIIO_WORD_MAX]; /* as the file says; empty: it does not */
    char wrap[OIIO_WORD_MAX];        /* "periodic,clamp", likewise */
    const void *icc; /* the ICC profile, valid until another level is requested; NULL: none */
    size_t icc_bytes;
} OiioLevel;

OiioResult oiio_open(const char *path, OiioFile **out_file, char why[OIIO_WHY_MAX]);
void oiio_close(OiioFile *file);
const char *oiio_format_name(OiioFile *file); /* valid as long as the file */
int oiio_subimage_count(OiioFile *file);
int oiio_level_count(OiioFile *file, int subimage); /* 0: no such subimage */
OiioResult oiio_level(OiioFile *file, int subimage, int level, OiioLevel *out_level,
                      char why[OIIO_WHY_MAX]);
/* The texels to read: a box of a level, and the first channel_count channels. */
typedef struct OiioBox {
    int subimage, level;
    int x_begin, x_end, y_begin, y_end;
    int channel_count;
    OiioType type;
} OiioBox;
/* Reads the rows of the box over the whole width of the data window. */
OiioResult oiio_read_rows(OiioFile *file, const OiioBox *box, void *out, char why[OIIO_WHY_MAX]);
/* Reads tiles. The box must begin on tile borders, and end on them or at the end of the data window. */
OiioResult oiio_read_tiles(OiioFile *file, const OiioBox *box, void *out, char why[OIIO_WHY_MAX]);

const char *oiio_version(void);

#ifdef __cplusplus
}
#endif
#endif
