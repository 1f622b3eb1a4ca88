// HIP dialect: the names of cuda.cu for AMD GPUs, by builtins of clang alone. Compiled with -ffp-contract=off. Needs no header.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// 16 bytes, the unit in which rows move.
struct alignas(16) Vec { u32 x, y, z, w; };

#define EP_DEVICE static inline __attribute__((device, always_inline))
#define EP_MEMBER inline __attribute__((device, always_inline))
#define EP_NOINLINE static __attribute__((device, noinline))
#define EP_KERNEL(name, threads) extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, threads))) void name(const Op op)
#define EP_KERNEL_BESIDE(name, threads) EP_KERNEL(name, threads)
#define EP_SHARED __attribute__((shared))
#define EP_DYNAMIC_SHARED(name) extern __attribute__((shared, aligned(128))) char name[]

struct Index { u32 x; };
EP_DEVICE Index thread_index() { return {__builtin_amdgcn_workitem_id_x()}; }
EP_DEVICE Index block_index() { return {__builtin_amdgcn_workgroup_id_x()}; }
EP_DEVICE Index block_size() { return {__builtin_amdgcn_workgroup_size_x()}; }
EP_DEVICE Index grid_size() { return {__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x()}; }
#define threadIdx thread_index()
#define blockIdx block_index()
#define blockDim block_size()
#define gridDim grid_size()

// Threads that run in step, and wait for each other wherever they part: 64 on Instinct, 32 elsewhere.
#define EP_IN_STEP 1
#ifdef __GFX9__
#define EP_LANES 64
typedef u64 Lanes;
#define EP_ALL_LANES 0xffffffffffffffffull
EP_DEVICE Lanes ballot(bool value) { return __builtin_amdgcn_ballot_w64(value); }
EP_DEVICE int count(Lanes lanes) { return __builtin_popcountll(lanes); }
// Lowest lane of a set that is not empty.
EP_DEVICE int lowest(Lanes lanes) { return __builtin_ctzll(lanes); }
#else
#define EP_LANES 32
typedef u32 Lanes;
#define EP_ALL_LANES 0xffffffffu
EP_DEVICE Lanes ballot(bool value) { return __builtin_amdgcn_ballot_w32(value); }
EP_DEVICE int count(Lanes lanes) { return __builtin_popcount(lanes); }
EP_DEVICE int lowest(Lanes lanes) { return __builtin_ctz(lanes); }
#endif

EP_DEVICE float as_float(u32 bits) { return __builtin_bit_cast(float, bits); }
EP_DEVICE u32 as_bits(float value) { return __builtin_bit_cast(u32, value); }

