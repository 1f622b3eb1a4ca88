// The proxy threads of org.ep4j.engine.proxy once more, in C++, to compare with: same rings, same work for each command, same
// rest without work. Built by ci/fifo with g++ -O3, or by hand; called by org.ep4j.cli.fifo.NativeCalls.
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <time.h>
#include <immintrin.h>

namespace {
constexpr uint64_t BATCH = 32;
constexpr int PING_COUNTER = 63;
constexpr uint64_t FORM = 7ull << 60 | 0xffull << 36;  // kind, and bits that nobody sets
constexpr int SUM_STRIDE = 16;  // words between the sums of two rings: cache lines of their own

struct Ring {
  uint64_t* tail;
  uint64_t* commands;
  uint64_t taken;
  uint64_t sum;
  uint64_t wrong;  // commands that are none
  int index;
};

struct Group;
struct Thread {
  Group* group;
  pthread_t id;
  Ring* rings;
  int count;
  int index;
};

struct Group {
  uint64_t capacity;
  int shift;
  uint64_t* sums;
  uint64_t* answer;
  bool stop;
  uint64_t restarts;  // begun anew where it is another one than before
  Thread* threads;
  int count;
};

// What is done with commands; called through a pointer, as the sink of a backend is.
struct Sink {
  virtual void write(Ring& ring, int peer, uint64_t target, uint64_t source, uint64_t bytes) = 0;
  virtual void advance(Ring& ring, int peer, int counter, uint64_t value) = 0;
  virtual bool poll(int thread) = 0;  // looks for arrivals, of which there are none here
  virtual ~Sink() {}
};

struct Summing final : Sink {
  uint64_t* answer;
  void write(Ring& ring, int peer, uint64_t target, uint64_t source, uint64_t bytes) override { ring.sum += target + 3 * source + 5 * bytes + 7ull * peer; }
  bool poll(int) override { return false; }
  void advance(Ring& ring, int peer, int counter, uint64_t value) override {
    if (counter == PING_COUNTER) {
      __atomic_store_n(answer, value, __ATOMIC_RELEASE);
    } else {
      ring.sum += 11 * value + 13ull * counter + 17ull * peer;
    }
  }
};

uint64_t take(Group& group, Ring& ring, Sink& sink) {
  uint64_t index = ring.taken;
  const uint64_t end = index + BATCH;
  while (index < end) {
    const uint64_t* at = ring.commands + 2 * (index & (group.capacity - 1));
    const uint64_t word1 = __atomic_load_n(at + 1, __ATOMIC_ACQUIRE);
    if (word1 >> 63 != (~(index >> group.shift) & 1)) break;
    const uint64_t word0 = at[0];
    const int peer = (int)(word1 >> 44 & 0xffff);
    const uint64_t low = word1 & ((1ull << 36) - 1);
    switch (word1 & FORM) {
      case 1ull << 60: sink.write(ring, peer, word0 >> 28 << 4, low << 4, (word0 & ((1ull << 28) - 1)) << 4); break;
      case 2ull << 60: sink.advance(ring, peer, low > INT32_MAX ? INT32_MAX : (int)low, word0); break;
      default: ring.wrong++;
    }
    index++;
  }
  const uint64_t count = index - ring.taken;
  if (count != 0) {
    ring.taken = index;
    __atomic_store_n(ring.tail, index, __ATOMIC_RELEASE);
  }
  return count;
}

uint64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ull + now.tv_nsec;
}

// Spins, and after 50 us lets others run.
struct Rest {
  unsigned turns = 0;
  uint64_t since = 0;

  void work() { turns = 0; }
  void idle() {
    if (++turns & 63) {
      _mm_pause();
      return;
    }
    const uint64_t now = nanoseconds();
    if (turns == 64) since = now;
    turns = 64;
    if (now - since >= 50000) sched_yield();
  }
};

void* run(void* argument) {
  Thread& thread = *(Thread*)argument;
  Group& group = *thread.group;
  Summing* summing = new Summing;
  summing->answer = group.answer;
  Sink& sink = *summing;
  Rest rest;
  uint64_t restarts = 0;
  while (!__atomic_load_n(&group.stop, __ATOMIC_ACQUIRE)) {
    if (__atomic_load_n(&group.restarts, __ATOMIC_ACQUIRE) != restarts) {
      restarts = group.restarts;
      for (int i = 0; i < thread.count; i++) thread.rings[i].taken = 0;
    }
    uint64_t taken = 0;
    for (int i = 0; i < thread.count; i++) taken += take(group, thread.rings[i], sink);
    const bool arrived = sink.poll(thread.index);
    if (!arrived && taken == 0) {
      rest.idle();
    } else {
      rest.work();
    }
  }
  // A wrong sum is reported as one.
  for (int i = 0; i < thread.count; i++) group.sums[thread.rings[i].index * SUM_STRIDE] = thread.rings[i].wrong == 0 ? thread.rings[i].sum : ~thread.rings[i].sum;
  delete summing;
  return nullptr;
}
}  // namespace

// Functions of a class of Java; the first two arguments are not used.
extern "C" {
// "table" holds the address of each ring.
int64_t Java_org_ep4j_cli_fifo_NativeCalls_start(void*, void*, int64_t table, int32_t rings, int32_t commands, int32_t threads, int64_t sums, int64_t answer) {
  Group* group = new Group{(uint64_t)commands, __builtin_ctz((unsigned)commands), (uint64_t*)sums, (uint64_t*)answer, false, 0, new Thread[threads], threads};
  for (int t = 0; t < threads; t++) {
    Thread& thread = group->threads[t];
    thread.group = group;
    thread.rings = new Ring[rings];
    thread.count = 0;
    thread.index = t;
    for (int r = t; r < rings; r += threads) {
      char* const at = (char*)((uint64_t*)table)[r];
      thread.rings[thread.count++] = Ring{(uint64_t*)at, (uint64_t*)(at + 128), 0, 0, 0, r};
    }
    if (pthread_create(&thread.id, nullptr, run, &thread) != 0) __builtin_trap();
  }
  return (int64_t)group;
}

void Java_org_ep4j_cli_fifo_NativeCalls_stop(void*, void*, int64_t handle) {
  Group* group = (Group*)handle;
  __atomic_store_n(&group->stop, true, __ATOMIC_RELEASE);
  for (int t = 0; t < group->count; t++) {
    pthread_join(group->threads[t].id, nullptr);
    delete[] group->threads[t].rings;
  }
  delete[] group->threads;
  delete group;
}
}
