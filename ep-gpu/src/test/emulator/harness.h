// For tests in plain C++: compiles kernels with the emulated compiler and runs them on emulated devices.
//
//   #include "constants.h"            // lines of #define, as KernelSource gives
//   #include "harness.h"
//   namespace ep {
//   #include "emulated.cu"
//   #include ".../op.cu"              // for Op, State and the layout
//   }
//   int main() {
//     emulated::Gpu gpu(0);
//     auto module = gpu.load({"constants.h", ".../op.cu", ".../ht_dispatch.cu"});
//     module.launch("ht_dispatch_send", blocks, threads, shared_bytes, op);   // on the legacy stream; returns at once
//     gpu.synchronize();
//   }
//
// Ranks are std::threads, each with a Gpu of its own. Link with libcuda.so.1 and libnvrtc.so.13 of the emulator.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "kernel.h"

extern "C" {
int cuInit(unsigned);
int cuGetErrorName(int, const char**);
int cuDevicePrimaryCtxRetain(void**, int);
int cuDevicePrimaryCtxRelease_v2(int);
int cuCtxSetCurrent(void*);
int cuCtxEnablePeerAccess(void*, unsigned);
int cuCtxSynchronize();
int cuMemAlloc_v2(char**, unsigned long long);
int cuMemFree_v2(char*);
int cuMemAllocAsync(char**, unsigned long long, void*);
int cuMemFreeAsync(char*, void*);
int cuStreamCreate(void**, unsigned);
int cuStreamDestroy_v2(void*);
struct EmulatedIpcHandle { char bytes[64]; };
int cuIpcGetMemHandle(EmulatedIpcHandle*, char*);
int cuIpcOpenMemHandle_v2(char**, EmulatedIpcHandle, unsigned);
int cuMemHostAlloc(char**, unsigned long long, unsigned);
int cuMemsetD8_v2(void*, unsigned char, unsigned long long);
int cuMemsetD8Async(void*, unsigned char, unsigned long long, void*);
int cuMemcpyAsync(void*, const void*, unsigned long long, void*);
int cuLaunchHostFunc(void*, void (*)(void*), void*);
int cuMemcpyHtoD_v2(void*, const void*, unsigned long long);
int cuMemcpyDtoH_v2(void*, const void*, unsigned long long);
int cuModuleLoadData(void**, const void*);
int cuModuleGetFunction(void**, void*, const char*);
int cuFuncSetAttribute(void*, int, int);
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
int nvrtcCreateProgram(void**, const char*, const char*, int, const char* const*, const char* const*);
int nvrtcCompileProgram(void*, int, const char* const*);
int nvrtcGetProgramLogSize(void*, size_t*);
int nvrtcGetProgramLog(void*, char*);
int nvrtcGetCUBINSize(void*, size_t*);
int nvrtcGetCUBIN(void*, char*);
int nvrtcDestroyProgram(void**);
}

namespace emulated {
inline void check(int result, const char* what) {
  if (result == 0) return;
  const char* name = "";
  cuGetErrorName(result, &name);
  fprintf(stderr, "%s failed: %s (%d)\n", what, name ? name : "?", result);
  exit(1);
}

// What KernelSource puts together: the dialect, then the parts.
inline std::string compose(const std::vector<std::string>& files) {
  std::string text = "namespace ep {\n#line 1 \"cuda.cu\"\n// end of the dialect\n";
  for (const std::string& file : files) {
    std::ifstream in(file);
    if (!in) {
      fprintf(stderr, "%s cannot be read\n", file.c_str());
      exit(1);
    }
    std::stringstream part;
    part << in.rdbuf();
    text += "#line 1 \"" + file + "\"\n" + part.str() + "\n";
  }
  return text + "}\n";
}

// Machine code of kernels; ends the program with the compiler's messages when they do not compile.
inline std::string compile(const std::vector<std::string>& files, const std::string& architecture = "sm_90") {
  void* program = nullptr;
  std::string source = compose(files), option = "-arch=" + architecture;
  const char* options[] = {option.c_str()};
  check(nvrtcCreateProgram(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
  if (nvrtcCompileProgram(program, 1, options) != 0) {
    size_t bytes;
    nvrtcGetProgramLogSize(program, &bytes);
    std::string log(bytes, 0);
    nvrtcGetProgramLog(program, log.data());
    fprintf(stderr, "%s\n", log.c_str());
    exit(1);
  }
  size_t bytes;
  nvrtcGetCUBINSize(program, &bytes);
  std::string code(bytes, 0);
  nvrtcGetCUBIN(program, code.data());
  nvrtcDestroyProgram(&program);
  return code;
}

struct KernelsOf {
  void* module;

  template <typename Op>
  int try_launch(const char* name, unsigned blocks, unsigned threads, unsigned shared, const Op& op, void* stream = nullptr) const {
    void* function;
    check(cuModuleGetFunction(&function, module, name), name);
    if (shared > 48 * 1024) check(cuFuncSetAttribute(function, 8, (int)shared), "cuFuncSetAttribute");
    void* parameters[] = {(void*)&op};
    return cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared, stream, parameters, nullptr);
  }

  template <typename Op>
  void launch(const char* name, unsigned blocks, unsigned threads, unsigned shared, const Op& op, void* stream = nullptr) const {
    check(try_launch(name, blocks, threads, shared, op, stream), name);
  }
};

// A device, made current for the calling thread.
struct Gpu {
  void* context;

  explicit Gpu(int ordinal) {
    check(cuInit(0), "cuInit");
    check(cuDevicePrimaryCtxRetain(&context, ordinal), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  }

  // Kernels of this device then reach memory of that one.
  void reach(int peer) const {
    void* other;
    check(cuDevicePrimaryCtxRetain(&other, peer), "cuDevicePrimaryCtxRetain");
    if (other != context) cuCtxEnablePeerAccess(other, 0);
  }

  KernelsOf load_code(const std::string& code) const {
    KernelsOf kernels;
    check(cuModuleLoadData(&kernels.module, code.data()), "cuModuleLoadData");
    return kernels;
  }
  KernelsOf load(const std::vector<std::string>& files) const { return load_code(compile(files)); }

  template <typename T = char>
  T* allocate(unsigned long long count) const {  // zeroed
    char* p;
    check(cuMemAlloc_v2(&p, count * sizeof(T)), "cuMemAlloc");
    check(cuMemsetD8_v2(p, 0, count * sizeof(T)), "cuMemset");
    synchronize();
    return (T*)p;
  }
  template <typename T = char>
  T* allocate_pinned(unsigned long long count) const {  // zeroed
    char* p;
    check(cuMemHostAlloc(&p, count * sizeof(T), 0), "cuMemHostAlloc");
    memset(p, 0, count * sizeof(T));
    return (T*)p;
  }
  // Device memory is memory of this process: it may also be read and written directly, after synchronize.
  void synchronize() const { check(cuCtxSynchronize(), "cuCtxSynchronize"); }
};
}  // namespace emulated
