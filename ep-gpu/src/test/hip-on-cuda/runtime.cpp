// Stands in for libamdhip64.so: the calls of the HIP runtime that ep4j makes, forwarded to a CUDA driver. Says to be MI300X joined by xGMI, or of the
// architecture that HIP_ON_CUDA_ARCHITECTURE names, and joined by what HIP_ON_CUDA_LINKS names (pcie). Needs no header of either; the argument
// orders are those of hip_runtime_api.h and cuda.h.
#include <string.h>

#include <mutex>
#include <set>
#include <vector>

#include "libraries.h"

typedef unsigned long long u64;
typedef u64 handle;
struct IpcHandle { char bytes[64]; };

#define CALL(name, ...) forward::call(forward::driver(), #name, __VA_ARGS__)

namespace {
enum { SUCCESS = 0, INVALID_VALUE = 1, INVALID_DEVICE = 101 };
constexpr int LDS_BYTES = 64 * 1024;

std::mutex lock;
std::vector<handle> contexts;  // of all GPUs, retained for good, as HIP does
std::set<handle> uncached;     // what is fine-grained or not cached
thread_local int current_device = 0;
thread_local int why = 0;  // this thread got no context: CUDA's number, which for what happens here is HIP's, too

int count_devices(int* count) { return CALL(cuDeviceGetCount, count); }

// The context of a GPU, 0 when there is no such GPU.
handle context(int ordinal) {
  std::lock_guard<std::mutex> hold(lock);
  int count = 0;
  why = INVALID_DEVICE;
  if (ordinal < 0 || count_devices(&count) != 0 || ordinal >= count) return 0;
  contexts.resize(count);
  if (!contexts[ordinal]) {
    int device = 0;
    if ((why = CALL(cuDeviceGet, &device, ordinal)) != 0 || (why = CALL(cuDevicePrimaryCtxRetain, &contexts[ordinal], device)) != 0) return 0;
  }
  return contexts[ordinal];
}

// Makes the thread's GPU current in CUDA for the time of a call: the process may use CUDA for itself.
class Current {
 public:
  Current() : result(CALL(cuCtxPushCurrent_v2, context(current_device))) {}
  ~Current() {
    if (result == 0) CALL(cuCtxPopCurrent_v2, (handle*)nullptr);
  }
  const int result;
};

// The register HDP_MEM_COHERENCY_FLUSH_CNTL, of all GPUs.
unsigned hdp_flush_control = 0;

bool named(const char* variable, const char* value) {
  const char* set = getenv(variable);
  return set && strcmp(set, value) == 0;
}

int attribute(int attribute, int device) {
  int value = 0;
  CALL(cuDeviceGetAttribute, &value, attribute, device);
  return value;
}
}  // namespace

#define FORWARDED(hip, parameters, cuda, ...)      \
  EXPORT int hip parameters {                      \
    Current current;                               \
    return current.result ? current.result : CALL(cuda, __VA_ARGS__); \
  }

// CUDA too puts streams beyond so many on hardware queues that others have; read when the driver begins.
__attribute__((constructor)) void ask_for_queues() { setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); }

