// A thread of a kernel: a stack of its own, switched to and away from by the system thread that runs the block.
#pragma once
#include <stddef.h>

#include <memory>
#include <vector>

#ifndef __x86_64__
#include <ucontext.h>
#endif

#include "kernel.h"

namespace execution {
using emulated::u64;

constexpr size_t STACK = 128 * 1024, PAGE = 4096;

#ifdef __x86_64__
typedef void* Context;
#else
typedef ucontext_t Context;
#endif
void start(Context* context, char* stack, void (*entry)());
void switch_context(Context* save, Context* load);

struct Copy {
  char* to;
  const char* from;
  unsigned bytes;
  bool committed;
  bool read;
  u64 block_syncs;  // of its block when it was issued
  std::vector<char> data;
};

enum State { READY, WAITS_FOR_LANES, WAITS_FOR_BLOCK, WAITS_FOR_BARRIER, ENDED };

struct Fiber : emulated::Thread {
  Context context;
  char* stack;
  State state;
  bool spins;  // did nothing but pause since it was last resumed
  const char* file;
  int line;
  int collective;
  u64* barrier;
  unsigned parity;
  std::vector<Copy> stores;
};

std::unique_ptr<Fiber> make_fiber();
void free_stack(const Fiber& fiber);
}  // namespace execution
