#include "sort/light/rectangle_light.h"

void rectangle_set_shape(const LightShape *shape, uint32_t lane, RectangleRows *rows)
{
    for (uint32_t c = 0; c < 3; ++c) {
        rows->centre[c][lane] = (float)shape->centre[c];
        rows->x[c][lane] = (float)shape->axis[0][c];
        rows->y[c][lane] = (float)shape->axis[1][c];
        rows->z[c][lane] = (float)shape->axis[2][c];
    }
    rows->half_x[lane] = (float)shape->half_size[0],
    rows->half_y[lane] = (float)shape->half_size[1];
    rows->cot_spread[lane] = (float)shape->cot_spread;
    rows->spread_scale[lane] = (float)shape->spread_scale;
    rows->plane_error[lane] = (float)shape->plane_error;
    rows->is_two_sided[lane] = shape->is_two_sided;
}

static void fill(WideRow row, double value)
{
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        row[k] = (float)value;
}

void rectangle_set_shapes(const LightShape *shape, RectangleRows *rows)
{
    for (uint32_t c = 0; c < 3; ++c) {
        fill(rows->centre[c], shape->centre[c]);
        fill(rows->x[c], shape->axis[0][c]);
        fill(rows->y[c], shape->axis[1][c]);
        fill(rows->z[c], shape->axis[2][c]);
    }
    fill(rows->half_x, shape->half_size[0]), fill(rows->half_y, shape->half_size[1]);
    fill(rows->cot_spread, shape->cot_spread);
    fill(rows->spread_scale, shape->spread_scale);
    fill(rows->plane_error, shape->plane_error);
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        rows->is_two_sided[k] = shape->is_two_sided;
}

void rectangle_set_point(const LightQuery *from, uint32_t lane, RectangleRows *rows)
{
    wide_set3(rows->position, lane, from->position);
    wide_set3(rows->facing, lane, from->normal);
    rows->above[lane] = from->sides & SKY_ABOVE ? 1.0f : 0.0f;
    rows->below[lane] = from->sides & SKY_BELOW ? 1.0f : 0.0f;
}