EXPORT int hipInit(unsigned flags) { return CALL(cuInit, flags); }
EXPORT int hipRuntimeGetVersion(int* version) { *version = 70000000; return SUCCESS; }
EXPORT int hipGetDeviceCount(int* count) { return count_devices(count); }
EXPORT int hipDeviceGet(int* device, int ordinal) {
  if (!context(ordinal)) return why;
  *device = ordinal;
  return SUCCESS;
}
EXPORT int hipGetDevice(int* device) { *device = current_device; return SUCCESS; }
EXPORT int hipSetDevice(int device) {
  if (!context(device)) return why;
  current_device = device;
  return SUCCESS;
}
EXPORT int hipDeviceGetName(char* name, int length, int device) {
  if (!context(device)) return why;
  snprintf(name, length, "HIP on CUDA");
  return SUCCESS;
}
EXPORT int hipDeviceGetAttribute(int* value, int number, int device) {
  if (!context(device)) return why;
  switch (number) {
    case 63: *value = attribute(16, device); return SUCCESS;
    case 74: *value = LDS_BYTES; return SUCCESS;
    case 87: *value = forward::lanes(); return SUCCESS;
    case 88: *value = attribute(115, device); return SUCCESS;
    case 10005: {
      // An address. CUDA flushes by a call, so what is stored here is only seen by tests.
      unsigned* address = named("HIP_ON_CUDA_WITHOUT", "hdp") ? nullptr : &hdp_flush_control;
      memcpy(value, &address, sizeof(address));
      return SUCCESS;
    }
    case 10011: *value = attribute(116, device); return SUCCESS;
    default: return INVALID_VALUE;
  }
}
EXPORT int hipGetDevicePropertiesR0600(char* properties, int device) {
  if (!context(device)) return why;
  memset(properties, 0, 1472);
  const char* named = getenv("HIP_ON_CUDA_ARCHITECTURE");
  strncpy(properties + 1160, named ? named : "gfx942:sramecc+:xnack-", 255);
  return SUCCESS;
}
EXPORT int hipDeviceGetPCIBusId(char* text, int length, int device) { return CALL(cuDeviceGetPCIBusId, text, length, device); }
EXPORT int hipDeviceCanAccessPeer(int* can, int device, int peer) { return CALL(cuDeviceCanAccessPeer, can, device, peer); }
EXPORT int hipDeviceGetP2PAttribute(int* value, int number, int device, int peer) {
  return CALL(cuDeviceGetP2PAttribute, value, number + 1, device, peer);
}
EXPORT int hipExtGetLinkTypeAndHopCount(int device, int peer, unsigned* type, unsigned* hops) {
  int can = 0;
  int result = CALL(cuDeviceCanAccessPeer, &can, device, peer);
  if (named("HIP_ON_CUDA_LINKS", "pcie")) can = 0;
  *type = can ? 4 : 2;
  *hops = can ? 1 : 2;
  return result;
}
EXPORT int hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  Current current;
  return current.result ? current.result : CALL(cuCtxEnablePeerAccess, context(peer), flags);
}

FORWARDED(hipMalloc, (handle* address, u64 bytes), cuMemAlloc_v2, address, bytes)
EXPORT int hipExtMallocWithFlags(handle* address, u64 bytes, unsigned flags) {
  if (flags != 0 && flags != 1 && flags != 3) return INVALID_VALUE;
  int result = hipMalloc(address, bytes);
  if (result == 0 && flags != 0) {
    std::lock_guard<std::mutex> hold(lock);
    uncached.insert(*address);
  }
  return result;
}
EXPORT int hipFree(handle address) {
  {
    std::lock_guard<std::mutex> hold(lock);
    uncached.erase(address);
  }
  Current current;
  return current.result ? current.result : CALL(cuMemFree_v2, address);
}
FORWARDED(hipMallocAsync, (handle* address, u64 bytes, handle stream), cuMemAllocAsync, address, bytes, stream)
FORWARDED(hipFreeAsync, (handle address, handle stream), cuMemFreeAsync, address, stream)
FORWARDED(hipMemGetInfo, (u64* free, u64* total), cuMemGetInfo_v2, free, total)
FORWARDED(hipMemGetAddressRange, (handle* base, u64* bytes, handle address), cuMemGetAddressRange_v2, base, bytes, address)
// AMD gives out any memory. Here only what the GPU does not cache, so that tests find a window in other memory.
EXPORT int hipMemGetHandleForAddressRange(void* file, handle address, u64 bytes, int type, u64 flags) {
  {
    std::lock_guard<std::mutex> hold(lock);
    if (!uncached.count(address)) return INVALID_VALUE;
  }
  Current current;
  return current.result ? current.result : CALL(cuMemGetHandleForAddressRange, file, address, bytes, type, flags);
}
// That of libhsa-runtime64.so, which libamdhip64.so links to.
EXPORT int hsa_amd_portable_export_dmabuf(handle address, u64 bytes, int* file, u64* offset) {
  *offset = 0;
  return hipMemGetHandleForAddressRange(file, address, bytes, 1, 0) == 0 ? 0 : 0x1000;
}
FORWARDED(hipMemsetD8Async, (handle address, unsigned char value, u64 count, handle stream), cuMemsetD8Async, address, value, count, stream)
FORWARDED(hipMemcpyHtoD, (handle to, const void* from, u64 bytes), cuMemcpyHtoD_v2, to, from, bytes)
FORWARDED(hipMemcpyDtoH, (void* to, handle from, u64 bytes), cuMemcpyDtoH_v2, to, from, bytes)
EXPORT int hipMemcpyAsync(handle to, handle from, u64 bytes, int kind, handle stream) {
  if (kind != 4) return 21;
  Current current;
  return current.result ? current.result : CALL(cuMemcpyAsync, to, from, bytes, stream);
}
EXPORT int hipHostMalloc(handle* address, u64 bytes, unsigned flags) {
  Current current;
  return current.result ? current.result : CALL(cuMemHostAlloc, address, bytes, flags & 3);
}
FORWARDED(hipHostFree, (handle address), cuMemFreeHost, address)
FORWARDED(hipHostGetDevicePointer, (handle* address, handle host, unsigned flags), cuMemHostGetDevicePointer_v2, address, host, flags)
FORWARDED(hipIpcGetMemHandle, (IpcHandle* handle_, handle address), cuIpcGetMemHandle, handle_, address)
FORWARDED(hipIpcOpenMemHandle, (handle* address, IpcHandle opened, unsigned flags), cuIpcOpenMemHandle_v2, address, opened, flags)
FORWARDED(hipIpcCloseMemHandle, (handle address), cuIpcCloseMemHandle, address)

