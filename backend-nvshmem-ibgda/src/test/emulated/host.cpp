// Stands in for NVSHMEM's host library on emulated GPUs: PEs are processes of one machine, which open each other's memory.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
constexpr int MOST = 16;
struct Handle {
  char bytes[64];
};
// In a file that all PEs map.
struct Meeting {
  std::atomic<unsigned long> arrived;
  Handle handles[MOST];
};
struct Chunk {
  char* base[MOST];
  size_t bytes;
};

int pe = -1, size, status;
Meeting* meeting;
Chunk chunks[64];
std::atomic<int> chunk_count;

template <class Function>
Function driver(const char* name) {
  void* found = dlsym(RTLD_DEFAULT, name);
  if (!found) {
    fprintf(stderr, "emulated NVSHMEM: the driver lacks %s\n", name);
    exit(255);
  }
  return (Function)found;
}

void barrier() {
  const unsigned long turn = meeting->arrived++ / size;
  while (meeting->arrived / size <= turn) usleep(100);
}

bool map(const char* name) {
  int file = shm_open(name, O_RDWR, 0600);
  if (file < 0) return false;
  void* mapped = mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  meeting = mapped == MAP_FAILED ? nullptr : (Meeting*)mapped;
  return meeting != nullptr;
}
const char* meeting_name;
}  // namespace

EXPORT char* emulated_nvshmem_peer(const void* address, int of) {
  for (int i = 0; i < chunk_count; i++) {
    const Chunk& chunk = chunks[i];
    if ((char*)address >= chunk.base[pe] && (char*)address < chunk.base[pe] + chunk.bytes) return chunk.base[of] + ((char*)address - chunk.base[pe]);
  }
  fprintf(stderr, "emulated NVSHMEM: %p is not in the symmetric heap\n", address);
  abort();
}

EXPORT int nvshmemx_get_uniqueid(char* id) {
  static int made;
  snprintf(id + 4, 124, "/ep4j-emulated-nvshmem-%d-%d", getpid(), made++);
  int file = shm_open(id + 4, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (file < 0 || ftruncate(file, sizeof(Meeting)) != 0) return 1;
  close(file);
  return 0;
}

EXPORT int nvshmemx_set_attr_uniqueid_args(int rank, int ranks, const char* id, void*) {
  if (ranks > MOST) return 1;
  pe = rank;
  size = ranks;
  meeting_name = id + 4;
  return 0;
}

EXPORT int nvshmemx_hostlib_init_attr(unsigned flags, void*) {
  const char* multicast = getenv("NVSHMEM_DISABLE_NVLS");
  if (flags != 8 || !multicast || strcmp(multicast, "1") != 0 || !map(meeting_name)) return 1;
  barrier();
  if (pe == 0) shm_unlink(meeting_name);
  status = 2;
  return 0;
}

EXPORT int nvshmemx_init_status() { return status; }
EXPORT int nvshmem_my_pe() { return pe; }
EXPORT int nvshmem_n_pes() { return size; }

EXPORT void nvshmemx_vendor_get_version_info(int* major, int* minor, int* patch) {
  *major = 3;
  *minor = 4;
  *patch = 5;
}

EXPORT void* nvshmem_malloc(size_t bytes) {
  Chunk chunk = {};
  chunk.bytes = bytes;
  if (driver<int (*)(char**, size_t)>("cuMemAlloc_v2")(&chunk.base[pe], bytes) != 0) exit(255);
  if (driver<int (*)(Handle*, char*)>("cuIpcGetMemHandle")(&meeting->handles[pe], chunk.base[pe]) != 0) exit(255);
  barrier();
  for (int i = 0; i < size; i++) {
    if (i != pe && driver<int (*)(char**, Handle, unsigned)>("cuIpcOpenMemHandle_v2")(&chunk.base[i], meeting->handles[i], 1) != 0) exit(255);
  }
  chunks[chunk_count] = chunk;
  chunk_count++;
  barrier();
  return chunk.base[pe];
}

// Of every other peer only, so that puts with signals are called, too; and within pairs, which are hosts in some tests.
EXPORT void* nvshmem_ptr(const void* address, int of) { return of % 2 == 0 || of == (pe ^ 1) ? emulated_nvshmem_peer(address, of) : 0; }
EXPORT int nvshmemx_cumodule_init(void* module) { return status == 2 && module ? 0 : 1; }
EXPORT int nvshmemx_cumodule_finalize(void*) { return 0; }

EXPORT void nvshmemx_putmem_on_stream(char* to, const char* from, size_t bytes, int of, void* stream) {
  driver<int (*)(char*, const char*, size_t, void*)>("cuMemcpyAsync")(emulated_nvshmem_peer(to, of), from, bytes, stream);
}

EXPORT void nvshmemx_quiet_on_stream(void* stream) { driver<int (*)(void*)>("cuStreamSynchronize")(stream); }

EXPORT void nvshmemx_signal_op_on_stream(unsigned long* word, unsigned long value, int, int of, void* stream) {
  nvshmemx_quiet_on_stream(stream);
  __atomic_store_n((unsigned long*)emulated_nvshmem_peer(word, of), value, __ATOMIC_RELEASE);
}
