// Copies and fills.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>

#include "driver.h"
#include "execution/execution.h"

using namespace driver;

namespace {
int zero_or_fill(void* to, int value, u64 bytes) {
  char* begin = (char*)(((u64)to + 4095) / 4096 * 4096);
  char* end = (char*)(((u64)to + bytes) / 4096 * 4096);
  if (value == 0 && in_zone(to) && bytes > 1 << 20 && madvise(begin, end - begin, MADV_REMOVE) == 0) {
    memset(to, 0, begin - (char*)to);
    memset(end, 0, (char*)to + bytes - end);
  } else {
    memset(to, value, bytes);
  }
  return SUCCESS;
}

// Memory that the driver knows must be whole; other memory is the caller's own.
bool valid_range(const void* p, u64 bytes) {
  std::shared_lock<std::shared_mutex> hold(memory_lock);
  const Memory* found = find_memory(p);
  return found ? (char*)p + bytes <= found->base + found->bytes && !driver::is_freed(*found) : !in_zone(p);
}

bool known(const void* p) {
  std::shared_lock<std::shared_mutex> hold(memory_lock);
  return find_memory(p) != nullptr;
}

// Also when it runs: another process may have freed its memory since the copy was queued.
int move(void* to, const void* from, u64 bytes) {
  for (const void* p : {(const void*)to, from}) {
    if (!::is_freed(p)) continue;
    fprintf(stderr, "emulated CUDA: a copy of %llu bytes at %p, %s\n", bytes, p, describe_address(p).c_str());
    return ILLEGAL_ADDRESS;
  }
  memmove(to, from, bytes);
  return SUCCESS;
}

int copy(void* to, const void* from, u64 bytes, void* stream, bool wait) {
  NEED_CONTEXT(device);
  if (bytes == 0) return SUCCESS;
  if (!valid_range(to, bytes) || !valid_range(from, bytes)) return INVALID_VALUE;
  if (wait) return submit_and_wait(device, [=] { return move(to, from, bytes); });
  if (!known(from)) {
    auto held = std::make_shared<std::vector<char>>((const char*)from, (const char*)from + bytes);
    return submit(device, stream, [=] { memcpy(to, held->data(), bytes); return 0; });
  }
  int result = submit(device, stream, [=] { return move(to, from, bytes); });
  if (result == SUCCESS && !known(to)) {
    std::unique_lock<std::mutex> hold(lock);
    Stream* on = resolve(device, stream);
    if (!on->capture) return wait_for(hold, device, on->last);
  }
  return result;
}

int fill(void* to, int value, u64 bytes, void* stream) {
  NEED_CONTEXT(device);
  if (bytes == 0) return SUCCESS;
  if (!known(to) || !valid_range(to, bytes)) return INVALID_VALUE;
  return submit(device, stream, [=] { return zero_or_fill(to, value, bytes); });
}

}  // namespace

EXPORT cuMemsetD8_v2(void* to, unsigned char value, u64 count) { return fill(to, value, count, nullptr); }
EXPORT cuMemsetD8Async(void* to, unsigned char value, u64 count, void* stream) { return fill(to, value, count, stream); }
EXPORT cuMemsetD32Async(char* to, unsigned value, u64 count, void* stream) {
  NEED_CONTEXT(device);
  if ((u64)to % 4 != 0 || !known(to) || !valid_range(to, 4 * count)) return INVALID_VALUE;
  return submit(device, stream, [=] {
    std::fill((unsigned*)to, (unsigned*)to + count, value);
    return 0;
  });
}
EXPORT cuMemsetD32_v2(char* to, unsigned value, u64 count) { return cuMemsetD32Async(to, value, count, nullptr); }

EXPORT cuMemcpyHtoD_v2(void* to, const void* from, u64 bytes) { return known(to) || bytes == 0 ? copy(to, from, bytes, nullptr, true) : INVALID_VALUE; }
EXPORT cuMemcpyDtoH_v2(void* to, const void* from, u64 bytes) { return known(from) || bytes == 0 ? copy(to, from, bytes, nullptr, true) : INVALID_VALUE; }
EXPORT cuMemcpyDtoD_v2(void* to, const void* from, u64 bytes) { return copy(to, from, bytes, nullptr, false); }
EXPORT cuMemcpy(void* to, const void* from, u64 bytes) { return copy(to, from, bytes, nullptr, true); }
EXPORT cuMemcpyAsync(void* to, const void* from, u64 bytes, void* stream) { return copy(to, from, bytes, stream, false); }
EXPORT cuMemcpyHtoDAsync_v2(void* to, const void* from, u64 bytes, void* stream) { return copy(to, from, bytes, stream, false); }
EXPORT cuMemcpyDtoHAsync_v2(void* to, const void* from, u64 bytes, void* stream) { return copy(to, from, bytes, stream, false); }
EXPORT cuMemcpyDtoDAsync_v2(void* to, const void* from, u64 bytes, void* stream) { return copy(to, from, bytes, stream, false); }
EXPORT cuMemcpyPeer(void* to, void*, const void* from, void*, u64 bytes) { return copy(to, from, bytes, nullptr, false); }
EXPORT cuMemcpyPeerAsync(void* to, void*, const void* from, void*, u64 bytes, void* stream) { return copy(to, from, bytes, stream, false); }
