/* The film: exact sums of samples, a pixel at a time.
 *
 * Each sample adds to one pixel (pixel_filter.h chose where in it). Sums are whole numbers: a value is
 * rounded once to a multiple of 2^-64, then integer addition, which is associative. So the picture does
 * not depend, in any bit, on the order of samples, on threads, on how the samples were split into ranges
 * or machines, or on stops and resumes in between.
 *
 *   film_create -> film_commit_samples (any thread, any order) -> film_resolve
 *                       film_write_partial <-> film_read_partial, film_merge
 *
 * A sample with a NaN or an infinity anywhere, or with radiance or alpha beyond FILM_VALUE_MAX, is dropped
 * whole: it counts as not taken, and the pixel remembers how many it dropped. Other AOVs are clamped.
 *
 * Threads: film_commit_samples from any number of threads at once; the others need the film to be quiet (no commit
 * under way). Memory: film_size_bytes; 80 bytes a pixel, plus 16 (WIDE) or 8 (NARROW) a channel of AOVs (KNOWN and
 * PRESENT: one more than it has), 48 a Cryptomatte layer, and 224
 * with shadow catchers. */
#ifndef SORT_FILM_FILM_H
#define SORT_FILM_FILM_H

#include "base/error.h"
#include "base/hash.h"

typedef enum FilmAov {
#define AOV(id, name, channels, sum, norm, suffixes, doc) FILM_AOV_##id,
#include "sort/film/aovs.inc"
#undef AOV
    FILM_AOV_COUNT
} FilmAov;

/* AOVs, as bits. */
typedef uint64_t FilmAovSet;
_Static_assert((int)FILM_AOV_COUNT < 64, "FilmAovSet has a bit for each AOV");
#define FILM_AOV_BIT(aov) ((FilmAovSet)1 << (aov))
#define FILM_AOVS_ALL     (FILM_AOV_BIT(FILM_AOV_COUNT) - 1)
static inline bool film_aovs_have(FilmAovSet set, FilmAov aov)
{
    return set >> aov & 1;
}

/* Where the channels of an AOV start in FilmSample.aov: FILM_AT_ALBEDO ... */
enum {
#define AOV(id, name, channels, sum, norm, suffixes, doc)                                          \
    FILM_AT_##id, FILM_LAST_##id = FILM_AT_##id + (channels) - 1,
#include "sort/film/aovs.inc"
#undef AOV
    FILM_AOV_FLOATS
};

/* Light groups: group 0 is the rest; the AOVs of the others follow it. */
enum { FILM_LIGHT_GROUPS_MAX = FILM_AOV_LIGHT_GROUP_8 - FILM_AOV_LIGHT_REST };
#define FILM_LIGHT_GROUPS                                                                          \
    (FILM_AOV_BIT(FILM_AOV_LIGHT_GROUP_8 + 1) - FILM_AOV_BIT(FILM_AOV_LIGHT_REST))

/* Shader AOVs: what closures Aov of the first surface say, by their slot. */
enum { FILM_SHADER_AOVS_MAX = FILM_AOV_SHADER_AOV_8 - FILM_AOV_SHADER_AOV_1 + 1 };
#define FILM_SHADER_AOVS                                                                           \
    (FILM_AOV_BIT(FILM_AOV_SHADER_AOV_8 + 1) - FILM_AOV_BIT(FILM_AOV_SHADER_AOV_1))

/* Light passes: COLOR, DIRECT, INDIRECT of each kind of scattering at the surface that the camera sees, in the order
 * of BsdfKind. The picture is the sum over the kinds of color (direct + indirect), and emission and environment.
 * Samples hold the light as it reaches the camera; it is divided by the colour when the film is resolved, and a film
 * that holds DIRECT or INDIRECT also holds COLOR. */
enum { FILM_LIGHT_KINDS = (FILM_AOV_TRANSMISSION_INDIRECT + 1 - FILM_AOV_DIFFUSE_COLOR) / 3 };
#define FILM_LIGHT_PASSES                                                                          \
    (FILM_AOV_BIT(FILM_AOV_TRANSMISSION_INDIRECT + 1) - FILM_AOV_BIT(FILM_AOV_DIFFUSE_COLOR))

/* AOVs that hold light, as the picture does. */
#define FILM_LIGHT                                                                                 \
    (FILM_LIGHT_GROUPS | FILM_AOV_BIT(FILM_AOV_DENOISING_LIGHT) |                                  \
     FILM_AOV_BIT(FILM_AOV_EMISSION) | FILM_AOV_BIT(FILM_AOV_ENVIRONMENT) |                        \
     (FILM_LIGHT_PASSES &                                                                          \
      ~(FILM_AOV_BIT(FILM_AOV_DIFFUSE_COLOR) | FILM_AOV_BIT(FILM_AOV_GLOSSY_COLOR) |               \
        FILM_AOV_BIT(FILM_AOV_TRANSMISSION_COLOR))))

