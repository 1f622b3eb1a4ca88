// Start, settings, and what devices say of themselves.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

namespace driver {
long setting(const char* name, long otherwise) {
  const char* text = getenv(name);
  return text && *text ? strtol(text, nullptr, 0) : otherwise;
}
long setting_of(int device, const char* name, long otherwise) {
  const char* text = getenv(name);
  if (!text || !*text) return otherwise;
  for (; device > 0 && strchr(text, ','); device--) text = strchr(text, ',') + 1;
  return strtol(text, nullptr, 0);
}
long writes_ordering(int device) { return setting_of(device, "EMULATED_CUDA_WRITES_ORDERING", capability() >= 90 ? 100 : 0); }
int device_count() { static const int n = setting("EMULATED_CUDA_DEVICES", 8); return n; }
int capability() { static const int n = setting("EMULATED_CUDA_CAPABILITY", 90); return n; }
u64 device_memory() { static const u64 n = setting("EMULATED_CUDA_MEMORY", 8l << 30); return n; }
bool synchronous() { static const bool n = setting("EMULATED_CUDA_SYNC", 0) != 0; return n; }
unsigned shared_limit() { return capability() >= 90 && capability() < 120 ? 232448 : capability() == 80 || capability() == 87 ? 166912 : 101376; }
}  // namespace driver
using namespace driver;

EXPORT cuInit(unsigned flags) {
  std::lock_guard<std::mutex> hold(lock);
  if (flags != 0) return INVALID_VALUE;
  if (device_count() < 1) return 100;
  if (!devices.empty()) return SUCCESS;
  if (!reserve_addresses()) return OUT_OF_MEMORY;
  for (int i = 0; i < device_count(); i++) {
    Device* device = new Device;
    device->ordinal = i;
    device->legacy.device = device;
    device->legacy.blocking = true;
    device->legacy.legacy = true;
    devices.push_back(device);
  }
  return SUCCESS;
}

EXPORT cuDriverGetVersion(int* version) { *version = 13000; return SUCCESS; }

EXPORT cuDeviceGetCount(int* count) {
  if (devices.empty()) return NOT_INITIALIZED;
  *count = device_count();
  return SUCCESS;
}

EXPORT cuDeviceGet(int* device, int ordinal) {
  if (devices.empty()) return NOT_INITIALIZED;
  if (ordinal < 0 || ordinal >= device_count()) return INVALID_DEVICE;
  *device = ordinal;
  return SUCCESS;
}

EXPORT cuDeviceGetName(char* name, int length, int device) {
  NEED_DEVICE(device);
  snprintf(name, length, "Emulated GPU");
  return SUCCESS;
}

EXPORT cuDeviceGetUuid(unsigned char* uuid, int device) {
  NEED_DEVICE(device);
  memcpy(uuid, "emulatedcudagpu", 15);
  uuid[15] = (unsigned char)device;
  return SUCCESS;
}
EXPORT cuDeviceGetUuid_v2(unsigned char* uuid, int device) { return cuDeviceGetUuid(uuid, device); }

EXPORT cuDeviceGetAttribute(int* value, int attribute, int device) {
  NEED_DEVICE(device);
  switch (attribute) {
    case 1: *value = 1024; break;
    case 2: case 3: *value = 1024; break;
    case 4: *value = 64; break;
    case 5: *value = INT_MAX; break;
    case 6: case 7: *value = 65535; break;
    case 8: *value = 49152; break;
    case 10: *value = 32; break;
    case 13: *value = 1000000; break;
    case 16: *value = setting("EMULATED_CUDA_PROCESSORS", 16); break;
    case 33: *value = 0x10 + device; break;
    case 34: case 50: *value = 0; break;
    case 39: *value = 2048; break;
    case 41: case 115: case 125: *value = 1; break;
    case 75: *value = capability() / 10; break;
    case 76: *value = capability() % 10; break;
    case 81: *value = shared_limit() + 1024; break;
    case 97: *value = shared_limit(); break;
    case 116: *value = setting_of(device, "EMULATED_CUDA_GPU_DIRECT", 1); break;
    case 117: *value = setting_of(device, "EMULATED_CUDA_FLUSH_OPTIONS", 1); break;
    case 118: *value = writes_ordering(device); break;
    case 124: *value = setting_of(device, "EMULATED_CUDA_DMA_BUF", 1); break;
    default: *value = 0;
  }
  return SUCCESS;
}

EXPORT cuDeviceTotalMem_v2(u64* bytes, int device) {
  NEED_DEVICE(device);
  *bytes = device_memory();
  return SUCCESS;
}

EXPORT cuDeviceGetPCIBusId(char* text, int length, int device) {
  NEED_DEVICE(device);
  snprintf(text, length, "0000:%02X:00.0", 0x10 + device);
  return SUCCESS;
}

EXPORT cuDeviceCanAccessPeer(int* can, int device, int peer) {
  NEED_DEVICE(device);
  NEED_DEVICE(peer);
  *can = device != peer;
  return SUCCESS;
}

EXPORT cuDeviceGetP2PAttribute(int* value, int attribute, int device, int peer) {
  NEED_DEVICE(device);
  NEED_DEVICE(peer);
  if (device == peer) return INVALID_DEVICE;
  *value = attribute == 2 || attribute == 3;
  return SUCCESS;
}
