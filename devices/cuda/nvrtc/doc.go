// Package nvrtc binds NVRTC, NVIDIA's compiler of CUDA C at run time. It needs
// neither a GPU nor a driver nor a CUDA toolkit: the library is found where
// toolkits, Python environments and the loader's path have it, and is never
// linked.
//
// [Open] finds a library, [Library.Compile] turns CUDA C into PTX or a cubin.
// Results are kept on disk (package buildcache), so that a second run does not
// compile again. Logs come in the form that this module's other compilers use,
// "file:line:column: error: text".
//
// The PTX of an NVRTC that is newer than the installed driver is refused by
// that driver: [Options] bounds the version. See NVIDIA's "NVRTC" manual for
// the compiler's options and "CUDA Compatibility" for the versions.
package nvrtc
