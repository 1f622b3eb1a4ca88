// Emulated dialect: the names of cuda.cu in plain C++, for kernels that run on a CPU. Stands where cuda.cu stood.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

struct alignas(16) Vec { u32 x, y, z, w; };

// Shared variables are all that a module keeps for each system thread, so the emulator can spoil them before each block.
static thread_local emulated::Thread* emulated_thread;
static const emulated::Runtime* emulated_runtime;
#ifndef EMULATED_LANES
#define EMULATED_LANES 32
#endif
static void emulated_bind(const emulated::Runtime* runtime) { emulated_runtime = runtime; }
static emulated::Thread** emulated_current() { return &emulated_thread; }
extern "C" { __attribute__((used, visibility("default"))) emulated::Module emulated_module = {emulated_bind, emulated_current, EMULATED_LANES}; }

#define EP_DEVICE static inline __attribute__((always_inline))
#define EP_MEMBER inline __attribute__((always_inline))
#define EP_NOINLINE static __attribute__((noinline, unused))
#define EP_KERNEL_BESIDE(name, threads) EP_KERNEL(name, threads)
#define EP_KERNEL(name, threads) \
  static void name(const Op op); \
  static void emulated_run_##name(const void* arguments) { name(*(const Op*)arguments); } \
  extern "C" { __attribute__((used, visibility("default"))) emulated::Kernel emulated_kernel_##name = {emulated_run_##name, threads, sizeof(Op)}; } \
  static void name(const Op op)
#define EP_SHARED static thread_local
#define EP_DYNAMIC_SHARED(name) char* const name = ep::emulated_thread->dynamic_shared
#define threadIdx (ep::emulated_thread->index)
#define blockIdx (ep::emulated_thread->block)
#define blockDim (ep::emulated_thread->block_size)
#define gridDim (ep::emulated_thread->grid)

#define EP_IN_STEP 0
#define EP_LANES EMULATED_LANES
#if EP_LANES == 64
typedef u64 Lanes;
#define EP_ALL_LANES 0xffffffffffffffffull
#else
typedef u32 Lanes;
#define EP_ALL_LANES 0xffffffffu
#endif

// Collective operations know where in the source they are called, so that lanes that meet at different ones are found.
#define EMULATED_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

EP_DEVICE int lane() { return emulated_thread->lane; }
EP_DEVICE int warp() { return emulated_thread->warp; }
EP_DEVICE Lanes ballot(bool value, EMULATED_PLACE) {
  const emulated::Lanes* all = emulated_runtime->meet(emulated::BALLOT, value, file, line);
  Lanes set = 0;
  for (int i = 0; i < EP_LANES; i++) {
    if ((all->present >> i & 1) && all->value[i]) set |= (Lanes)1 << i;
  }
  return set;
}
static inline u64 emulated_shuffle(int collective, u64 value, int from, const char* file, int line) {
  const emulated::Lanes* all = emulated_runtime->meet(collective, value, file, line);
  if (!(all->present >> from & 1)) emulated_runtime->fail("reads a lane that has ended or does not exist");
  return all->value[from];
}
EP_DEVICE u32 emulated_bits(float value) { u32 bits; __builtin_memcpy(&bits, &value, 4); return bits; }
EP_DEVICE float emulated_float(u32 bits) { float value; __builtin_memcpy(&value, &bits, 4); return value; }
EP_DEVICE int shuffle(int value, int from, EMULATED_PLACE) { return (int)emulated_shuffle(emulated::SHUFFLE, (u32)value, from & (EP_LANES - 1), file, line); }
EP_DEVICE float shuffle(float value, int from, EMULATED_PLACE) { return emulated_float((u32)emulated_shuffle(emulated::SHUFFLE, emulated_bits(value), from & (EP_LANES - 1), file, line)); }
EP_DEVICE u64 shuffle(u64 value, int from, EMULATED_PLACE) { return emulated_shuffle(emulated::SHUFFLE, value, from & (EP_LANES - 1), file, line); }
EP_DEVICE int shuffle_up(int value, int by, EMULATED_PLACE) { return (int)emulated_shuffle(emulated::SHUFFLE_UP, (u32)value, lane() < by ? lane() : lane() - by, file, line); }
EP_DEVICE u32 shuffle_xor(u32 value, int mask, EMULATED_PLACE) { return (u32)emulated_shuffle(emulated::SHUFFLE_XOR, value, (lane() ^ mask) & (EP_LANES - 1), file, line); }
EP_DEVICE float shuffle_xor(float value, int mask, EMULATED_PLACE) { return emulated_float((u32)emulated_shuffle(emulated::SHUFFLE_XOR, emulated_bits(value), (lane() ^ mask) & (EP_LANES - 1), file, line)); }
EP_DEVICE Lanes same(int value, EMULATED_PLACE) {
  const emulated::Lanes* all = emulated_runtime->meet(emulated::SAME, (u32)value, file, line);
  Lanes set = 0;
  for (int i = 0; i < EP_LANES; i++) {
    if ((all->present >> i & 1) && all->value[i] == (u32)value) set |= (Lanes)1 << i;
  }
  return set;
}
EP_DEVICE int count(Lanes lanes) { return __builtin_popcountll(lanes); }
EP_DEVICE int lowest(Lanes lanes) { return __builtin_ffsll((i64)lanes) - 1; }
EP_DEVICE void sync_lanes(EMULATED_PLACE) { emulated_runtime->meet(emulated::SYNC_LANES, 0, file, line); }
EP_DEVICE void sync_block(EMULATED_PLACE) { emulated_runtime->sync_block(file, line); }
// True where all threads of a block say so; also a barrier.
EP_DEVICE bool all_threads(bool value) {
  EP_SHARED int no;
  sync_block();
  if (threadIdx.x == 0) no = 0;
  sync_block();
  if (!value) no = 1;
  sync_block();
  return no == 0;
}

#define EMULATED_TOUCH(p, what) emulated_runtime->touch(p, sizeof(*p), what)
EP_DEVICE u64 load_acquire(const void* p) { emulated_runtime->touch(p, 8, "load_acquire"); return __atomic_load_n((const u64*)p, __ATOMIC_SEQ_CST); }
EP_DEVICE u64 load_polled(const void* p) { return load_acquire(p); }
EP_DEVICE void acquire_polled() {}
EP_DEVICE void emulated_publish(void* p, u64 v, const char* what) {
  emulated_runtime->touch(p, 8, what);
  emulated_runtime->publish_flag(p, what);
  __atomic_store_n((u64*)p, v, __ATOMIC_SEQ_CST);
}
EP_DEVICE void store_release(void* p, u64 v) { emulated_publish(p, v, "store_release"); }
EP_DEVICE void fence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
EP_DEVICE void store_published(void* p, u64 v) { emulated_publish(p, v, "store_published"); }
EP_DEVICE void fence_published() { fence_system(); }
#define EP_NAMED_BARRIERS 0
EP_DEVICE void fence_block() {}
EP_DEVICE void fence_device() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
EP_DEVICE Vec emulated_load(const Vec* p) {
  u64 half[2] = {__atomic_load_n((const u64*)p, __ATOMIC_RELAXED), __atomic_load_n((const u64*)p + 1, __ATOMIC_RELAXED)};
  Vec v;
  __builtin_memcpy(&v, half, 16);
  return v;
}
EP_DEVICE void emulated_store(Vec* p, Vec v) {
  u64 half[2];
  __builtin_memcpy(half, &v, 16);
  __atomic_store_n((u64*)p, half[0], __ATOMIC_RELAXED);
  __atomic_store_n((u64*)p + 1, half[1], __ATOMIC_RELAXED);
}
EP_DEVICE Vec load_remote(const Vec* p) { EMULATED_TOUCH(p, "load_remote"); return emulated_load(p); }
EP_DEVICE u64 load_remote(const u64* p) { EMULATED_TOUCH(p, "load_remote"); return __atomic_load_n(p, __ATOMIC_RELAXED); }
EP_DEVICE u32 load_remote(const u32* p) { EMULATED_TOUCH(p, "load_remote"); return __atomic_load_n(p, __ATOMIC_RELAXED); }
EP_DEVICE int load_remote(const int* p) { EMULATED_TOUCH(p, "load_remote"); return __atomic_load_n(p, __ATOMIC_RELAXED); }
EP_DEVICE void store_remote(Vec* p, Vec v) { EMULATED_TOUCH(p, "store_remote"); emulated_store(p, v); }
EP_DEVICE void store_remote(u64* p, u64 v) { EMULATED_TOUCH(p, "store_remote"); __atomic_store_n(p, v, __ATOMIC_RELAXED); }
EP_DEVICE void store_remote(u32* p, u32 v) { EMULATED_TOUCH(p, "store_remote"); __atomic_store_n(p, v, __ATOMIC_RELAXED); }
EP_DEVICE void store_remote(int* p, int v) { EMULATED_TOUCH(p, "store_remote"); __atomic_store_n(p, v, __ATOMIC_RELAXED); }
EP_DEVICE Vec load_once(const Vec* p) { EMULATED_TOUCH(p, "load_once"); return emulated_load(p); }
EP_DEVICE void store_once(Vec* p, Vec v) { EMULATED_TOUCH(p, "store_once"); emulated_store(p, v); }

EP_DEVICE u32 add_acq_rel(u32* p, u32 v) { EMULATED_TOUCH(p, "add_acq_rel"); emulated_runtime->publish_arrivals(p, "add_acq_rel"); return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST); }
EP_DEVICE u32 swap_acq_rel(u32* p, u32 v) { EMULATED_TOUCH(p, "swap_acq_rel"); return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST); }
EP_DEVICE bool swap_if(u64* p, u64 expected, u64 v) {
  EMULATED_TOUCH(p, "swap_if");
  return __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
EP_DEVICE int add(int* p, int v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
EP_DEVICE u64 add(u64* p, u64 v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }

// Kernels never overlap.
EP_DEVICE void launch_dependents() {}
EP_DEVICE void wait_for_previous() {}

EP_DEVICE u64 nanoseconds() { return emulated_runtime->nanoseconds(); }
EP_DEVICE void pause() { emulated_runtime->pause(); }

EP_DEVICE float as_float(u32 bits) { return emulated_float(bits); }
EP_DEVICE u32 as_bits(float value) { return emulated_bits(value); }
EP_DEVICE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
EP_DEVICE float divide(float a, float b) { return a / b; }
EP_DEVICE float multiply(float a, float b) { return a * b; }
EP_DEVICE float plus(float a, float b) { return a + b; }
EP_DEVICE float log2_near(float v) { return __builtin_log2f(v); }
EP_DEVICE float exp2_near(float v) { return __builtin_exp2f(v); }

#if __CUDA_ARCH__ >= 890
#define EP_HAS_E4M3 1
static u32 emulated_e4m3(float value) {
  u32 bits = emulated_bits(value);
  u32 magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7f;
  u32 sign = bits >> 24 & 0x80;
  float size = emulated_float(magnitude);
  if (size >= 448.0f) return sign | 0x7e;
  if (size < 0.015625f) {  // a multiple of 2^-9; eight of them are the smallest normal number
    return sign | (u32)__builtin_rintf(size * 512.0f);
  }
  u32 rounded = magnitude + 0x7ffffu + (magnitude >> 20 & 1);
  u32 code = (rounded >> 20) - (120u << 3);
  return sign | (code > 0x7e ? 0x7e : code);
}
EP_DEVICE u32 e4m3_pair(float low, float high) { return emulated_e4m3(low) | emulated_e4m3(high) << 8; }
#else
#define EP_HAS_E4M3 0
#endif

#if __CUDA_ARCH__ >= 900
#define EP_BULK 1
EP_DEVICE void barrier_init(u64* b, u32 n) { emulated_runtime->barrier_init(b, n); }
EP_DEVICE void barrier_expect(u64* b, u32 bytes) { emulated_runtime->barrier_expect(b, bytes); }
EP_DEVICE void barrier_wait(u64* b, u32 parity) { emulated_runtime->barrier_wait(b, parity); }
EP_DEVICE void bulk_load(void* to, const void* from, u32 bytes, u64* b) { emulated_runtime->bulk_load(to, from, bytes, b); }
EP_DEVICE void bulk_store(void* to, const void* from, u32 bytes) { emulated_runtime->bulk_store(to, from, bytes); }
EP_DEVICE void bulk_commit() { emulated_runtime->bulk_commit(); }
EP_DEVICE void bulk_wait_read() { emulated_runtime->bulk_wait_read(); }
EP_DEVICE void bulk_wait() { emulated_runtime->bulk_wait(); }
EP_DEVICE void bulk_fence() {}
EP_DEVICE void bulk_fence_global() {}
#else
#define EP_BULK 0
#endif
