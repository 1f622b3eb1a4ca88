// Runs the blocks of a kernel, in turns, on the system thread that asks; each thread of a block is a fiber.
#pragma once
#include <string>

#include "kernel.h"

struct Launch {
  std::string name;
  const emulated::Kernel* kernel;
  emulated::Module* module;
  const void* arguments;
  emulated::Index grid;
  emulated::Index block;
  unsigned dynamic_shared;
  int device;
};

// CUDA's result: 0, 700 for a bad address, 719 for other failures, whose text is printed.
int run_kernel(const Launch& launch);

// From the driver: whether "device" may reach the bytes now.
bool reachable(int device, const void* address, unsigned long bytes);

// From the driver: whether another process has freed the memory at an address.
bool is_freed(const void* address);

// From the driver: what lies at or nearest below an address, in words.
std::string describe_address(const void* address);
