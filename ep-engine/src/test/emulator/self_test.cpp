// Runs a kernel of self_test.cu, with BYTES of dynamic shared memory; prints what the kernel left, and the emulator what it found.
// Usage: self-test KERNELS NAME MISTAKE [BYTES], or self-test KERNELS freed: the kernel writes into memory that another process has freed.
#include <unistd.h>

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

int freed_by_other(const char* kernels) {
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
  module.launch("threads", 1, 128, 0, op);
  gpu.synchronize();
  printf("written\n");
  fflush(stdout);
  char word = 1;
  if (write(there[1], &word, 1) != 1 || read(back[0], &word, 1) != 1) return 1;
  module.launch("threads", 1, 128, 0, op);
  gpu.synchronize();
  return 0;
}
}  // namespace

int main(int count, char** arguments) {
  if (strcmp(arguments[2], "freed") == 0) return freed_by_other(arguments[1]);
  emulated::Gpu gpu(0);
  auto kernels = gpu.load({arguments[1]});
  Op op{gpu.allocate<unsigned long long>(4), gpu.allocate(4096), gpu.allocate(4096), atoi(arguments[3])};
  for (int i = 0; i < 1024; i++) ((int*)op.from)[i] = i;
  bool copies = strcmp(arguments[2], "copies") == 0;
  kernels.launch(arguments[2], copies ? 1 : 4, copies ? 64 : 128, count > 4 ? atoi(arguments[4]) : copies ? 1024 : 0, op);
  gpu.synchronize();
  printf("out %llu to %d\n", op.out[0], ((int*)op.to)[5]);
}
