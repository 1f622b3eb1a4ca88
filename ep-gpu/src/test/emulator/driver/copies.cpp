// Copies and fills.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "driver.h"
#include "execution/execution.h"

using namespace driver;

namespace {
constexpr u64 PIECE = 1 << 20;

// Called with memory_lock held.
const Memory* of_another_process(const void* p) {
  const Memory* found = find_memory(p);
  return found && found->kind == IPC ? found : nullptr;
}

// Memory of another process is read and written through its file: once that process has freed it, also in the middle of a copy, that fails, where a load or
// store would end this process. Called with memory_lock held.
bool read_bytes(char* to, const char* from, u64 bytes) {
  if (const Memory* theirs = of_another_process(from)) return pread(theirs->file, to, bytes, from - theirs->base) == (ssize_t)bytes;
  memcpy(to, from, bytes);
  return true;
}
bool write_bytes(char* to, const char* from, u64 bytes) {
  if (const Memory* theirs = of_another_process(to)) return pwrite(theirs->file, from, bytes, to - theirs->base) == (ssize_t)bytes;
  memcpy(to, from, bytes);
  return true;
}

int freed(const char* what, const void* p, u64 bytes) {
  fprintf(stderr, "emulated CUDA: a %s of %llu bytes at %p, %s\n", what, bytes, p, describe_address(p).c_str());
  return ILLEGAL_ADDRESS;
}

// A pattern of 4 bytes, through the file of another process.
int fill_theirs(char* to, unsigned value, u64 bytes) {
  std::vector<unsigned> pattern(PIECE / 4, value);
  for (u64 done = 0; done < bytes; done += PIECE) {
    std::shared_lock<std::shared_mutex> hold(memory_lock);
    if (write_bytes(to + done, (char*)pattern.data(), std::min(PIECE, bytes - done))) continue;
    hold.unlock();
    return freed("fill", to, bytes);
  }
  return SUCCESS;
}

bool is_of_another_process(const void* p) {
  std::shared_lock<std::shared_mutex> hold(memory_lock);
  return of_another_process(p) != nullptr;
}

int zero_or_fill(void* to, int value, u64 bytes) {
  if (is_of_another_process(to)) return fill_theirs((char*)to, (value & 255) * 0x01010101u, bytes);
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

int move(void* to, const void* from, u64 bytes) {
  if (!is_of_another_process(to) && !is_of_another_process(from)) {
    memmove(to, from, bytes);
    return SUCCESS;
  }
  std::vector<char> piece(std::min(PIECE, bytes));
  for (u64 done = 0; done < bytes; done += PIECE) {
    u64 n = std::min(PIECE, bytes - done);
    std::shared_lock<std::shared_mutex> hold(memory_lock);
    bool read = read_bytes(piece.data(), (const char*)from + done, n);
    if (read && write_bytes((char*)to + done, piece.data(), n)) continue;
    hold.unlock();
    return freed("copy", read ? to : from, bytes);
  }
  return SUCCESS;
}

int copy(void* to, const void* from, u64 bytes, void* stream, bool wait) {
  NEED_CONTEXT(device);
  if (bytes == 0) return SUCCESS;
  if (!valid_range(to, bytes) || !valid_range(from, bytes)) return INVALID_VALUE;
  if (wait) return submit_and_wait(device, [=] { return move(to, from, bytes); });
  if (!known(from)) {
    auto held = std::make_shared<std::vector<char>>((const char*)from, (const char*)from + bytes);
    return submit(device, stream, [=] { return move(to, held->data(), bytes); });
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
    if (is_of_another_process(to)) return fill_theirs(to, value, 4 * count);
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
