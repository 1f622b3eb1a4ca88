// Stands in for libcuda.so.1: the calls of the CUDA driver that ep4j makes, on memory and threads of the host. Streams are queues with a
// system thread each, so work is as asynchronous as on a GPU. What a real driver refuses is refused. What the calls share is here.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default"))) int

typedef unsigned long long u64;

namespace driver {
enum {
  SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, INVALID_DEVICE = 101, INVALID_IMAGE = 200, INVALID_CONTEXT = 201,
  ALREADY_MAPPED = 208, OPERATING_SYSTEM = 304, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700, LAUNCH_OUT_OF_RESOURCES = 701,
  LAUNCH_TIMEOUT = 702, PEER_ACCESS_ALREADY_ENABLED = 704, PEER_ACCESS_NOT_ENABLED = 705, HOST_MEMORY_ALREADY_REGISTERED = 712, HOST_MEMORY_NOT_REGISTERED = 713,
  MISALIGNED_ADDRESS = 716, LAUNCH_FAILED = 719, NOT_SUPPORTED = 801, CAPTURE_UNSUPPORTED = 900, CAPTURE_INVALIDATED = 901,
  CAPTURE_UNJOINED = 904, CAPTURE_IMPLICIT = 906, CAPTURED_EVENT = 907
};

// ---- Settings, from the environment (devices.cpp).
long setting(const char* name, long otherwise);
long setting_of(int device, const char* name, long otherwise);  // one for each device, separated by commas; the last one for all others
long writes_ordering(int device);
int device_count();
int capability();
u64 device_memory();
bool synchronous();
unsigned shared_limit();  // bytes of shared memory that a block may have

// ---- Memory (memory.cpp).
enum Kind { DEVICE, IPC, PINNED, REGISTERED };
struct Memory {
  char* base;
  u64 bytes;    // that the caller asked for
  u64 mapped;
  int device;
  Kind kind;
  int file;
  bool exported = false;  // to other processes
  bool dma_buf = false;
};
// True if the exporting process has freed this IPC memory: its file has size 0 then.
bool is_freed(const Memory& memory);
constexpr unsigned char POISON = 0xa5;

struct Device;
struct Stream;
struct Graph;
struct Module;

// One lock for everything that is not memory; held for moments only.
inline std::mutex& lock = *new std::mutex;
inline std::condition_variable& changed = *new std::condition_variable;
inline std::shared_mutex& memory_lock = *new std::shared_mutex;
inline std::map<char*, Memory>& memories = *new std::map<char*, Memory>;
inline std::atomic<u64> memory_version{1};  // of what can be reached

bool reserve_addresses();
char* take_addresses(u64 bytes);  // null when there are no more
bool in_zone(const void* p);
const Memory* find_memory(const void* p);
int map_file(char* base, u64 bytes, int file);
void unmap(const Memory& memory);

// ---- Streams, events and graphs.
struct Task {
  std::function<int()> work;
  std::vector<std::shared_ptr<Task>> after;
  bool done = false;
};
typedef std::shared_ptr<Task> Work;

struct Stream {
  Device* device;
  bool blocking;  // with the legacy stream
  bool legacy = false;
  std::vector<Work> queue{};
  Work last{};
  Graph* capture = nullptr;
  bool started = false, ended = false;
};

struct Device {
  int ordinal;
  int retained = 0;
  bool ending = false;  // the context: its last user has left, and it waits for work
  std::atomic<int> error{0};
  u64 used = 0;
  std::set<int> peers;
  Stream legacy;
  std::map<std::thread::id, Stream*> per_thread;
  std::set<Stream*> streams;
  std::vector<Work> orphans;  // last work of streams that were destroyed before it was done
  std::set<Module*> modules;
};

struct Event {
  Device* device;
  bool timing;
  Work last{};
  Graph* captured = nullptr;
  std::shared_ptr<std::atomic<u64>> time = std::make_shared<std::atomic<u64>>(0);
};

struct Graph {
  Stream* origin;
  int mode;
  std::thread::id thread;
  std::vector<std::function<int()>> nodes;
  std::set<Stream*> streams;
  bool invalid = false;
};

struct Executable {
  std::vector<std::function<int()>> nodes;
};

inline std::vector<Device*>& devices = *new std::vector<Device*>;
inline std::set<void*>& handles = *new std::set<void*>;  // of streams, events, graphs, executables, modules, functions
inline std::set<Graph*>& captures = *new std::set<Graph*>;

template <typename T> T* live(void* handle) { return handles.count(handle) ? (T*)handle : nullptr; }

// Queues, or records into the graph that the stream is capturing (streams.cpp).
int submit(Device* device, void* handle, std::function<int()> work);
int submit_and_wait(Device* device, std::function<int()> work);
// Called with the lock held.
Work enqueue_locked(Stream* stream, std::function<int()> work, std::vector<Work> after = {});
int wait_for(std::unique_lock<std::mutex>& hold, Device* device, const Work& work);
void wait_for_device(std::unique_lock<std::mutex>& hold, Device* device);
Stream* resolve(Device* device, void* handle);  // null when it is no stream of the device
bool captures_blocking(Device* device);
// Calls that a capture forbids make it invalid; called with the lock held (graphs.cpp).
int forbidden_while_capturing();

// Called with the lock held (modules.cpp).
void unload_modules(Device* device);

// ---- Contexts (contexts.cpp).
Device* current();

#define NEED_CONTEXT(device)                     \
  Device* device = current();                    \
  if (devices.empty()) return NOT_INITIALIZED;   \
  if (!device) return INVALID_CONTEXT;           \
  if (device->error) return device->error

#define NEED_DEVICE(d) \
  if (devices.empty()) return NOT_INITIALIZED; \
  if (d < 0 || d >= device_count()) return INVALID_DEVICE
}  // namespace driver
