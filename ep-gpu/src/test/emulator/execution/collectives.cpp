// Operations of all lanes of a warp or all threads of a block.
#include <string.h>

#include "block.h"

namespace execution {
namespace {
const char* const NAMES[] = {"ballot", "shuffle", "shuffle_up", "shuffle_xor", "same", "sync_lanes", "sync_block"};
}  // namespace

void Execution::leave_lanes(Warp& warp, int index) {
  warp.arrived = 0;
  warp.generation++;
  for (int i = index * lanes; i < threads && i < (index + 1) * lanes; i++) {
    if (pool[i]->state == WAITS_FOR_LANES) pool[i]->state = READY;
  }
}

const emulated::Lanes* Execution::meet(int collective, u64 value, const char* file, int line) {
  Fiber& f = *current;
  Warp& warp = warps[f.warp];
  u64 generation = warp.generation;
  emulated::Lanes& brought = warp.brought[generation & 1];
  f.collective = collective;
  f.file = file;
  f.line = line;
  f.spins = false;
  if (warp.arrived == 0) {
    brought.present = 0;
    warp.first = f.warp * lanes + f.lane;
  } else {
    Fiber& first = *pool[warp.first];
    if (first.collective != collective || first.line != line || strcmp(first.file, file) != 0) {
      fail(719, "the lanes of a warp are at different collective operations: lane " + std::to_string(f.lane) + " at " + place(f) + ", lane " +
                    std::to_string(first.lane) + " at " + place(first));
    }
  }
  brought.value[f.lane] = value;
  brought.present |= 1ull << f.lane;
  if (++warp.arrived == warp.live) {
    leave_lanes(warp, f.warp);
  } else {
    f.state = WAITS_FOR_LANES;
    yield();
  }
  return &brought;
}

std::string Execution::place(const Fiber& f) { return std::string(NAMES[f.collective]) + " in " + f.file + ":" + std::to_string(f.line); }

void Execution::sync_block(const char* file, int line) {
  Fiber& f = *current;
  f.collective = emulated::SYNC_BLOCK;
  f.file = file;
  f.line = line;
  f.spins = false;
  f.state = WAITS_FOR_BLOCK;
  at_block++;
  release_block();
  if (f.state != READY) yield();
}

void Execution::release_block() {
  if (at_block == 0 || at_block < live) return;
  const Fiber* first = nullptr;
  for (int i = 0; i < threads; i++) {
    Fiber& f = *pool[i];
    if (f.state != WAITS_FOR_BLOCK) continue;
    if (!first) first = &f;
    if (f.line != first->line || strcmp(f.file, first->file) != 0) {
      fail(719, "the threads of a block are at different barriers: " + where(f) + " at " + place(f) + ", " + where(*first) + " at " + place(*first));
      return;
    }
  }
  at_block = 0;
  block_syncs++;
  for (int i = 0; i < threads; i++) {
    if (pool[i]->state == WAITS_FOR_BLOCK) pool[i]->state = READY;
  }
}
}  // namespace execution
