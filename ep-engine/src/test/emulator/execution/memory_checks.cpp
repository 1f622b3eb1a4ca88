// Whether addresses are what a kernel may use.
#include <stdio.h>

#include "block.h"

namespace execution {
bool Execution::in_shared(const void* p, u64 bytes) {
  const char* c = (const char*)p;
  return (c >= shared && c + bytes <= shared + shared_size) || (c >= dynamic && c + bytes <= dynamic + launch.dynamic_shared);
}

void Execution::check_global(const void* p, u64 bytes, u64 alignment, const char* what) {
  char text[400];
  if ((u64)p % alignment != 0) {
    snprintf(text, sizeof text, "%s of %llu bytes at %p, which is no multiple of %llu", what, bytes, p, alignment);
    fail(716, text);
  }
  if (!reachable(launch.device, p, bytes)) {
    std::string found = in_shared(p, bytes) ? "which is shared memory" : describe_address(p);
    snprintf(text, sizeof text, "%s of %llu bytes at %p, %s", what, bytes, p, found.c_str());
    fail(700, text);
  }
}

void Execution::check_shared(const void* p, u64 bytes, u64 alignment, const char* what) {
  char text[300];
  if ((u64)p % alignment != 0) {
    snprintf(text, sizeof text, "%s at %p in shared memory, which is no multiple of %llu", what, p, alignment);
    fail(716, text);
  }
  if (!in_shared(p, bytes)) {
    snprintf(text, sizeof text, "%s of %llu bytes at %p, which is not in the block's shared memory (%u bytes dynamic, %zu static)", what, bytes, p, launch.dynamic_shared, shared_size);
    fail(700, text);
  }
}

void Execution::check_bulk(unsigned bytes, const char* what) {
  if (bytes % 16 != 0 || bytes == 0) fail(700, std::string(what) + " of " + std::to_string(bytes) + " bytes, which is no multiple of 16 above 0");
}

// A flag covers the copies of its own thread only, since it may belong to one message; a ticket covers all copies that the block issued before its
// last sync_block.
void Execution::publish(const void* p, bool ticket, const char* what) {
  for (int i = 0; i < threads; i++) {
    const Fiber& f = ticket ? *pool[i] : *current;
    for (const Copy& copy : f.stores) {
      if (&f != current && copy.block_syncs == block_syncs) continue;
      char text[400];
      snprintf(text, sizeof text, "%s at %p publishes while a bulk_store of %u bytes to %p by %s is in flight: bulk_wait is missing before it", what, p, copy.bytes, (void*)copy.to, where(f).c_str());
      fail(719, text);
    }
    if (!ticket) return;
  }
}

void Execution::touch(const void* p, u64 bytes, const char* what) {
  if (chance(16)) {
    current->spins = true;
    yield();
  }
  current->spins = false;
  check_global(p, bytes, bytes, what);
}
}  // namespace execution
