// SPDX-License-Identifier: Apache-2.0
#include "bench/panels/cusolvermp_library_cuda.h"

#include <dlfcn.h>

namespace
{

bb_status open_any(const char *const *names, void **out)
{
    for (int i = 0; names[i] != nullptr && *out == nullptr; ++i) {
        *out = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    if (*out == nullptr) {
        return bb_status_set(
            BB_UNSUPPORTED, __FILE__, __LINE__,
            "no cuSOLVERMp here (pip's nvidia-cusolvermp-cu13 and nvidia-nccl-cu13 "
            "from 2.29 on, by LD_LIBRARY_PATH): %s",
            dlerror());
    }
    return BB_OK;
}

template <typename Function> bb_status find(void *handle, const char *name, Function *out)
{
    *out = reinterpret_cast<Function>(dlsym(handle, name));
    if (*out == nullptr) {
        return bb_status_set(BB_UNSUPPORTED, __FILE__, __LINE__,
                             "this cuSOLVERMp or NCCL has no %s", name);
    }
    return BB_OK;
}

bb_status load_nccl(bb_cusolvermp_library_cuda *out)
{
    static const char *const names[] = {"libnccl.so.2", "libnccl.so", nullptr};
    void *handle = nullptr;
    BB_RETURN_IF_FAILED(open_any(names, &handle));
    BB_RETURN_IF_FAILED(find(handle, "ncclGetVersion", &out->nccl_version));
    BB_RETURN_IF_FAILED(find(handle, "ncclCommInitAll", &out->join));
    BB_RETURN_IF_FAILED(find(handle, "ncclCommDestroy", &out->leave));
    return find(handle, "ncclGetErrorString", &out->nccl_reason);
}

bb_status load(bb_cusolvermp_library_cuda *out)
{
    static const char *const names[] = {"libcusolverMp.so.0", "libcusolverMp.so", nullptr};
    void *handle = nullptr;
    BB_RETURN_IF_FAILED(load_nccl(out)); // first: the other one is linked to it
    BB_RETURN_IF_FAILED(open_any(names, &handle));
    BB_RETURN_IF_FAILED(find(handle, "cusolverMpCreate", &out->create));
    BB_RETURN_IF_FAILED(find(handle, "cusolverMpDestroy", &out->destroy));
    BB_RETURN_IF_FAILED(find(handle, "cusolverMpGetVersion", &out->version));
    BB_RETURN_IF_FAILED(find(handle, "cusolverMpCreateDeviceGrid", &out->create_grid));
    BB_RETURN_IF_FAILED(find(handle, "cusolverMpDestroyGrid", &out->destroy_grid));
    BB_RETURN_IF_FAILED(find(handle, "cusolverMpCreateMatrixDesc", &out->create_matrix));
    BB_RETURN_IF_FAILED(find(handle, "cusolverMpDestroyMatrixDesc", &out->destroy_matrix));
    BB_RETURN_IF_FAILED(find(handle, "cusolverMpNUMROC", &out->count));
    BB_RETURN_IF_FAILED(find(handle, "cusolverMpPotrf_bufferSize", &out->workspace));
    return find(handle, "cusolverMpPotrf", &out->factor);
}

} // namespace

bb_status bb_cusolvermp_library_open(const bb_cusolvermp_library_cuda **out)
{
    static bb_cusolvermp_library_cuda loaded;
    if (loaded.factor == nullptr) {
        BB_RETURN_IF_FAILED(load(&loaded));
    }
    *out = &loaded;
    return BB_OK;
}
