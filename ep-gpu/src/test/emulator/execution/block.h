// The blocks of a kernel, which a system thread runs in turns.
#pragma once
#include <setjmp.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "execution.h"
#include "fiber.h"

namespace execution {
constexpr size_t DYNAMIC_SHARED = 256 * 1024;
constexpr unsigned char POISON = 0xa5;

struct Warp {
  int live, arrived;
  u64 generation;
  emulated::Lanes brought[2];
  int first;  // fiber that came first
};

struct Barrier {
  unsigned count, pending;
  long long bytes;
  unsigned parity;
  std::vector<Copy> loads;
};

// What is a block's own.
struct Block {
  emulated::Index block;
  std::vector<std::unique_ptr<Fiber>> pool;
  int threads = 0, live = 0, at_block = 0;
  u64 block_syncs = 0;  // that all threads have passed
  std::vector<Warp> warps;
  std::map<u64*, Barrier> barriers;
  // Of its shared memory, while another block has its turn.
  std::vector<char> kept_shared, kept_dynamic;
};

struct Execution : Block {
  Launch launch;
  int lanes;
  Context scheduler;
  Fiber* current = nullptr;
  emulated::Thread** slot = nullptr;
  std::vector<Block> resting;  // blocks that wait, and behind them blocks of earlier kernels for their stacks
  size_t waiting = 0;          // of them
  char* dynamic_end = nullptr;
  char *shared = nullptr, *dynamic = nullptr;
  size_t shared_size = 0;
  std::string failure;
  int result = 0;
  sigjmp_buf landing;
  void* fault_address = nullptr;
  std::mt19937_64 random;
  bool shuffles = false;
  int idle_rounds = 0;  // rounds of blocks since a thread did anything but pause
  u64 passed = 0;       // nanoseconds by which its clock is fast

  Execution();
  ~Execution();
  int run(const Launch& what);

  // ---- Blocks (blocks.cpp).
  Fiber& fiber(int i);
  void begin(emulated::Index block);
  void run_blocks(const std::vector<emulated::Index>& order);
  bool run_block(bool others);
  void let_others_run();
  static u64 time_passed();
  void look_at_time();
  void rest();
  void go_on();
  void finish();
  void resume(Fiber& f);
  void yield() { switch_context(&current->context, &scheduler); }
  static void entry();
  void end_thread();
  bool chance(unsigned of) { return shuffles && random() % of == 0; }
  // Failures end the block; its fibers are never resumed.
  __attribute__((noinline)) void fail(int code, const std::string& text);
  std::string deadlock();
  std::string where(const Fiber& f);

  // ---- Collective operations (collectives.cpp).
  const emulated::Lanes* meet(int collective, u64 value, const char* file, int line);
  void sync_block(const char* file, int line);
  void leave_lanes(Warp& warp, int index);
  void release_block();
  std::string place(const Fiber& f);

  // ---- Memory (memory_checks.cpp).
  void touch(const void* p, u64 bytes, const char* what);
  void publish_flag(const void* p, const char* what);
  void publish_arrivals(const void* p, const char* what);
  void fail_unfinished(const void* p, const char* what, const Fiber& by, const Copy& copy);
  bool in_shared(const void* p, u64 bytes);
  void check_global(const void* p, u64 bytes, u64 alignment, const char* what);
  void check_shared(const void* p, u64 bytes, u64 alignment, const char* what);
  void check_bulk(unsigned bytes, const char* what);

  // ---- Bulk copies, performed as late as is allowed, so that a missing wait shows (bulk_copies.cpp).
  void barrier_init(u64* b, unsigned count);
  void barrier_expect(u64* b, unsigned bytes);
  void barrier_wait(u64* b, unsigned parity);
  void bulk_load(void* to, const void* from, unsigned bytes, u64* b);
  void bulk_store(void* to, const void* from, unsigned bytes);
  void bulk_commit();
  void bulk_wait_read();
  void bulk_wait();
  Barrier& barrier(u64* b, const char* what);
  void advance(Barrier& barrier);
  void load_all(Barrier& barrier);
  void wake(u64* b);
};

extern thread_local Execution* running;
}  // namespace execution
