// Between compiled kernels and the emulator that runs them. Put before every source by the emulated compiler; needs no header.
#ifndef EMULATED_KERNEL_H
#define EMULATED_KERNEL_H
namespace emulated {
using u64 = unsigned long long;

struct Index {
  unsigned x, y, z;
};

// What a thread of a kernel knows of itself.
struct Thread {
  Index index;
  Index block;
  Index block_size;
  Index grid;
  int lane;
  int warp;
  char* dynamic_shared;
};

enum Collective { BALLOT, SHUFFLE, SHUFFLE_UP, SHUFFLE_XOR, SAME, SYNC_LANES, SYNC_BLOCK, COLLECTIVES };

// What the lanes of a warp brought to a collective operation.
struct Lanes {
  u64 value[64];
  u64 present;  // lanes that have not ended
};

struct Runtime {
  // All lanes of a warp come here, at the same place of the source.
  const Lanes* (*meet)(int collective, u64 value, const char* file, int line);
  void (*sync_block)(const char* file, int line);
  void (*pause)();
  // An access to global memory, of this GPU, a peer or the host; others may run before it.
  void (*touch)(const void* address, u64 bytes, const char* what);
  // A store of a flag that others wait for: the copies of the thread must have ended.
  void (*publish_flag)(const void* address, const char* what);
  // An advance of a counter that others wait for: the copies that the block issued before its last sync_block must have ended, too.
  void (*publish_arrivals)(const void* address, const char* what);
  void (*fail)(const char* message);
  u64 (*nanoseconds)();
  void (*barrier_init)(u64* barrier, unsigned count);
  void (*barrier_expect)(u64* barrier, unsigned bytes);
  void (*barrier_wait)(u64* barrier, unsigned parity);
  void (*bulk_load)(void* to, const void* from, unsigned bytes, u64* barrier);
  void (*bulk_store)(void* to, const void* from, unsigned bytes);
  void (*bulk_commit)();
  void (*bulk_wait_read)();
  void (*bulk_wait)();
};

// A kernel "name" is the symbol emulated_kernel_name.
struct Kernel {
  void (*run)(const void* arguments);
  unsigned max_threads;
  u64 argument_bytes;
};

// The symbol emulated_module.
struct Module {
  void (*bind)(const Runtime* runtime);
  Thread** (*current)();  // where this system thread keeps the thread that runs; beside the shared variables
  int lanes;
};
}  // namespace emulated
#endif
