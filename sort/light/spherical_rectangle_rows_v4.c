#define SPHERICAL_RECTANGLE_ROWS  spherical_rectangle_rows_v4
#define RECTANGLE_IRRADIANCE_ROWS rectangle_irradiance_rows_v4
#define RECTANGLE_LIGHT_ROWS      rectangle_light_rows_v4
#include "sort/light/spherical_rectangle_rows.inl"

#include "sort/light/rectangle_light_rows.inl"
