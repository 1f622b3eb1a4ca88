// Memory of devices and of the host. Device memory is a file in memory, mapped into a range of addresses of its own; addresses are never
// used again.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "driver.h"
#include "execution/execution.h"

namespace {
constexpr u64 ZONE_BYTES = 16ull << 40, GRANULE = 2 << 20;
char* zone;
char* zone_next;
}  // namespace

namespace driver {
bool reserve_addresses() {
  void* range = mmap(nullptr, ZONE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return false;
  zone = (char*)(((u64)range + GRANULE - 1) / GRANULE * GRANULE);
  zone_next = zone;
  return true;
}

const Memory* find_memory(const void* p) {
  auto after = memories.upper_bound((char*)p);
  if (after == memories.begin()) return nullptr;
  const Memory& found = std::prev(after)->second;
  return (char*)p < found.base + found.bytes ? &found : nullptr;
}

char* take_addresses(u64 bytes) {
  if (bytes > ZONE_BYTES / 16) return nullptr;
  char* base = zone_next;
  zone_next += (bytes + GRANULE - 1) / GRANULE * GRANULE + GRANULE;  // what lies between cannot be reached
  return zone_next > zone + ZONE_BYTES ? nullptr : base;
}

bool in_zone(const void* p) { return zone && (char*)p >= zone && (char*)p < zone + ZONE_BYTES; }

int map_file(char* base, u64 bytes, int file) {
  return mmap(base, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED ? OUT_OF_MEMORY : SUCCESS;
}

bool is_freed(const Memory& memory) {
  struct stat state;
  return memory.kind == IPC && fstat(memory.file, &state) == 0 && state.st_size == 0;
}

void unmap(const Memory& memory) {
  mmap(memory.base, memory.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  if (memory.file >= 0) close(memory.file);
}

}  // namespace driver
using namespace driver;

bool reachable(int device, const void* address, unsigned long bytes) {
  // Recently found ranges of this system thread; a freed range changes the version.
  struct Cached { char *begin, *end; int device; };
  static thread_local Cached cache[8];
  static thread_local u64 version;
  static thread_local unsigned next;
  u64 now = memory_version.load(std::memory_order_acquire);
  if (now != version) {
    memset(cache, 0, sizeof cache);
    version = now;
  }
  char* p = (char*)address;
  for (const Cached& c : cache) {
    if (p >= c.begin && p + bytes <= c.end && c.device == device) return true;
  }
  std::shared_lock<std::shared_mutex> hold(memory_lock);
  const Memory* found = find_memory(address);
  if (!found || p + bytes > found->base + found->bytes) return false;
  if (found->kind == DEVICE && found->device != device && !devices[device]->peers.count(found->device)) return false;
  cache[next++ % 8] = {found->base, found->base + found->bytes, device};
  return true;
}

bool is_freed(const void* address) {
  std::shared_lock<std::shared_mutex> hold(memory_lock);
  const Memory* found = find_memory(address);
  return found && driver::is_freed(*found);
}

std::string describe_address(const void* address) {
  std::shared_lock<std::shared_mutex> hold(memory_lock);
  auto after = memories.upper_bound((char*)address);
  char text[300];
  if (after == memories.begin()) return "which is no memory of a device";
  const Memory& m = std::prev(after)->second;
  long offset = (char*)address - m.base;
  const char* kind = m.kind == DEVICE ? "device memory" : m.kind == IPC ? "memory of another process" : "host memory";
  if ((u64)offset < m.bytes && is_freed(m)) {
    snprintf(text, sizeof text, "at byte %ld of %llu of memory of another process, which has freed it", offset, m.bytes);
  } else if ((u64)offset < m.bytes) {
    snprintf(text, sizeof text, "at byte %ld of %llu of %s of device %d%s", offset, m.bytes, kind, m.device, m.kind == DEVICE ? " (has peer access been enabled? does all of it fit?)" : "");
  } else {
    snprintf(text, sizeof text, "which is in no allocation: %lld bytes after the end of one of %llu bytes (%s of device %d) at %p", (long long)(offset - m.bytes), m.bytes, kind, m.device, (void*)m.base);
  }
  return text;
}

namespace {
int allocate(Device* device, char** address, u64 bytes) {
  std::unique_lock<std::shared_mutex> hold(memory_lock);
  u64 mapped = (bytes + 4095) / 4096 * 4096;
  if (device->used + mapped > device_memory()) return OUT_OF_MEMORY;
  char* base = take_addresses(mapped);
  int file = base ? (int)syscall(SYS_memfd_create, "emulated device memory", 3u /* close on exec, seals */) : -1;
  if (file < 0) return OUT_OF_MEMORY;
  // Another process that writes to it once it is freed, and empty, must not make it larger again.
  if (ftruncate(file, mapped) != 0 || fcntl(file, F_ADD_SEALS, F_SEAL_GROW) != 0 || map_file(base, mapped, file) != SUCCESS) {
    close(file);
    return OUT_OF_MEMORY;
  }
  // What a program reads without having written it is no zero.
  memset(base, POISON, std::min<u64>(bytes, 1 << 20));
  device->used += mapped;
  memories[base] = Memory{base, bytes, mapped, device->ordinal, DEVICE, file};
  *address = base;
  return SUCCESS;
}

Device* owner_of(char* address) {
  std::shared_lock<std::shared_mutex> hold(memory_lock);
  auto found = memories.find(address);
  return found == memories.end() || found->second.kind != DEVICE ? nullptr : devices[found->second.device];
}

int release(char* address) {
  std::unique_lock<std::shared_mutex> hold(memory_lock);
  auto found = memories.find(address);
  if (found == memories.end()) return INVALID_VALUE;
  // An access of a process that has it mapped is a fault from now on. What a dma-buf refers to stays.
  if (found->second.exported && !found->second.dma_buf && ftruncate(found->second.file, 0) != 0) return OPERATING_SYSTEM;
  devices[found->second.device]->used -= found->second.mapped;
  unmap(found->second);
  memories.erase(found);
  memory_version++;
  return SUCCESS;
}
}  // namespace

EXPORT cuMemAlloc_v2(char** address, u64 bytes) {
  NEED_CONTEXT(device);
  if (bytes == 0) return INVALID_VALUE;
  {
    std::lock_guard<std::mutex> hold(lock);
    if (int result = forbidden_while_capturing()) return result;
  }
  return allocate(device, address, bytes);
}

EXPORT cuMemFree_v2(char* address) {
  NEED_CONTEXT(device);
  (void)device;
  if (!address) return SUCCESS;
  Device* owner = owner_of(address);
  if (!owner) return INVALID_VALUE;
  {
    std::unique_lock<std::mutex> hold(lock);
    if (int result = forbidden_while_capturing()) return result;
    wait_for_device(hold, owner);
  }
  return release(address);
}

// In the order of a stream; a graph that allocates is not made here.
EXPORT cuMemAllocAsync(char** address, u64 bytes, void* stream) {
  NEED_CONTEXT(device);
  if (bytes == 0) return INVALID_VALUE;
  {
    std::lock_guard<std::mutex> hold(lock);
    Stream* on = resolve(device, stream);
    if (!on) return INVALID_HANDLE;
    if (on->capture) return NOT_SUPPORTED;
  }
  return allocate(device, address, bytes);
}

EXPORT cuMemFreeAsync(char* address, void* stream) {
  NEED_CONTEXT(device);
  if (!owner_of(address)) return INVALID_VALUE;
  return submit(device, stream, [=] { return release(address); });
}

EXPORT cuMemGetInfo_v2(u64* free, u64* total) {
  NEED_CONTEXT(device);
  *total = device_memory();
  *free = device_memory() - device->used;
  return SUCCESS;
}

EXPORT cuMemGetAddressRange_v2(char** base, u64* bytes, char* address) {
  NEED_CONTEXT(device);
  std::shared_lock<std::shared_mutex> hold(memory_lock);
  const Memory* found = find_memory(address);
  if (!found || found->kind > IPC) return NOT_FOUND;
  if (base) *base = found->base;
  if (bytes) *bytes = found->bytes;
  return SUCCESS;
}

EXPORT cuPointerGetAttribute(void* value, int attribute, char* address) {
  if (devices.empty()) return NOT_INITIALIZED;
  std::shared_lock<std::shared_mutex> hold(memory_lock);
  const Memory* found = find_memory(address);
  if (!found) return INVALID_VALUE;
  switch (attribute) {
    case 1: *(void**)value = devices[found->device]; break;
    case 2: *(unsigned*)value = found->kind <= IPC ? 2 : 1; break;
    case 3: *(char**)value = address; break;
    case 4:
      if (found->kind <= IPC) return INVALID_VALUE;
      *(char**)value = address;
      break;
    case 7: *(u64*)value = (u64)found->base; break;
    case 8: *(int*)value = 0; break;
    case 9: *(int*)value = found->device; break;
    case 10: *(int*)value = found->kind == DEVICE; break;
    case 11: *(char**)value = found->base; break;
    case 12: *(u64*)value = found->bytes; break;
    default: return INVALID_VALUE;
  }
  return SUCCESS;
}

EXPORT cuMemHostAlloc(char** address, u64 bytes, unsigned) {
  NEED_CONTEXT(device);
  if (bytes == 0) return INVALID_VALUE;
  {
    std::lock_guard<std::mutex> hold(lock);
    if (int result = forbidden_while_capturing()) return result;
  }
  u64 mapped = (bytes + 4095) / 4096 * 4096;
  std::unique_lock<std::shared_mutex> hold(memory_lock);
  char* base = take_addresses(mapped);
  if (!base || mmap(base, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) return OUT_OF_MEMORY;
  memset(base, POISON, std::min<u64>(bytes, 1 << 20));
  memories[base] = Memory{base, bytes, mapped, device->ordinal, PINNED, -1};
  *address = base;
  return SUCCESS;
}
EXPORT cuMemAllocHost_v2(char** address, u64 bytes) { return cuMemHostAlloc(address, bytes, 0); }

EXPORT cuMemFreeHost(char* address) {
  if (devices.empty()) return NOT_INITIALIZED;
  Device* owner = nullptr;
  {
    std::shared_lock<std::shared_mutex> hold(memory_lock);
    auto found = memories.find(address);
    if (found == memories.end() || found->second.kind != PINNED) return INVALID_VALUE;
    owner = devices[found->second.device];
  }
  {
    std::unique_lock<std::mutex> hold(lock);
    if (int result = forbidden_while_capturing()) return result;
    wait_for_device(hold, owner);
  }
  std::unique_lock<std::shared_mutex> hold(memory_lock);
  auto found = memories.find(address);
  if (found == memories.end()) return INVALID_VALUE;
  unmap(found->second);
  memories.erase(found);
  memory_version++;
  return SUCCESS;
}

EXPORT cuMemHostRegister_v2(char* address, u64 bytes, unsigned) {
  NEED_CONTEXT(device);
  if (!address || bytes == 0) return INVALID_VALUE;
  std::unique_lock<std::shared_mutex> hold(memory_lock);
  auto next = memories.lower_bound(address);
  if (find_memory(address) || (next != memories.end() && next->first < address + bytes)) return HOST_MEMORY_ALREADY_REGISTERED;
  memories[address] = Memory{address, bytes, bytes, device->ordinal, REGISTERED, -1};
  return SUCCESS;
}

EXPORT cuMemHostUnregister(char* address) {
  NEED_CONTEXT(device);
  {
    std::unique_lock<std::mutex> hold(lock);
    wait_for_device(hold, device);
  }
  std::unique_lock<std::shared_mutex> hold(memory_lock);
  auto found = memories.find(address);
  if (found == memories.end() || found->second.kind != REGISTERED) return HOST_MEMORY_NOT_REGISTERED;
  memories.erase(found);
  memory_version++;
  return SUCCESS;
}

EXPORT cuMemHostGetDevicePointer_v2(char** address, char* host, unsigned) {
  std::shared_lock<std::shared_mutex> hold(memory_lock);
  const Memory* found = find_memory(host);
  if (!found || found->kind < PINNED) return INVALID_VALUE;
  *address = host;
  return SUCCESS;
}

// ---- NICs, which are host threads of tests: they write device memory by emulatedNicWrite. What they have written to a device that does not order
// it is held back until that is flushed, as the worst device would.
namespace {
struct Held {
  char* to;
  std::vector<char> bytes;
};
std::mutex& held_lock = *new std::mutex;
std::vector<Held>& held = *new std::vector<Held>;

// Called with the lock held.
template <typename Which> void take(Which which, bool arrives) {
  auto rest = std::stable_partition(held.begin(), held.end(), [&](const Held& one) { return !which(one); });
  if (arrives) std::for_each(rest, held.end(), [](const Held& one) { memcpy(one.to, one.bytes.data(), one.bytes.size()); });
  held.erase(rest, held.end());
}

int device_of(char* p) {
  std::shared_lock<std::shared_mutex> hold(memory_lock);
  const Memory* found = find_memory(p);
  return found && found->kind == DEVICE ? found->device : -1;
}
}  // namespace

EXPORT emulatedNicWrite(char* to, const char* from, u64 bytes) {
  int device = device_of(to);
  std::lock_guard<std::mutex> hold(held_lock);
  if (device >= 0 && writes_ordering(device) < 100) held.push_back({to, std::vector<char>(from, from + bytes)});
  else memcpy(to, from, bytes);
  return SUCCESS;
}

EXPORT cuFlushGPUDirectRDMAWrites(int target, int scope) {
  NEED_CONTEXT(device);
  if (target != 0 || (scope != 100 && scope != 200)) return INVALID_VALUE;
  if (!(setting_of(device->ordinal, "EMULATED_CUDA_FLUSH_OPTIONS", 1) & 1)) return NOT_SUPPORTED;
  std::lock_guard<std::mutex> hold(held_lock);
  take([&](const Held& one) { return device_of(one.to) < 0; }, false);
  take([&](const Held& one) { return device_of(one.to) == device->ordinal; }, true);
  return SUCCESS;
}

// The file that the memory is; a dma-buf begins where the range does.
EXPORT cuMemGetHandleForAddressRange(int* handle, char* address, u64 bytes, int type, u64 flags) {
  NEED_CONTEXT(device);
  if (type != 1 || flags != 0 || !handle || bytes == 0 || (u64)address % 4096 != 0 || bytes % 4096 != 0) return INVALID_VALUE;
  if (!setting_of(device->ordinal, "EMULATED_CUDA_DMA_BUF", 1)) return NOT_SUPPORTED;
  std::unique_lock<std::shared_mutex> hold(memory_lock);
  const Memory* found = find_memory(address);
  if (!found || found->kind != DEVICE || address != found->base || bytes > found->mapped) return INVALID_VALUE;
  *handle = fcntl(found->file, F_DUPFD_CLOEXEC, 3);
  if (*handle < 0) return OUT_OF_MEMORY;
  memories[found->base].dma_buf = true;
  return SUCCESS;
}

// ---- Not there: memory in parts.
#define MISSING(name) EXPORT name() { return NOT_SUPPORTED; }
MISSING(cuMemCreate)
MISSING(cuMemRelease)
MISSING(cuMemMap)
MISSING(cuMemUnmap)
MISSING(cuMemSetAccess)
MISSING(cuMemAddressReserve)
MISSING(cuMemAddressFree)
MISSING(cuMemExportToShareableHandle)
MISSING(cuMemImportFromShareableHandle)
MISSING(cuMemGetAllocationGranularity)
MISSING(cuMemRetainAllocationHandle)
