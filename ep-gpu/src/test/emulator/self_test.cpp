// Runs a kernel of self_test.cu, with BYTES of dynamic shared memory; prints what the kernel left, and the emulator what it found.
// Usage: self-test KERNELS NAME MISTAKE [BYTES], or self-test KERNELS freed ACCESS: by a kernel (0), a copy there (1) or from there (2), a copy of memory that
// the driver does not know (3), or a fill (4), to memory that another process has freed; or self-test KERNELS destroyed 0: a stream is destroyed, and its
// context ended, before a free in the stream's order.
#include <unistd.h>

#include <atomic>
#include <thread>

#include "harness.h"

struct Op {
  unsigned long long* out;
  char* from;
  char* to;
  int mistake;
};

namespace {
// Exports memory, and frees it when it is asked.
void other_process(int in, int out) {
  emulated::Gpu gpu(0);
  char* memory = gpu.allocate(4096);
  EmulatedIpcHandle handle;
  emulated::check(cuIpcGetMemHandle(&handle, memory), "cuIpcGetMemHandle");
  char word = 0;
  if (write(out, &handle, sizeof handle) != sizeof handle || read(in, &word, 1) != 1) exit(1);
  emulated::check(cuMemFree_v2(memory), "cuMemFree");
  if (write(out, &word, 1) != 1) exit(1);
}

// Lets the other process free its memory, once something that uses it is queued behind.
struct Freeing {
  int there, back;
  std::atomic<bool> queued{false};

  void run() {
    while (!queued) std::this_thread::yield();
    char word = 1;
    if (write(there, &word, 1) != 1 || read(back, &word, 1) != 1) exit(1);
  }
};

int freed_by_other(const char* kernels, int access) {
  int there[2], back[2];
  if (pipe(there) != 0 || pipe(back) != 0) return 1;
  if (fork() == 0) {
    close(there[1]);
    close(back[0]);
    other_process(there[0], back[1]);
    exit(0);
  }
  close(there[0]);
  close(back[1]);
  EmulatedIpcHandle handle;
  if (read(back[0], &handle, sizeof handle) != sizeof handle) return 1;
  emulated::Gpu gpu(0);
  char* memory;
  emulated::check(cuIpcOpenMemHandle_v2(&memory, handle, 1), "cuIpcOpenMemHandle");
  auto module = gpu.load({kernels});
  Op op{gpu.allocate<unsigned long long>(4), memory, memory, 12};
  char* own = gpu.allocate(4096);
  static char pageable[4096];
  auto use = [&] {
    switch (access) {
      case 0: module.launch("threads", 1, 128, 0, op); break;
      case 1: emulated::check(cuMemcpyAsync(memory, own, 4096, nullptr), "cuMemcpyAsync"); break;
      case 2: emulated::check(cuMemcpyAsync(own, memory, 4096, nullptr), "cuMemcpyAsync"); break;
      case 3: emulated::check(cuMemcpyAsync(memory, pageable, 4096, nullptr), "cuMemcpyAsync"); break;
      default: emulated::check(cuMemsetD8Async(memory, 7, 4096, nullptr), "cuMemsetD8Async");
    }
  };
  use();
  gpu.synchronize();
  printf("used\n");
  fflush(stdout);
  Freeing freeing{there[1], back[0]};
  emulated::check(cuLaunchHostFunc(nullptr, [](void* it) { ((Freeing*)it)->run(); }, &freeing), "cuLaunchHostFunc");
  use();
  freeing.queued = true;
  gpu.synchronize();
  return 0;
}

int freed_in_a_destroyed_stream() {
  emulated::Gpu gpu(0);
  void* stream;
  char* memory;
  emulated::check(cuStreamCreate(&stream, 1), "cuStreamCreate");
  emulated::check(cuMemAllocAsync(&memory, 64, stream), "cuMemAllocAsync");
  emulated::check(cuLaunchHostFunc(stream, [](void*) { usleep(100000); }, nullptr), "cuLaunchHostFunc");
  emulated::check(cuMemFreeAsync(memory, stream), "cuMemFreeAsync");
  emulated::check(cuStreamDestroy_v2(stream), "cuStreamDestroy");
  emulated::check(cuDevicePrimaryCtxRelease_v2(0), "cuDevicePrimaryCtxRelease");
  emulated::Gpu again(0);
  usleep(200000);
  again.allocate(64);
  printf("allocated\n");
  return 0;
}
}  // namespace

int main(int count, char** arguments) {
  if (strcmp(arguments[2], "freed") == 0) return freed_by_other(arguments[1], atoi(arguments[3]));
  if (strcmp(arguments[2], "destroyed") == 0) return freed_in_a_destroyed_stream();
  emulated::Gpu gpu(0);
  auto kernels = gpu.load({arguments[1]});
  Op op{gpu.allocate<unsigned long long>(4), gpu.allocate(4096), gpu.allocate(4096), atoi(arguments[3])};
  for (int i = 0; i < 1024; i++) ((int*)op.from)[i] = i;
  bool copies = strcmp(arguments[2], "copies") == 0;
  kernels.launch(arguments[2], copies ? 1 : 4, copies ? 64 : 128, count > 4 ? atoi(arguments[4]) : copies ? 1024 : 0, op);
  gpu.synchronize();
  printf("out %llu to %d\n", op.out[0], ((int*)op.to)[5]);
}
