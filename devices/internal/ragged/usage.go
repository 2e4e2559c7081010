package ragged

import "strings"

// Usage is what a kernel can see of how its work-items are grouped and cut.
type Usage uint8

// The things that a kernel can look at.
const (
	Groups   Usage = 1 << iota // work-items of a group know each other: local ids, barriers, local memory
	GroupID                    // the group's id, the number of groups
	Size                       // the global size
	Offset                     // the global offset
	Linear                     // the global linear id
	Enqueued                   // the local size that was asked for

	// None is a kernel that knows its global id and nothing else.
	None Usage = 0
	// All is a kernel of which nothing is known.
	All = Groups | GroupID | Size | Offset | Linear | Enqueued
	// SeesCut are those that give another answer in a launch of a part.
	SeesCut = All &^ Groups
	// SeesLocal are those that depend on the local size.
	SeesLocal = Groups | GroupID | Enqueued
)

// openCL is what an identifier in OpenCL C says.
func openCL(identifier string) Usage {
	switch identifier {
	case "get_group_id", "get_num_groups":
		return GroupID
	case "get_global_size":
		return Size
	case "get_global_offset":
		return Offset
	case "get_global_linear_id":
		return Linear
	case "get_enqueued_local_size":
		return Enqueued
	case "get_local_id", "get_local_size", "get_local_linear_id", "barrier", "__local", "local", "wait_group_events":
		return Groups
	}
	for _, prefix := range []string{"work_group_", "async_work_group_", "sub_group_", "get_sub_group_", "get_num_sub_groups", "get_max_sub_group", "intel_sub_group_"} {
		if strings.HasPrefix(identifier, prefix) {
			return Groups
		}
	}
	return None
}

// sycl is what an identifier in SYCL C++ says: the member functions of
// nd_item, item, group and sub_group, and the functions over groups.
func sycl(identifier string) Usage {
	switch identifier {
	case "get_group_range", "get_group_id", "get_group_linear_id", "get_group_linear_range", "get_max_local_range":
		return Groups | GroupID
	case "get_group", "get_work_group", "group", "get_root_group":
		return Groups | GroupID
	case "get_global_range", "get_range", "get_nd_range":
		return Size
	case "get_offset":
		return Offset
	case "get_global_linear_id", "get_linear_id", "get_global_linear_range":
		return Linear
	case "get_local_id", "get_local_range", "get_local_linear_id", "get_local_linear_range", "group_barrier", "barrier",
		"local_accessor", "work_group_memory", "work_group_static", "get_work_group_scratch_memory", "group_local_memory",
		"get_sub_group", "sub_group", "async_work_group_copy", "wait_for", "group_broadcast", "tile":
		return Groups
	}
	for _, part := range []string{"_over_group", "_of_group", "joint_", "shift_group_", "permute_group_", "select_from_group"} {
		if strings.Contains(identifier, part) {
			return Groups
		}
	}
	if strings.Contains(identifier, "__spirv_") {
		return All
	}
	return None
}
