// Runs the threads of a block in turns, and finds what stops them. A block whose threads do nothing but wait makes room for another one.
#include <atomic>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <algorithm>

#include "block.h"

namespace execution {
Fiber& Execution::fiber(int i) {
  while ((int)pool.size() <= i) pool.push_back(make_fiber());
  return *pool[i];
}

std::string Execution::where(const Fiber& f) {
  char text[200];
  snprintf(text, sizeof text, "block (%u,%u,%u) thread %u", f.block.x, f.block.y, f.block.z,
           f.index.x + f.block_size.x * (f.index.y + f.block_size.y * f.index.z));
  return text;
}

void Execution::fail(int code, const std::string& text) {
  if (failure.empty()) {
    failure = (current ? where(*current) + ": " : "") + text;
    result = code;
  }
  if (current) {
    Fiber* f = current;
    switch_context(&f->context, &scheduler);
    __builtin_unreachable();
  }
}

void Execution::end_thread() {
  Fiber& f = *current;
  for (const Copy& copy : f.stores) {
    if (!copy.committed) fail(719, "ends with a bulk_store that has no bulk_commit");
    if (!copy.read) fail(719, "ends with a bulk_store that it has not waited for: bulk_wait or bulk_wait_read is missing");
  }
  f.state = ENDED;
  live--;
  Warp& warp = warps[f.warp];
  warp.live--;
  if (warp.live > 0 && warp.arrived == warp.live) leave_lanes(warp, f.warp);
  current = nullptr;
  release_block();
  switch_context(&f.context, &scheduler);
}

void Execution::entry() {
  Execution& here = *running;
  here.launch.kernel->run(here.launch.arguments);
  here.end_thread();
  abort();
}

void Execution::begin(emulated::Index which) {
  block = which;
  memset(shared, POISON, shared_size);
  dynamic = dynamic_end - (launch.dynamic_shared + 127) / 128 * 128;
  memset(dynamic, POISON, dynamic_end - dynamic);
  barriers.clear();
  threads = live = launch.block.x * launch.block.y * launch.block.z;
  at_block = 0;
  block_syncs = 0;
  int warp_count = (threads + lanes - 1) / lanes;
  warps.resize(warp_count);
  for (int w = 0; w < warp_count; w++) {
    warps[w].live = std::min(lanes, threads - w * lanes);
    warps[w].arrived = 0;
    warps[w].generation = 0;
  }
  for (int i = 0; i < threads; i++) {
    Fiber& f = fiber(i);
    f.index = {i % launch.block.x, i / launch.block.x % launch.block.y, i / launch.block.x / launch.block.y};
    f.block = block;
    f.block_size = launch.block;
    f.grid = launch.grid;
    f.lane = i % lanes;
    f.warp = i / lanes;
    f.dynamic_shared = dynamic;
    f.state = READY;
    f.stores.clear();
    start(&f.context, f.stack, entry);
  }
}

void Execution::resume(Fiber& f) {
  f.spins = false;
  current = &f;
  *slot = &f;
  switch_context(&scheduler, &f.context);
  current = nullptr;
}

std::string Execution::deadlock() {
  std::string text = "the block cannot go on; its threads wait:";
  std::map<std::string, std::vector<int>> places;
  for (int i = 0; i < threads; i++) {
    Fiber& f = *pool[i];
    if (f.state == ENDED) {
      places["have ended"].push_back(i);
    } else if (f.state == WAITS_FOR_BARRIER) {
      Barrier& at = barriers[f.barrier];
      places["at barrier_wait, parity " + std::to_string(f.parity) + ", " + std::to_string(at.pending) + " arrivals and " + std::to_string(at.bytes) + " bytes missing"].push_back(i);
    } else {
      places["at " + place(f)].push_back(i);
    }
  }
  for (auto& [what, ones] : places) {
    text += "\n    " + std::to_string(ones.size()) + " threads " + what + ":";
    for (size_t i = 0; i < ones.size(); i++) {
      size_t j = i;
      while (j + 1 < ones.size() && ones[j + 1] == ones[j] + 1) j++;
      text += " " + std::to_string(ones[i]) + (j > i ? "-" + std::to_string(ones[j]) : "");
      i = j;
    }
  }
  return text;
}

// Rounds in which a block only pauses, before others have their turn.
constexpr int PATIENCE = 64;

// False when all that its threads did for a while was to pause, and there are others.
bool Execution::run_block(bool others) {
  std::vector<int> order(threads);
  for (int i = 0; i < threads; i++) order[i] = i;
  int idle = 0;
  while (live > 0 && failure.empty()) {
    if (shuffles) std::shuffle(order.begin(), order.end(), random);
    bool resumed = false, spins = true;
    for (int i : order) {
      Fiber& f = *pool[i];
      if (f.state != READY) continue;
      resume(f);
      if (!failure.empty()) return true;
      resumed = true;
      spins &= f.spins;
    }
    if (!resumed) {
      current = nullptr;
      fail(719, "block (" + std::to_string(block.x) + "," + std::to_string(block.y) + "," + std::to_string(block.z) + "): " + deadlock());
    } else if (spins) {
      let_others_run();
      if (++idle >= PATIENCE && others) return false;
    } else {
      idle = idle_rounds = 0;
    }
  }
  return true;
}

// After a round in which all threads paused. What the kernel waits for comes from other system threads, of which there may be many more than processors:
// soon it sleeps, so that those get on that have something to do.
void Execution::let_others_run() {
  constexpr int AWAKE = 256;
  constexpr timespec A_WHILE = {0, 100000};
  idle_rounds++;
  // All blocks have had their turn: what they wait for is not of this kernel.
  if (idle_rounds > PATIENCE * ((int)waiting + 2)) look_at_time();
  if (idle_rounds <= AWAKE) {
    sched_yield();
  } else {
    nanosleep(&A_WHILE, nullptr);
  }
}

// The block waits until it is its turn again.
void Execution::rest() {
  kept_shared.assign(shared, shared + shared_size);
  kept_dynamic.assign(dynamic, dynamic_end);
  // In front of those that only have stacks, so that the first one has waited longest.
  Block next;
  if (resting.size() > waiting) {
    next = std::move(resting.back());
    resting.pop_back();
  }
  resting.insert(resting.begin() + waiting++, std::move((Block&)*this));
  (Block&)*this = std::move(next);
}

// The block that has waited longest, after one that has ended.
void Execution::go_on() {
  Block ended = std::move((Block&)*this);
  (Block&)*this = std::move(resting.front());
  resting.erase(resting.begin());
  waiting--;
  resting.push_back(std::move(ended));
  memcpy(shared, kept_shared.data(), shared_size);
  dynamic = dynamic_end - kept_dynamic.size();
  memcpy(dynamic, kept_dynamic.data(), kept_dynamic.size());
}

void Execution::finish() {
  for (auto& [address, at] : barriers) {
    if (!at.loads.empty()) fail(719, "block (" + std::to_string(block.x) + "): ends with a bulk_load that nobody waited for");
  }
  for (int i = 0; i < threads; i++) {
    for (const Copy& copy : pool[i]->stores) {
      if (is_freed(copy.to)) {
        fail(700, "block (" + std::to_string(block.x) + "): a bulk_store that it has not waited for, " + describe_address(copy.to));
      } else {
        memcpy(copy.to, copy.data.data(), copy.bytes);
      }
    }
  }
}

namespace {
std::atomic<unsigned> room{0};
std::atomic<u64> time{0}, looks{0};
}

u64 Execution::time_passed() { return time; }

void Execution::look_at_time() {
  const u64 now = time;
  if (passed == now) return;
  passed = now;
  looks++;
}

// Lets time pass on all GPUs. A kernel sees that once it waits for what others do, so its deadlines pass for nothing else.
extern "C" __attribute__((visibility("default"))) void emulatedPass(u64 nanoseconds) { time += nanoseconds; }

// How often a kernel that runs has seen that time has passed.
extern "C" __attribute__((visibility("default"))) u64 emulatedLooks() { return looks; }

// Blocks of a kernel that are on the GPU at once; 0: all.
extern "C" __attribute__((visibility("default"))) void emulatedRoom(unsigned blocks) { room = blocks; }

void Execution::run_blocks(const std::vector<emulated::Index>& order) {
  waiting = 0;
  size_t begun = 0, ended = 0;
  while (ended < order.size() && failure.empty()) {
    if (begun < order.size() && (room == 0 || begun - ended < room)) {
      begin(order[begun++]);
    } else {
      go_on();
    }
    if (run_block(begun < order.size() || waiting > 0)) {
      if (failure.empty()) finish();
      ended++;
    } else {
      rest();
    }
  }
}
}  // namespace execution
