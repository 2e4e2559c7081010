package bridge

import "strings"

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// words of OpenCL C that are written otherwise in CUDA C. Those of address
// spaces go: pointers are generic.
var words = map[string]string{
	"__global": "", "global": "", "__constant": "", "constant": "", "__local": "", "local": "",
	"__private": "", "private": "", "__generic": "", "generic": "", "__kernel": "", "kernel": "",
	"inline": "", "__inline": "", "__inline__": "", "register": "", "auto": "",
	"restrict": "__restrict__", "__restrict": "__restrict__",
	"__const": "const", "__volatile__": "volatile", "_Bool": "bool",
	"long": "long long",
}

// reservedInCPP are words of C++ and CUDA that are names in OpenCL C.
var reservedInCPP = set(`alignas alignof and and_eq asm bitand bitor catch char8_t char16_t char32_t class co_await co_return
	co_yield compl concept consteval constexpr constinit const_cast decltype delete dynamic_cast explicit export friend
	mutable namespace new noexcept not not_eq nullptr operator or or_eq protected public reinterpret_cast requires
	static_assert static_cast template this thread_local throw try typeid typename typeof using virtual wchar_t xor xor_eq
	__device__ __host__ __global__ __shared__ __constant__ __managed__`)

// rangedFunctions are the functions of the language that answer from the range
// of the launch: the header's take it as their first argument.
var rangedFunctions = set(`get_work_dim get_global_size get_global_id get_local_size get_enqueued_local_size get_local_id
	get_num_groups get_group_id get_global_offset get_global_linear_id get_local_linear_id
	async_work_group_copy async_work_group_strided_copy`)

// groupFunctions are those that tell one local size from another, or that
// work-items of a group meet in.
var groupFunctions = set(`get_local_size get_enqueued_local_size get_local_id get_num_groups get_group_id get_local_linear_id
	async_work_group_copy async_work_group_strided_copy wait_group_events barrier work_group_barrier`)

// refusedNames are types and constants that cannot be mapped, and why.
var refusedNames = func() map[string]string {
	m := map[string]string{}
	for w := range set(`image1d_t image1d_array_t image1d_buffer_t image2d_t image2d_array_t image3d_t image2d_depth_t
		image2d_array_depth_t image2d_msaa_t image2d_array_msaa_t image2d_msaa_depth_t image2d_array_msaa_depth_t sampler_t`) {
		m[w] = "images are not supported, pass the data as a __global array"
	}
	for w := range set("queue_t ndrange_t clk_event_t") {
		m[w] = "kernels cannot enqueue kernels here"
	}
	m["pipe"], m["reserve_id_t"] = "pipes are not supported", "pipes are not supported"
	return m
}()

// refusedCall is why a function of the language cannot be mapped; "" if it
// can, or is none.
func refusedCall(name string) string {
	for _, p := range []struct{ prefix, why string }{
		{"read_image", "images are not supported, pass the data as a __global array"},
		{"write_image", "images are not supported, pass the data as a __global array"},
		{"get_image_", "images are not supported, pass the data as a __global array"},
		{"sub_group_", "the bridge has no sub-groups"}, {"intel_sub_group_", "the bridge has no sub-groups"},
		{"get_sub_group_", "the bridge has no sub-groups"}, {"get_num_sub_groups", "the bridge has no sub-groups"},
		{"get_enqueued_num_sub_groups", "the bridge has no sub-groups"}, {"get_max_sub_group_size", "the bridge has no sub-groups"},
		{"work_group_all", groupWide}, {"work_group_any", groupWide}, {"work_group_broadcast", groupWide},
		{"work_group_reduce_", groupWide}, {"work_group_scan_", groupWide},
		{"work_group_reserve_", "pipes are not supported"}, {"work_group_commit_", "pipes are not supported"},
		{"read_pipe", "pipes are not supported"}, {"write_pipe", "pipes are not supported"}, {"reserve_", "pipes are not supported"},
		{"read_channel_intel", "channels are the FPGA's"}, {"write_channel_intel", "channels are the FPGA's"},
		{"enqueue_", "kernels cannot enqueue kernels here"}, {"get_kernel_", "kernels cannot enqueue kernels here"},
		{"get_default_queue", "kernels cannot enqueue kernels here"}, {"ndrange_", "kernels cannot enqueue kernels here"},
		{"__builtin_", "it belongs to another compiler"}, {"amd_", "it belongs to another compiler"}, {"intel_", "it belongs to another compiler"},
	} {
		if strings.HasPrefix(name, p.prefix) {
			return p.why
		}
	}
	return ""
}

const groupWide = "write it with local memory and barriers"
