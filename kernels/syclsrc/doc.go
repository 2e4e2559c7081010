// Package syclsrc makes kernels of sources in SYCL C++: free functions with the
// nd_range_kernel property, whose signatures are read from the source.
//
// Headers of the user's own are put in place, so that what a device compiles is
// self-contained; those of SYCL and of the C++ library are left to the device's
// compiler, which brings them. Which elements a work-item touches is not
// followed, so a launch of such a kernel is not divided over devices.
package syclsrc