/* What denoisers read beside the picture: guides, which show the scene without its light, and what sort/denoise/ needs
 * more, the variance and the same of the samples of odd number alone. Two halves of the samples differ by their noise
 * only. A film that holds one of the latter holds them all. */
#define FILM_DENOISING_GUIDES                                                                      \
    (FILM_AOV_BIT(FILM_AOV_DENOISING_DEPTH + 1) - FILM_AOV_BIT(FILM_AOV_DENOISING_ALBEDO))
#define FILM_DENOISING                                                                             \
    (FILM_AOV_BIT(FILM_AOV_DENOISING_ODD_DEPTH + 1) - FILM_AOV_BIT(FILM_AOV_DENOISING_ALBEDO))

/* Names that samples meet, counted a pixel: Cryptomatte layers (cryptomatte.h). */
typedef enum FilmId {
#define FILM_ID(id, name, layer) FILM_ID_##id,
#include "sort/film/film_ids.inc"
#undef FILM_ID
    FILM_ID_COUNT
} FilmId;

#define FILM_VALUE_MAX  0x1p38f /* 2.7e11 */
#define FILM_NARROW_MAX 0x1p6f
#define FILM_NO_DEPTH   1e10f
#define FILM_UNKNOWN    (-1.0f) /* of AOVs that not every sample has, such as the mip level */

enum {
    FILM_MAX_SIDE_PX = 65535,
    FILM_MAX_SAMPLES = 1 << 24, /* a pixel: so that no sum can overflow */
    FILM_MAX_RANGES = 64,
    FILM_FILTER_NAME_MAX = 32,
    FILM_TARGET_NAME_MAX = 64
};

/* How samples of a film were scattered; it is decided when the first one is taken. */
typedef enum FilmGuiding { FILM_GUIDING_UNDECIDED, FILM_UNGUIDED, FILM_GUIDED } FilmGuiding;

/* Partial results may be added to one another only if these are equal. */
typedef struct FilmIdentity {
    Hash128 scene; /* of everything that decides the pixels: scene, camera, settings, version */
    uint32_t nominal_samples; /* a pixel, of the whole render: decides texture footprints */
    uint32_t seed;
    FilmGuiding guiding;                  /* a film that is not decided agrees with any */
    char filter[FILM_FILTER_NAME_MAX];    /* name and width, "blackman-harris 1.5" */
    char cpu_class[FILM_TARGET_NAME_MAX]; /* that of accel_cpu_class */
} FilmIdentity;

typedef struct FilmDesc {
    size_t size_bytes;                      /* sizeof(FilmDesc) */
    uint32_t width, height;                 /* of the whole frame, 1 .. FILM_MAX_SIDE_PX */
    uint32_t x, y, crop_width, crop_height; /* pixels held; all 0: the whole frame */
    FilmAovSet aovs;
    uint32_t ids;      /* bit (1 << FilmId) */
    bool has_catchers; /* FilmCatch counts */
    bool has_splats;   /* film_splat may be called */
    FilmIdentity identity;
} FilmDesc;

/* The light of a sample that shadow catchers reflect towards the camera, and their backdrop. */
typedef struct FilmCatch {
    float lit[3];   /* light that they reflect in the scene as it is */
    float alone[3]; /* light that they would reflect in a scene of catchers and lamps only */
    /* RGBA of the environment behind the catchers; FilmSample.rgb does not have it. */
    float backdrop[4];
    /* The fraction of the sample that they cover, [0, 1]; FilmSample.alpha does not have it. */
    float cover;
} FilmCatch;

/* One sample. aov: from FILM_AT_x on; AOVs that the film does not hold are ignored. */
typedef struct FilmSample {
    float rgb[3];                /* linear radiance; may be negative */
    float alpha;                 /* [0, 1] */
    uint32_t ids[FILM_ID_COUNT]; /* cryptomatte_id of the names; 0: none, not counted */
    /* Is not read unless the film has catchers or AOVs. */
    FilmCatch caught; /* zero unless the film has catchers */
    bool is_odd;      /* the sample's number is */
    float aov[FILM_AOV_FLOATS];
} FilmSample;

/* Samples [begin, end) of every pixel. */
typedef struct FilmRange {
    uint32_t begin, end;
} FilmRange;

typedef struct FilmDropped {
    uint64_t count;       /* samples dropped in all */
    uint64_t pixel_count; /* pixels concerned */
    uint32_t x, y;        /* the first such pixel in reading order, in the frame */
} FilmDropped;

