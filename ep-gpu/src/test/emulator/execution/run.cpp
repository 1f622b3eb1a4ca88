// Runs a kernel: its blocks in turns, and what it does wrong as the error of the launch.
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <mutex>

#include "block.h"

namespace execution {
thread_local Execution* running;

Execution::Execution() {
  char* region = (char*)mmap(nullptr, DYNAMIC_SHARED + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(region + DYNAMIC_SHARED, PAGE, PROT_NONE);
  dynamic_end = region + DYNAMIC_SHARED;
  stack_t own = {};
  sigaltstack(nullptr, &own);
  if (own.ss_flags & SS_DISABLE) {
    own = {};
    own.ss_size = 64 * 1024;
    own.ss_sp = mmap(nullptr, own.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaltstack(&own, nullptr);
  }
  if (const char* seed = getenv("EMULATED_CUDA_SHUFFLE")) {
    shuffles = true;
    static unsigned long long many = 0;
    random.seed(strtoull(seed, nullptr, 0) * 1000003 + __atomic_fetch_add(&many, 1, __ATOMIC_RELAXED));
  }
}
Execution::~Execution() {
  munmap(dynamic_end - DYNAMIC_SHARED, DYNAMIC_SHARED + PAGE);
  for (auto& fiber : pool) free_stack(*fiber);
  for (Block& block : resting) {
    for (auto& fiber : block.pool) free_stack(*fiber);
  }
}

namespace {
struct sigaction previous[NSIG];

void on_signal(int number, siginfo_t* info, void* context) {
  Execution* here = running;
  if (here && here->current) {
    here->fault_address = number == SIGFPE ? nullptr : info->si_addr;
    siglongjmp(here->landing, number);
  }
  struct sigaction& old = previous[number];
  if (old.sa_flags & SA_SIGINFO) {
    old.sa_sigaction(number, info, context);
  } else if (old.sa_handler == SIG_DFL || old.sa_handler == SIG_IGN) {
    sigaction(number, &old, nullptr);
  } else {
    old.sa_handler(number);
  }
}

void take_signals() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (int number : {SIGSEGV, SIGBUS, SIGFPE}) {
      struct sigaction own = {};
      own.sa_sigaction = on_signal;
      own.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
      sigaction(number, &own, &previous[number]);
    }
  });
}

struct SharedSearch {
  const void* inside;
  char* data;
  size_t bytes;
};

// The shared variables of the module that holds an address: what it keeps for this system thread.
int find_shared(dl_phdr_info* info, size_t, void* search) {
  auto* wanted = (SharedSearch*)search;
  bool here = false;
  size_t bytes = 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    const char* begin = (const char*)info->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && (const char*)wanted->inside >= begin && (const char*)wanted->inside < begin + part.p_memsz) here = true;
    if (part.p_type == PT_TLS) bytes = part.p_memsz;
  }
  if (!here) return 0;
  wanted->data = (char*)info->dlpi_tls_data;
  wanted->bytes = bytes;
  return 1;
}

Execution& mine() {
  static thread_local Execution execution;
  return execution;
}

namespace calls {
const emulated::Lanes* meet(int collective, u64 value, const char* file, int line) { return running->meet(collective, value, file, line); }
void sync_block(const char* file, int line) { running->sync_block(file, line); }
void pause() {
  running->current->spins = true;
  running->yield();
}
void touch(const void* p, u64 bytes, const char* what) { running->touch(p, bytes, what); }
void publish_flag(const void* p, const char* what) { running->publish_flag(p, what); }
void publish_arrivals(const void* p, const char* what) { running->publish_arrivals(p, what); }
void fail(const char* text) { running->fail(719, text); }
u64 nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ull + now.tv_nsec + running->passed;
}
void barrier_init(u64* b, unsigned count) { running->barrier_init(b, count); }
void barrier_expect(u64* b, unsigned bytes) { running->barrier_expect(b, bytes); }
void barrier_wait(u64* b, unsigned parity) { running->barrier_wait(b, parity); }
void bulk_load(void* to, const void* from, unsigned bytes, u64* b) { running->bulk_load(to, from, bytes, b); }
void bulk_store(void* to, const void* from, unsigned bytes) { running->bulk_store(to, from, bytes); }
void bulk_commit() { running->bulk_commit(); }
void bulk_wait_read() { running->bulk_wait_read(); }
void bulk_wait() { running->bulk_wait(); }
}  // namespace calls
}  // namespace

int Execution::run(const Launch& what) {
  launch = what;
  passed = time_passed();
  lanes = what.module->lanes;
  static const emulated::Runtime runtime = {calls::meet, calls::sync_block, calls::pause, calls::touch, calls::publish_flag, calls::publish_arrivals, calls::fail, calls::nanoseconds,
                                            calls::barrier_init, calls::barrier_expect, calls::barrier_wait, calls::bulk_load, calls::bulk_store,
                                            calls::bulk_commit, calls::bulk_wait_read, calls::bulk_wait};
  what.module->bind(&runtime);
  slot = what.module->current();
  *slot = nullptr;  // makes the variables of this thread exist
  SharedSearch search{(const void*)what.module, nullptr, 0};
  dl_iterate_phdr(find_shared, &search);
  shared = search.data;
  shared_size = search.bytes;
  failure.clear();
  result = 0;
  current = nullptr;
  running = this;
  take_signals();
  int number = sigsetjmp(landing, 1);
  if (number != 0) {
    char text[400];
    if (number == SIGFPE) {
      snprintf(text, sizeof text, "a division by zero");
    } else {
      snprintf(text, sizeof text, "an access at %p, %s", fault_address, describe_address(fault_address).c_str());
    }
    Fiber* f = current;
    std::string at = fault_address >= f->stack - PAGE && fault_address < f->stack ? std::string("its stack overflows") : std::string(text);
    failure = where(*f) + ": " + at;
    result = 700;
    current = nullptr;
  } else {
    u64 blocks = (u64)launch.grid.x * launch.grid.y * launch.grid.z;
    std::vector<emulated::Index> order;
    for (u64 i = 0; i < blocks; i++) {
      order.push_back({(unsigned)(i % launch.grid.x), (unsigned)(i / launch.grid.x % launch.grid.y), (unsigned)(i / launch.grid.x / launch.grid.y)});
    }
    if (shuffles) std::shuffle(order.begin(), order.end(), random);
    run_blocks(order);
  }
  running = nullptr;
  if (!failure.empty()) {
    fprintf(stderr, "emulated CUDA: kernel %s on device %d, %s\n", launch.name.c_str(), launch.device, failure.c_str());
    fflush(stderr);
    if (getenv("EMULATED_CUDA_ABORT")) abort();
  }
  return result;
}
}  // namespace execution

using namespace execution;

int run_kernel(const Launch& launch) { return mine().run(launch); }
