#define RT_LANES 16
#include "ssl/rt/rt_lanes.inl"
