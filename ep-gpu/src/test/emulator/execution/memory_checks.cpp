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

// Looks at the copies of this thread alone: its flag may belong to one message.
void Execution::publish_flag(const void* p, const char* what) {
  if (!current->stores.empty()) fail_unfinished(p, what, *current, current->stores.front());
}

void Execution::publish_arrivals(const void* p, const char* what) {
  publish_flag(p, what);
  for (int i = 0; i < threads; i++) {
    for (const Copy& copy : pool[i]->stores) {
      if (copy.block_syncs != block_syncs) fail_unfinished(p, what, *pool[i], copy);
    }
  }
}

void Execution::fail_unfinished(const void* p, const char* what, const Fiber& by, const Copy& copy) {
  char text[400];
  snprintf(text, sizeof text, "%s publishes while a bulk_store of %u bytes to %p by %s is in flight: bulk_wait is missing before what it publishes at %p", what, copy.bytes, (void*)copy.to, where(by).c_str(), p);
  fail(719, text);
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
