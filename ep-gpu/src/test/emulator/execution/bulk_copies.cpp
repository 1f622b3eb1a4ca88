// Copies between shared and global memory that run beside the threads, and the barriers that count their bytes.
#include <string.h>

#include "block.h"

namespace execution {
namespace {
void perform(const Copy& copy) { memcpy(copy.to, copy.from, copy.bytes); }

void read(Copy& copy) {
  if (!copy.read) copy.data.assign(copy.from, copy.from + copy.bytes);
  copy.read = true;
}
}  // namespace

Barrier& Execution::barrier(u64* b, const char* what) {
  check_shared(b, 8, 8, what);
  auto found = barriers.find(b);
  if (found == barriers.end()) fail(719, std::string(what) + " of a barrier that was not initialised");
  return found->second;
}

void Execution::barrier_init(u64* b, unsigned count) {
  check_shared(b, 8, 8, "barrier_init");
  barriers[b] = Barrier{count, count, 0, 0, {}};
}

void Execution::advance(Barrier& barrier) {
  if (barrier.pending == 0 && barrier.bytes == 0) {
    barrier.parity ^= 1;
    barrier.pending = barrier.count;
  }
}

void Execution::load_all(Barrier& barrier) {
  for (const Copy& copy : barrier.loads) {
    perform(copy);
    barrier.bytes -= copy.bytes;
  }
  barrier.loads.clear();
  advance(barrier);
}

void Execution::wake(u64* b) {
  for (int i = 0; i < threads; i++) {
    if (pool[i]->state == WAITS_FOR_BARRIER && pool[i]->barrier == b) pool[i]->state = READY;
  }
}

void Execution::barrier_expect(u64* b, unsigned bytes) {
  Barrier& at = barrier(b, "barrier_expect");
  if (at.pending == 0) fail(719, "barrier_expect: more threads arrive than barrier_init said (" + std::to_string(at.count) + ")");
  if (bytes >= 1u << 20) fail(719, "barrier_expect of " + std::to_string(bytes) + " bytes; the limit is 2^20 - 1");
  at.bytes += bytes;
  at.pending--;
  current->spins = false;
  // A copy that was issued before counts too; a phase that is complete ends even when no thread waits.
  if (at.pending == 0 && at.loads.empty()) advance(at);
  wake(b);
}

void Execution::barrier_wait(u64* b, unsigned parity) {
  current->spins = false;
  while (true) {
    Barrier& at = barrier(b, "barrier_wait");
    if (at.parity != (parity & 1)) return;
    load_all(at);
    if (at.parity != (parity & 1)) {
      wake(b);
      return;
    }
    current->barrier = b;
    current->parity = parity;
    current->state = WAITS_FOR_BARRIER;
    yield();
  }
}

void Execution::bulk_load(void* to, const void* from, unsigned bytes, u64* b) {
  Barrier& at = barrier(b, "bulk_load");
  check_bulk(bytes, "bulk_load");
  check_shared(to, bytes, 16, "bulk_load");
  check_global(from, bytes, 16, "bulk_load");
  current->spins = false;
  memset(to, POISON, bytes);
  Copy copy{(char*)to, (const char*)from, bytes, true, false, block_syncs, {}};
  if (chance(2)) {
    perform(copy);
    at.bytes -= bytes;
    advance(at);
  } else {
    at.loads.push_back(copy);
  }
  wake(b);
}

void Execution::bulk_store(void* to, const void* from, unsigned bytes) {
  check_bulk(bytes, "bulk_store");
  check_shared(from, bytes, 16, "bulk_store");
  check_global(to, bytes, 16, "bulk_store");
  current->spins = false;
  current->stores.push_back(Copy{(char*)to, (const char*)from, bytes, false, false, block_syncs, {}});
}

void Execution::bulk_commit() {
  for (Copy& copy : current->stores) copy.committed = true;
}

void Execution::bulk_wait_read() {
  for (Copy& copy : current->stores) {
    if (copy.committed) read(copy);
  }
}

void Execution::bulk_wait() {
  std::vector<Copy> left;
  for (Copy& copy : current->stores) {
    if (copy.committed) {
      read(copy);
      memcpy(copy.to, copy.data.data(), copy.bytes);
    } else {
      left.push_back(copy);
    }
  }
  current->stores.swap(left);
}
}  // namespace execution
