// Runs a kernel of self_test.cu, with BYTES of dynamic shared memory. Usage: self-test KERNELS NAME MISTAKE [BYTES]; prints what the kernel
// left, and the emulator what it found.
#include "harness.h"

struct Op {
  unsigned long long* out;
  char* from;
  char* to;
  int mistake;
};

int main(int count, char** arguments) {
  emulated::Gpu gpu(0);
  auto kernels = gpu.load({arguments[1]});
  Op op{gpu.allocate<unsigned long long>(4), gpu.allocate(4096), gpu.allocate(4096), atoi(arguments[3])};
  for (int i = 0; i < 1024; i++) ((int*)op.from)[i] = i;
  bool copies = strcmp(arguments[2], "copies") == 0;
  kernels.launch(arguments[2], copies ? 1 : 4, copies ? 64 : 128, count > 4 ? atoi(arguments[4]) : copies ? 1024 : 0, op);
  gpu.synchronize();
  printf("out %llu to %d\n", op.out[0], ((int*)op.to)[5]);
}
