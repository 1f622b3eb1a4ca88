// Contexts: the primary one of a device is its Device.
#include <algorithm>

#include "driver.h"

namespace driver {
namespace {
thread_local std::vector<Device*> current_stack;
}  // namespace

Device* current() { return current_stack.empty() ? nullptr : current_stack.back(); }
}  // namespace driver
using namespace driver;

namespace {
bool is_device(const void* p) {
  return std::find(devices.begin(), devices.end(), p) != devices.end();
}

// The last user has left: what the context had is gone, its failure too.
void end_context(std::unique_lock<std::mutex>& hold, Device* device) {
  device->ending = true;
  wait_for_device(hold, device);
  device->orphans.clear();
  device->error = SUCCESS;
  unload_modules(device);
  std::unique_lock<std::shared_mutex> hold_memory(memory_lock);
  for (auto next = memories.begin(); next != memories.end();) {
    const Memory& memory = next->second;
    bool gone = memory.device == device->ordinal;
    if (gone && memory.kind != REGISTERED) unmap(memory);
    next = gone ? memories.erase(next) : std::next(next);
  }
  device->used = 0;
  device->peers.clear();
  memory_version++;
  device->ending = false;
  changed.notify_all();
}
}  // namespace

EXPORT cuDevicePrimaryCtxRetain(void** context, int device) {
  NEED_DEVICE(device);
  std::unique_lock<std::mutex> hold(lock);
  changed.wait(hold, [=] { return !devices[device]->ending; });
  devices[device]->retained++;
  *context = devices[device];
  return SUCCESS;
}

EXPORT cuDevicePrimaryCtxRelease_v2(int device) {
  NEED_DEVICE(device);
  std::unique_lock<std::mutex> hold(lock);
  if (devices[device]->retained == 0) return INVALID_CONTEXT;
  if (--devices[device]->retained == 0) end_context(hold, devices[device]);
  return SUCCESS;
}

EXPORT cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  NEED_DEVICE(device);
  std::lock_guard<std::mutex> hold(lock);
  *flags = 0;
  *active = devices[device]->retained > 0;
  return SUCCESS;
}

EXPORT cuCtxPushCurrent_v2(void* context) {
  std::lock_guard<std::mutex> hold(lock);
  if (devices.empty()) return NOT_INITIALIZED;
  if (!is_device(context) || ((Device*)context)->retained == 0) return INVALID_CONTEXT;
  current_stack.push_back((Device*)context);
  return SUCCESS;
}

EXPORT cuCtxPopCurrent_v2(void** context) {
  if (current_stack.empty()) return INVALID_CONTEXT;
  if (context) *context = current_stack.back();
  current_stack.pop_back();
  return SUCCESS;
}

EXPORT cuCtxGetCurrent(void** context) {
  if (devices.empty()) return NOT_INITIALIZED;
  *context = current();
  return SUCCESS;
}

EXPORT cuCtxSetCurrent(void* context) {
  if (!current_stack.empty()) current_stack.pop_back();
  return context ? cuCtxPushCurrent_v2(context) : SUCCESS;
}

EXPORT cuCtxGetDevice(int* device) {
  if (!current()) return INVALID_CONTEXT;
  *device = current()->ordinal;
  return SUCCESS;
}

EXPORT cuCtxSynchronize() {
  NEED_CONTEXT(device);
  std::unique_lock<std::mutex> hold(lock);
  if (int result = forbidden_while_capturing()) return result;
  wait_for_device(hold, device);
  return device->error;
}

EXPORT cuCtxEnablePeerAccess(void* peer, unsigned flags) {
  NEED_CONTEXT(device);
  if (flags != 0) return INVALID_VALUE;
  if (!is_device(peer)) return INVALID_CONTEXT;
  if (peer == device) return INVALID_DEVICE;
  std::unique_lock<std::shared_mutex> hold(memory_lock);
  return device->peers.insert(((Device*)peer)->ordinal).second ? SUCCESS : PEER_ACCESS_ALREADY_ENABLED;
}

EXPORT cuCtxDisablePeerAccess(void* peer) {
  NEED_CONTEXT(device);
  if (!is_device(peer)) return INVALID_CONTEXT;
  std::unique_lock<std::shared_mutex> hold(memory_lock);
  memory_version++;
  return device->peers.erase(((Device*)peer)->ordinal) ? SUCCESS : PEER_ACCESS_NOT_ENABLED;
}
