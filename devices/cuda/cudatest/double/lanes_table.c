// The loops by number.
#include "lanes.h"

#define LANE(name) void NAME(name)(warp *, const insn *);
#include "lanes_list.h"
#undef LANE

const lane_fn lane_table[L_COUNT] = {
#define LANE(name) [L_##name] = NAME(name),
#include "lanes_list.h"
#undef LANE
};