EP_DEVICE int lane() { return (int)(threadIdx.x & (EP_LANES - 1)); }
EP_DEVICE int warp() { return (int)(threadIdx.x / EP_LANES); }
EP_DEVICE int shuffle(int value, int from) { return __builtin_amdgcn_ds_bpermute(from * 4, value); }
EP_DEVICE float shuffle(float value, int from) { return as_float((u32)shuffle((int)as_bits(value), from)); }
EP_DEVICE u64 shuffle(u64 value, int from) { return (u32)shuffle((int)value, from) | (u64)(u32)shuffle((int)(value >> 32), from) << 32; }
EP_DEVICE int shuffle_up(int value, int by) { return shuffle(value, lane() < by ? lane() : lane() - by); }
EP_DEVICE u32 shuffle_xor(u32 value, int mask) { return (u32)shuffle((int)value, lane() ^ mask); }
EP_DEVICE float shuffle_xor(float value, int mask) { return shuffle(value, lane() ^ mask); }
// Lanes that hold the same value.
EP_DEVICE Lanes same(int value) {
  Lanes mine = 0;
  for (Lanes left = ballot(true); left != 0;) {
    int one = __builtin_amdgcn_readlane(value, lowest(left));
    Lanes equal = ballot(value == one);
    if (value == one) mine = equal;
    left &= ~equal;
  }
  return mine;
}
// With EP_RELAXED_STORES, which ep.gpu.publish sets and org.ep4j.engine.gpu.GpuBuffers allows, counters and flags are stored without writing caches back.
// All that peers read is then in uncached memory, and a store there that has been acknowledged has arrived. A wave counts its own stores alone, so it waits
// for them before another wave or another GPU can learn of them.
#ifndef EP_RELAXED_STORES
#define EP_RELAXED_STORES 0
#endif
EP_DEVICE void await_stores() {
#if EP_RELAXED_STORES
  // The fences are for the compiler alone.
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "singlethread");
  __builtin_amdgcn_s_waitcnt(0);
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "singlethread");
#endif
}
EP_DEVICE void sync_lanes() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
EP_DEVICE void sync_block() {
  await_stores();
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
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

// What other GPUs write or read.
EP_DEVICE u64 load_acquire(const void* p) { return __hip_atomic_load((const u64*)p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM); }
// Polls are relaxed, with one fence when the awaited value is there: an acquire empties the caches, in every poll. Right for cached memory too, since the
// loads pass the caches.
EP_DEVICE u64 load_polled(const void* p) { return __hip_atomic_load((const u64*)p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM); }
EP_DEVICE void acquire_polled() { __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, ""); }
EP_DEVICE void store_release(void* p, u64 v) { __hip_atomic_store((u64*)p, v, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM); }
EP_DEVICE void fence_system() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, ""); }
EP_DEVICE void fence_block() {
  await_stores();
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");
}
EP_DEVICE void fence_device() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent"); }
// Past the caches that do not see what other GPUs write.
EP_DEVICE u64 load_remote(const u64* p) { return __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM); }
EP_DEVICE u32 load_remote(const u32* p) { return __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM); }
EP_DEVICE int load_remote(const int* p) { return __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM); }
EP_DEVICE Vec load_remote(const Vec* p) {
  u64 low = load_remote((const u64*)p), high = load_remote((const u64*)p + 1);
  return {(u32)low, (u32)(low >> 32), (u32)high, (u32)(high >> 32)};
}
EP_DEVICE void store_remote(u64* p, u64 v) { __hip_atomic_store(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM); }
EP_DEVICE void store_remote(u32* p, u32 v) { __hip_atomic_store(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM); }
EP_DEVICE void store_remote(int* p, int v) { __hip_atomic_store(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM); }
EP_DEVICE void store_remote(Vec* p, Vec v) {
  store_remote((u64*)p, v.x | (u64)v.y << 32);
  store_remote((u64*)p + 1, v.z | (u64)v.w << 32);
}
// Stores a counter or a flag, which publishes the data before it to other GPUs.
EP_DEVICE void store_published(void* p, u64 v) {
#if EP_RELAXED_STORES
  await_stores();
  store_remote((u64*)p, v);
#else
  store_release(p, v);
#endif
}
EP_DEVICE void fence_published() {
#if EP_RELAXED_STORES
  await_stores();
#else
  fence_system();
#endif
}
// Data that is read or written once.
typedef u32 Words __attribute__((ext_vector_type(4)));
EP_DEVICE Vec load_once(const Vec* p) { Words v = __builtin_nontemporal_load((const Words*)p); return {v.x, v.y, v.z, v.w}; }
EP_DEVICE void store_once(Vec* p, Vec v) { __builtin_nontemporal_store(Words{v.x, v.y, v.z, v.w}, (Words*)p); }

EP_DEVICE u32 add_acq_rel(u32* p, u32 v) { return __hip_atomic_fetch_add(p, v, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT); }
EP_DEVICE u32 swap_acq_rel(u32* p, u32 v) { return __hip_atomic_exchange(p, v, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT); }
EP_DEVICE bool swap_if(u64* p, u64 expected, u64 v) {
  return __hip_atomic_compare_exchange_strong(p, &expected, v, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
EP_DEVICE int add(int* p, int v) { return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
EP_DEVICE u64 add(u64* p, u64 v) { return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }

// The same on all GPUs only in rate. The counter runs at 100 MHz.
#ifdef __GFX9__
EP_DEVICE u64 nanoseconds() { return __builtin_amdgcn_s_memrealtime() * 10; }
#else
EP_DEVICE u64 nanoseconds() { return __builtin_readsteadycounter() * 10; }
#endif
EP_DEVICE void pause() { __builtin_amdgcn_s_sleep(1); }

// Kernels of a stream do not overlap.
EP_DEVICE void launch_dependents() {}
EP_DEVICE void wait_for_previous() {}

EP_DEVICE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
EP_DEVICE float divide(float a, float b) { return a / b; }
EP_DEVICE float multiply(float a, float b) { return a * b; }
EP_DEVICE float plus(float a, float b) { return a + b; }
EP_DEVICE float log2_near(float v) { return __builtin_log2f(v); }
EP_DEVICE float exp2_near(float v) { return __builtin_exp2f(v); }

// The conversion of gfx942 gives another E4M3 (bias 8), that of gfx950 saturates only in a mode of the wave.
#define EP_HAS_E4M3 0
#define EP_HAS_BF16 0
#define EP_NAMED_BARRIERS 0
#define EP_BULK 0
