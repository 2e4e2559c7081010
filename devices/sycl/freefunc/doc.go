// Package freefunc reads which kernels a source in SYCL C++ has, as far as they
// are free functions (the extension sycl_ext_oneapi_free_function_kernels), and
// which parameters they take:
//
//	extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))
//	void saxpy(const float *x, float *y, float a) { ... }
//
// It is no C++ front end: it knows functions, namespaces, typedefs and plain
// macros, and leaves judging the rest to the compiler.
package freefunc
