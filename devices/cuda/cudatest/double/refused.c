// Functions that programs link against and the double has not: they say so.
#include "double.h"

static CUresult refuse(const char *name) {
    CUresult r = enter(name);
    if (r)
        return leave(r);
    complain("%s is not known to the double", name);
    return leave(CUDA_ERROR_NOT_SUPPORTED);
}

// Their arguments do not matter: callers pass what they like.
#define REFUSE(name) \
    API CUresult name(void) { return refuse(#name); }

// Arrays, textures and surfaces
REFUSE(cuArrayCreate_v2) REFUSE(cuArray3DCreate_v2) REFUSE(cuArrayDestroy) REFUSE(cuArrayGetDescriptor_v2) REFUSE(cuArray3DGetDescriptor_v2)
REFUSE(cuMemcpyAtoA_v2) REFUSE(cuMemcpyAtoD_v2) REFUSE(cuMemcpyAtoH_v2) REFUSE(cuMemcpyAtoHAsync_v2) REFUSE(cuMemcpyDtoA_v2)
REFUSE(cuMemcpyHtoA_v2) REFUSE(cuMemcpyHtoAAsync_v2) REFUSE(cuMemcpy3DPeer) REFUSE(cuMemcpy3DPeerAsync)
REFUSE(cuModuleGetTexRef) REFUSE(cuModuleGetSurfRef) REFUSE(cuSurfRefGetArray) REFUSE(cuSurfRefSetArray) REFUSE(cuTexRefGetAddress_v2)
REFUSE(cuTexRefGetAddressMode) REFUSE(cuTexRefGetArray) REFUSE(cuTexRefGetBorderColor) REFUSE(cuTexRefGetFilterMode) REFUSE(cuTexRefGetFlags)
REFUSE(cuTexRefGetFormat) REFUSE(cuTexRefGetMaxAnisotropy) REFUSE(cuTexRefSetAddress_v2) REFUSE(cuTexRefSetAddress2D_v3)
REFUSE(cuTexRefSetAddressMode) REFUSE(cuTexRefSetArray) REFUSE(cuTexRefSetBorderColor) REFUSE(cuTexRefSetFilterMode) REFUSE(cuTexRefSetFlags)
REFUSE(cuTexRefSetFormat) REFUSE(cuTexRefSetMaxAnisotropy) REFUSE(cuTexRefSetMipmapFilterMode) REFUSE(cuTexRefSetMipmapLevelBias)
REFUSE(cuTexRefSetMipmapLevelClamp)
// Graphs beyond those that the double builds
REFUSE(cuGraphAddChildGraphNode) REFUSE(cuGraphAddDependencies) REFUSE(cuGraphAddMemcpyNode) REFUSE(cuGraphAddMemsetNode) REFUSE(cuGraphClone)
REFUSE(cuGraphDestroyNode) REFUSE(cuGraphGetEdges)
// The linker
REFUSE(cuLinkCreate_v2) REFUSE(cuLinkAddData_v2) REFUSE(cuLinkAddFile_v2) REFUSE(cuLinkComplete) REFUSE(cuLinkDestroy)
// Settings of hardware that is not there
REFUSE(cuCtxGetSharedMemConfig) REFUSE(cuCtxSetSharedMemConfig) REFUSE(cuFuncSetSharedMemConfig) REFUSE(cuCtxResetPersistingL2Cache)
REFUSE(cuPointerSetAttribute) REFUSE(cuStreamAttachMemAsync)
