#define RT_LANES 4
#include "ssl/rt/rt_lanes.inl"
