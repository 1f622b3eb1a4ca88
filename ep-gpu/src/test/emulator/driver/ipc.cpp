// Memory of other processes.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"

using namespace driver;

namespace {
struct IpcHandle {
  char magic[8];
  int process, file;
  u64 bytes;
  u64 started;  // start time of the process, since numbers come again
  int device;
  char rest[64 - 36];
};
static_assert(sizeof(IpcHandle) == 64, "CUipcMemHandle has 64 bytes");

u64 start_time(int process) {
  char path[64], text[1024] = {};
  snprintf(path, sizeof path, "/proc/%d/stat", process);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  ssize_t n = read(file, text, sizeof text - 1);
  close(file);
  const char* p = n > 0 ? strrchr(text, ')') : nullptr;
  for (int field = 2; p && field < 22; field++) p = strchr(p + 1, ' ');
  return p ? strtoull(p + 1, nullptr, 10) : 0;
}
}  // namespace

EXPORT cuIpcGetMemHandle(IpcHandle* handle, char* address) {
  NEED_CONTEXT(device);
  std::unique_lock<std::shared_mutex> hold(memory_lock);
  const Memory* found = find_memory(address);
  if (!found || found->kind != DEVICE) return INVALID_VALUE;
  memories[found->base].exported = true;
  *handle = IpcHandle{{'e', 'm', 'u', 'l', 'a', 't', 'e', 'd'}, getpid(), found->file, found->bytes, start_time(getpid()), found->device, {}};
  return SUCCESS;
}

EXPORT cuIpcOpenMemHandle_v2(char** address, IpcHandle handle, unsigned flags) {
  NEED_CONTEXT(device);
  if (flags != 1) return INVALID_VALUE;
  if (memcmp(handle.magic, "emulated", 8) != 0) return INVALID_VALUE;
  if (handle.process == getpid()) return INVALID_CONTEXT;
  if (start_time(handle.process) != handle.started) return INVALID_VALUE;
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", handle.process, handle.file);
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return INVALID_VALUE;
  u64 mapped = (handle.bytes + 4095) / 4096 * 4096;
  std::unique_lock<std::shared_mutex> hold(memory_lock);
  char* base = take_addresses(mapped);
  if (!base || map_file(base, mapped, file) != SUCCESS) {
    close(file);
    return OUT_OF_MEMORY;
  }
  memories[base] = Memory{base, handle.bytes, mapped, device->ordinal, IPC, file};
  *address = base;
  return SUCCESS;
}

EXPORT cuIpcCloseMemHandle(char* address) {
  NEED_CONTEXT(device);
  {
    std::unique_lock<std::mutex> hold(lock);
    wait_for_device(hold, device);
  }
  std::unique_lock<std::shared_mutex> hold(memory_lock);
  auto found = memories.find(address);
  if (found == memories.end() || found->second.kind != IPC) return INVALID_VALUE;
  unmap(found->second);
  memories.erase(found);
  memory_version++;
  return SUCCESS;
}