typedef struct Film Film;

/* STATUS_INVALID (sizes, crop outside the frame), STATUS_NO_MEMORY. *out_film is the caller's. */
Status film_create(const FilmDesc *desc, Film **out_film, Error *err) SORT_MUST_CHECK;
void film_destroy(Film *film);               /* NULL is fine */
const FilmDesc *film_desc(const Film *film); /* crop fields filled in */
size_t film_size_bytes(const Film *film);

/* Adds `count` samples to a pixel. samples: FilmSample, each `stride_bytes` after the one before; their parts from `caught` on
 * need not be there in a film without catchers and AOVs. x, y: in the frame; must lie in the crop. Any thread. */
void film_commit_samples(Film *film, uint32_t x, uint32_t y, const void *samples,
                         size_t stride_bytes, uint32_t count);
/* Adds one sample to a pixel. */
void film_commit(Film *film, uint32_t x, uint32_t y, const FilmSample *sample);

/* Adds light that was followed from a lamp and reached the camera at a pixel to its picture, in a film that has_splats. What
 * divides it is not the number of the pixel's samples, but that of paths of light for each pixel of the frame. Light that is not
 * finite or beyond FILM_SPLAT_MAX is dropped, and the pixel remembers it; 2^35 such splats fit into a sum. x, y: as in
 * film_commit; is_odd: as in FilmSample, of the sample that the path belongs to. Any thread. */
#define FILM_SPLAT_MAX 0x1p28f
void film_splat(Film *film, uint32_t x, uint32_t y, const float rgb[3], bool is_odd);
/* Asks for the memory of a pixel before a splat. */
void film_splat_prefetch(const Film *film, uint32_t x, uint32_t y);
/* Counts paths of light, those that reach no pixel too, and those of odd samples among them. Any thread. */
void film_count_light_paths(Film *film, uint64_t count, uint64_t odd);

/* Records that these samples of all pixels are in the sums now, for partial files. Ranges that touch are
 * joined. STATUS_INVALID when it is empty or overlaps what is there; STATUS_LIMIT past FILM_MAX_RANGES
 * pieces or FILM_MAX_SAMPLES samples. */
Status film_add_range(Film *film, FilmRange range, Error *err) SORT_MUST_CHECK;
/* In order, disjoint; *out_count of them. Lives until the film changes. */
const FilmRange *film_ranges(const Film *film, uint32_t *out_count);

/* A film in the middle of a render, a checkpoint, holds the first `job` jobs of a schedule of samples [sample_begin,
 * sample_end), whose passes take pass_samples, and from job widened_at on wide_samples, beside its ranges. job 0: it
 * holds its ranges alone. Stored in partial files. */
typedef struct FilmCheckpoint {
    uint64_t job;
    uint32_t pass_samples, wide_samples;
    uint64_t widened_at; /* UINT64_MAX: never */
    uint32_t sample_begin, sample_end;
} FilmCheckpoint;
void film_set_checkpoint(Film *film, FilmCheckpoint checkpoint);
FilmCheckpoint film_checkpoint(const Film *film);
/* Changes the nominal number of samples. Only for a caller that knows that the film's samples do not depend on it
 * (render_resume). */
void film_set_nominal_samples(Film *film, uint32_t nominal_samples);
/* Decides how samples are scattered, before the first one. */
void film_set_guiding(Film *film, FilmGuiding guiding);

/* How the picture was taken: goes with the film into its files, and does not decide its pixels. */
enum {
    FILM_SHOT_CAMERA = 1,
    FILM_SHOT_NDC = 2,
    FILM_SHOT_FRAME = 4,
    /* Some samples are not what the scene says: textures were missing or unreadable, or a shader had a fault. */
    FILM_SHOT_DAMAGED = 8
};
typedef struct FilmShot {
    uint32_t has;       /* FILM_SHOT_x: what of the following is known, and damage */
    int32_t frame;      /* its number in the sequence */
    float fps;          /* frames a second; 0: not known */
    float pixel_aspect; /* width of a pixel over its height; 0: 1 */
    float exposure;     /* factor on light when it is written; the sums do not have it */
    /* Matrices for points as rows (p' = p M), as OpenEXR has them: to camera space, which looks along -z with y up; and to
     * x and y from -1 to 1, left to right and bottom to top, of the whole frame. */
    float world_to_camera[16], world_to_ndc[16];
    double render_s; /* seconds that rendering took, of all runs and parts together */
} FilmShot;
void film_set_shot(Film *film, const FilmShot *shot);
const FilmShot *film_shot(const Film *film);

/* Texts that go with the film into its files, and do not decide its pixels: the scene's name, the credits that its
 * makers ask for, settings that are known by their hash, and the manifests of the ids (cryptomatte_manifest). */