FORWARDED(hipModuleLoadData, (handle* module, const void* image), cuModuleLoadData, module, image)
FORWARDED(hipModuleUnload, (handle module), cuModuleUnload, module)
EXPORT int hipModuleGetFunction(handle* function, handle module, const char* name) {
  Current current;
  if (current.result) return current.result;
  int result = CALL(cuModuleGetFunction, function, module, name);
  // HIP asks for no permission to use all of the LDS.
  int used = 0;
  if (result == 0) result = CALL(cuFuncGetAttribute, &used, 1, *function);
  return result ? result : CALL(cuFuncSetAttribute, *function, 8, LDS_BYTES - used);
}
FORWARDED(hipFuncGetAttribute, (int* value, int number, handle function), cuFuncGetAttribute, value, number, function)
FORWARDED(hipModuleLaunchKernel,
          (handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
           handle stream, void** parameters, void** extra),
          cuLaunchKernel, function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, parameters, extra)

EXPORT int hipThreadExchangeStreamCaptureMode(int* mode) { return CALL(cuThreadExchangeStreamCaptureMode, mode); }
FORWARDED(hipStreamCreateWithFlags, (handle* stream, unsigned flags), cuStreamCreate, stream, flags)
FORWARDED(hipStreamDestroy, (handle stream), cuStreamDestroy_v2, stream)
FORWARDED(hipStreamSynchronize, (handle stream), cuStreamSynchronize, stream)
FORWARDED(hipStreamWaitEvent, (handle stream, handle event, unsigned flags), cuStreamWaitEvent, stream, event, flags)
FORWARDED(hipStreamIsCapturing, (handle stream, int* status), cuStreamIsCapturing, stream, status)
FORWARDED(hipStreamBeginCapture, (handle stream, int mode), cuStreamBeginCapture_v2, stream, mode)
FORWARDED(hipStreamEndCapture, (handle stream, handle* graph), cuStreamEndCapture, stream, graph)
FORWARDED(hipGraphInstantiateWithFlags, (handle* executable, handle graph, u64 flags), cuGraphInstantiateWithFlags, executable, graph, flags)
FORWARDED(hipGraphLaunch, (handle executable, handle stream), cuGraphLaunch, executable, stream)
FORWARDED(hipGraphExecDestroy, (handle executable), cuGraphExecDestroy, executable)
FORWARDED(hipGraphDestroy, (handle graph), cuGraphDestroy, graph)
FORWARDED(hipEventCreateWithFlags, (handle* event, unsigned flags), cuEventCreate, event, flags)
FORWARDED(hipEventRecord, (handle event, handle stream), cuEventRecord, event, stream)
FORWARDED(hipEventQuery, (handle event), cuEventQuery, event)
FORWARDED(hipEventElapsedTime, (float* milliseconds, handle from, handle to), cuEventElapsedTime, milliseconds, from, to)
FORWARDED(hipEventDestroy, (handle event), cuEventDestroy_v2, event)

EXPORT const char* hipGetErrorName(int result) {
  switch (result) {
    case SUCCESS: return "hipSuccess";
    case INVALID_VALUE: return "hipErrorInvalidValue";
    case 2: return "hipErrorOutOfMemory";
    case 100: return "hipErrorNoDevice";
    case INVALID_DEVICE: return "hipErrorInvalidDevice";
    case 201: return "hipErrorInvalidContext";
    case 400: return "hipErrorInvalidHandle";
    case 500: return "hipErrorNotFound";
    case 600: return "hipErrorNotReady";
    case 700: return "hipErrorIllegalAddress";
    case 704: return "hipErrorPeerAccessAlreadyEnabled";
    case 719: return "hipErrorLaunchFailure";
    default: return "hipErrorUnknown";
  }
}
EXPORT const char* hipGetErrorString(int result) {
  const char* text = nullptr;
  return CALL(cuGetErrorString, result, &text) == 0 && text ? text : "unknown error";
}
