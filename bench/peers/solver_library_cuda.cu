// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/solver_library_cuda.h"

#include <dlfcn.h>

namespace
{

#define BB_TEXT_OF(name) #name
#define BB_TEXT(name)    BB_TEXT_OF(name)

template <typename Function> bb_status find(void *handle, const char *name, Function *out)
{
    *out = reinterpret_cast<Function>(dlsym(handle, name));
    if (*out == nullptr) {
        return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__, "cuSOLVER has no %s", name);
    }
    return BB_OK;
}

bb_status load(bb_solver_library_cuda *out)
{
    const char *name = "libcusolver.so." BB_TEXT(CUSOLVER_VER_MAJOR);
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__, "%s cannot be loaded: %s", name,
                             dlerror());
    }
    BB_RETURN_IF_FAILED(find(handle, "cusolverDnCreate", &out->create));
    BB_RETURN_IF_FAILED(find(handle, "cusolverDnDestroy", &out->destroy));
    BB_RETURN_IF_FAILED(find(handle, "cusolverDnSetStream", &out->set_stream));
    BB_RETURN_IF_FAILED(find(handle, "cusolverDnCreateParams", &out->create_params));
    BB_RETURN_IF_FAILED(find(handle, "cusolverDnDestroyParams", &out->destroy_params));
    BB_RETURN_IF_FAILED(find(handle, "cusolverDnXpotrf_bufferSize", &out->workspace));
    return find(handle, "cusolverDnXpotrf", &out->factor);
}

} // namespace

bb_status bb_solver_library_open(const bb_solver_library_cuda **out)
{
    static bb_solver_library_cuda loaded;
    if (loaded.factor == nullptr) {
        BB_RETURN_IF_FAILED(load(&loaded));
    }
    *out = &loaded;
    return BB_OK;
}