typedef enum FilmNote {
    FILM_NOTE_SCENE,
    FILM_NOTE_LIGHT_GROUPS, /* their names in order, one a line */
    FILM_NOTE_SHADER_AOVS,  /* their names in order, one a line */
    FILM_NOTE_SETTINGS,     /* that decide pixels, "name value", one a line */
    FILM_NOTE_CREDITS,      /* one a line */
#define FILM_ID(id, name, layer) FILM_NOTE_##id,
#include "sort/film/film_ids.inc"
#undef FILM_ID
    FILM_NOTE_COUNT
} FilmNote;
/* Copies the text. STATUS_NO_MEMORY. */
Status film_set_note(Film *film, FilmNote note, const char *text, Error *err) SORT_MUST_CHECK;
const char *film_note(const Film *film, FilmNote note); /* "" when not set */

/* Whether both belong to one render: frame, crop, AOVs and identity agree. STATUS_INVALID names what does
 * not. */
Status film_same_render(const Film *film, const Film *other, Error *err) SORT_MUST_CHECK;

/* Adaptive sampling: marks each pixel as done or not, by the sums alone, so that the same sums are always judged
 * the same. A pixel is done when no pixel within one of it has a larger error than `error_max`. The error is
 * that of the displayed value, the standard error of sqrt(luminance), for display curves are near a square
 * root: s / (2 sqrt(Y + 1/1024)), with the variance s^2 of the mean averaged over 3 x 3 pixels, since few
 * samples judge one pixel badly. The error of a catcher's shadow counts, on a white background where none is known.
 * Returns how many pixels are not done. The film must hold the variance. */
uint64_t film_judge(Film *film, float error_max);
/* Marks the pixels of `film` as done where those of `judged`, of the same frame and crop, are. */
void film_copy_judgement(Film *film, const Film *judged);
/* x, y: in the frame; must lie in the crop. Any thread, while no film_judge is under way. */
bool film_is_done(const Film *film, uint32_t x, uint32_t y);

/* Adds `other` to `film`: exactly what one film with both sets of samples holds. They must belong to one render,
 * ranges must not overlap, and neither may be a checkpoint: STATUS_INVALID names what is wrong; film is then
 * unchanged. */
Status film_merge(Film *film, const Film *other, Error *err) SORT_MUST_CHECK;
/* Forgets all samples and ranges. */
void film_clear(Film *film);

/* The exact sums, to a file that appears complete or not at all, and back. The file is checked for damage.
 * Read errors: STATUS_NOT_FOUND, STATUS_IO, STATUS_FORMAT, STATUS_UNSUPPORTED (another version),
 * STATUS_NO_MEMORY. On success *out_film is the caller's. */
Status film_write_partial(const Film *film, const char *path, Error *err) SORT_MUST_CHECK;
Status film_read_partial(const char *path, Film **out_film, Error *err) SORT_MUST_CHECK;

/* Means as floats, rows from the top: RGBA (premultiplied), [crop_height][crop_width][4]. Pixels without a
 * sample are 0. In the place of shadow catchers the picture has the environment behind them, darkened by the shadow,
 * which is black with alpha where nothing is behind them. If the film has FILM_AOV_SHADOW_CATCHER, it has a hole
 * there. See catcher.h. */
void film_resolve(const Film *film, float *out_rgba);
/* One AOV, [crop_height][crop_width][channels]; the film must hold it. */
void film_resolve_aov(const Film *film, FilmAov aov, float *out_values);
uint64_t film_sample_count(const Film *film); /* over all pixels, dropped ones excluded */
FilmDropped film_dropped(const Film *film);

/* The `ranks` ids that most samples of each pixel met, as Cryptomatte has it: [crop_height][crop_width][ranks]
 * pairs of cryptomatte_float(id) and the share of the pixel's samples; (0, 0) where there are fewer. Equal
 * shares are ranked by id. The film must hold these ids. */
enum { FILM_ID_RANKS_MAX = 16 };
void film_resolve_ids(const Film *film, FilmId id, uint32_t ranks, float *out_pairs);
typedef struct FilmIdInfo {
    const char *name, *layer; /* on command lines, in files */
} FilmIdInfo;
const FilmIdInfo *film_id_info(FilmId id);

typedef struct FilmAovInfo {
    const char *name, *suffixes, *doc;
    uint32_t channel_count;
    uint32_t offset; /* in FilmSample.aov: FILM_AT_x */
} FilmAovInfo;
const FilmAovInfo *film_aov_info(FilmAov aov);
/* False when there is none of that name. */
bool film_aov_find(const char *name, FilmAov *out_aov);

#endif
