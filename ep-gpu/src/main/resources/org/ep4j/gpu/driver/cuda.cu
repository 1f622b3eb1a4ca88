// begin of the dialect
// CUDA dialect: everything that is not plain C++. hip.cu offers the same names. Needs no header.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// 16 bytes, the unit in which rows move.
struct alignas(16) Vec { u32 x, y, z, w; };

#define EP_DEVICE static __device__ __forceinline__
// For a function of a type.
#define EP_MEMBER __device__ __forceinline__
// Not inlined: has at most as many registers as the option of CudaCompiler allows.
#define EP_NOINLINE static __device__ __noinline__
#define EP_KERNEL(name, threads) extern "C" __global__ void __launch_bounds__(threads, 1) name(const Op op)
// For a kernel of which two blocks, or one and a block of another such kernel, run on a multiprocessor at once.
#define EP_KERNEL_BESIDE(name, threads) extern "C" __global__ void __launch_bounds__(threads, 2) name(const Op op)
#define EP_SHARED __shared__
#define EP_DYNAMIC_SHARED(name) extern __shared__ __align__(128) char name[]

// Threads that run in step as a rule; where they diverge, each goes on alone.
#define EP_IN_STEP 0
#define EP_LANES 32
typedef u32 Lanes;
#define EP_ALL_LANES 0xffffffffu

EP_DEVICE int lane() { return (int)(threadIdx.x & 31); }
EP_DEVICE int warp() { return (int)(threadIdx.x >> 5); }
EP_DEVICE Lanes ballot(bool value) { return __ballot_sync(EP_ALL_LANES, value); }
EP_DEVICE int shuffle(int value, int from) { return __shfl_sync(EP_ALL_LANES, value, from); }
EP_DEVICE float shuffle(float value, int from) { return __shfl_sync(EP_ALL_LANES, value, from); }
EP_DEVICE u64 shuffle(u64 value, int from) { return __shfl_sync(EP_ALL_LANES, value, from); }
EP_DEVICE int shuffle_up(int value, int by) { return __shfl_up_sync(EP_ALL_LANES, value, by); }
EP_DEVICE u32 shuffle_xor(u32 value, int mask) { return __shfl_xor_sync(EP_ALL_LANES, value, mask); }
EP_DEVICE float shuffle_xor(float value, int mask) { return __shfl_xor_sync(EP_ALL_LANES, value, mask); }
// Lanes that hold the same value.
EP_DEVICE Lanes same(int value) { return __match_any_sync(EP_ALL_LANES, value); }
EP_DEVICE int count(Lanes lanes) { return __popc(lanes); }
// Lowest lane of a set that is not empty.
EP_DEVICE int lowest(Lanes lanes) { return __ffs((int)lanes) - 1; }
EP_DEVICE void sync_lanes() { __syncwarp(); }
EP_DEVICE void sync_block() { __syncthreads(); }
// True where all threads of a block say so; also a barrier.
EP_DEVICE bool all_threads(bool value) { return __syncthreads_and(value) != 0; }

// Barriers of some waves of a block, 1 to 15: "arrive" does not wait, "meet" does. "threads" counts those of both.
#define EP_NAMED_BARRIERS 1
EP_DEVICE void arrive(int barrier, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory"); }
EP_DEVICE void meet(int barrier, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory"); }

// What other GPUs write or read.
EP_DEVICE u64 load_acquire(const void* p) {
  u64 v;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}
// Polls acquire here, so nothing more is needed when the awaited value is there.
EP_DEVICE u64 load_polled(const void* p) { return load_acquire(p); }
EP_DEVICE void acquire_polled() {}
EP_DEVICE void store_release(void* p, u64 v) { asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory"); }
// Stores a counter or a flag, which publishes the data before it to other GPUs. The HIP dialect has a cheaper way.
EP_DEVICE void store_published(void* p, u64 v) { store_release(p, v); }
EP_DEVICE void fence_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
EP_DEVICE void fence_published() { fence_system(); }
// Within the block.
EP_DEVICE void fence_block() { __threadfence_block(); }
EP_DEVICE void fence_device() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
// Past the first-level cache, which does not see what other GPUs write.
EP_DEVICE Vec load_remote(const Vec* p) {
  Vec v;
  asm volatile("ld.relaxed.sys.global.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p) : "memory");
  return v;
}
EP_DEVICE u64 load_remote(const u64* p) { u64 v; asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory"); return v; }
EP_DEVICE u32 load_remote(const u32* p) { u32 v; asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
EP_DEVICE int load_remote(const int* p) { return (int)load_remote((const u32*)p); }
EP_DEVICE void store_remote(Vec* p, Vec v) { asm volatile("st.relaxed.sys.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory"); }
EP_DEVICE void store_remote(u64* p, u64 v) { asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory"); }
EP_DEVICE void store_remote(u32* p, u32 v) { asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }
EP_DEVICE void store_remote(int* p, int v) { store_remote((u32*)p, (u32)v); }
// Data that is read or written once. Not by the non-coherent path: a kernel that overlaps with the one before it reads what that wrote.
EP_DEVICE Vec load_once(const Vec* p) { Vec v; asm volatile("ld.global.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p)); return v; }
EP_DEVICE void store_once(Vec* p, Vec v) { asm volatile("st.global.L1::no_allocate.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory"); }

EP_DEVICE u32 add_acq_rel(u32* p, u32 v) { u32 o; asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], %2;" : "=r"(o) : "l"(p), "r"(v) : "memory"); return o; }
EP_DEVICE u32 swap_acq_rel(u32* p, u32 v) { u32 o; asm volatile("atom.exch.acq_rel.gpu.global.b32 %0, [%1], %2;" : "=r"(o) : "l"(p), "r"(v) : "memory"); return o; }
// Puts a value in the place of one that is still there.
EP_DEVICE bool swap_if(u64* p, u64 expected, u64 v) { return atomicCAS(p, expected, v) == expected; }
EP_DEVICE int add(int* p, int v) { return atomicAdd(p, v); }
EP_DEVICE u64 add(u64* p, u64 v) { return atomicAdd(p, v); }

#if __CUDA_ARCH__ >= 900
// A kernel that is launched to overlap with the one before it may begin once all blocks of that have called launch_dependents or have ended; it
// has the memory that was written before itself when wait_for_previous returns.
EP_DEVICE void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
EP_DEVICE void wait_for_previous() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
#else
EP_DEVICE void launch_dependents() {}
EP_DEVICE void wait_for_previous() {}
#endif

// The same on all GPUs only in rate.
EP_DEVICE u64 nanoseconds() { u64 t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); return t; }
EP_DEVICE void pause() { __nanosleep(20); }

EP_DEVICE float as_float(u32 bits) { return __uint_as_float(bits); }
EP_DEVICE u32 as_bits(float value) { return __float_as_uint(value); }
EP_DEVICE float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
EP_DEVICE float divide(float a, float b) { return __fdiv_rn(a, b); }
EP_DEVICE float multiply(float a, float b) { return __fmul_rn(a, b); }
EP_DEVICE float plus(float a, float b) { return __fadd_rn(a, b); }
EP_DEVICE float log2_near(float v) { float r; asm("lg2.approx.f32 %0, %1;" : "=f"(r) : "f"(v)); return r; }
EP_DEVICE float exp2_near(float v) { float r; asm("ex2.approx.f32 %0, %1;" : "=f"(r) : "f"(v)); return r; }

#define EP_HAS_BF16 1
// Two BF16 numbers, the one of "low" in the low half; rounds to nearest even, every NaN becomes 0x7fff.
EP_DEVICE u32 bf16_pair(float low, float high) { u32 r; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low)); return r; }

#if __CUDA_ARCH__ >= 890
#define EP_HAS_E4M3 1
// Two E4M3 codes, the one of "low" in the low byte; rounds to nearest even, saturates.
EP_DEVICE u32 e4m3_pair(float low, float high) { u16 r; asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(high), "f"(low)); return r; }
#else
#define EP_HAS_E4M3 0
#endif

#if __CUDA_ARCH__ >= 900
// Bulk copies by the tensor memory accelerator. Sizes and addresses are multiples of 16 bytes.
#define EP_BULK 1
EP_DEVICE u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
EP_DEVICE void barrier_init(u64* b, u32 n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(n) : "memory"); }
EP_DEVICE void barrier_expect(u64* b, u32 bytes) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(b)), "r"(bytes) : "memory"); }
EP_DEVICE void barrier_wait(u64* b, u32 parity) {
  u32 done = 0;
  while (!done) {
    asm volatile("{.reg .pred P; mbarrier.try_wait.parity.shared::cta.b64 P, [%1], %2; selp.u32 %0, 1, 0, P;}" : "=r"(done) : "r"(shared_address(b)), "r"(parity) : "memory");
  }
}
EP_DEVICE void bulk_load(void* to, const void* from, u32 bytes, u64* b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(b)) : "memory");
}
EP_DEVICE void bulk_store(void* to, const void* from, u32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)), "r"(bytes) : "memory");
}
EP_DEVICE void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// What this thread stored has been read from shared memory.
EP_DEVICE void bulk_wait_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
// What this thread stored has been written; needed before a counter is advanced.
EP_DEVICE void bulk_wait() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
// Between plain accesses of shared memory and bulk copies of it.
EP_DEVICE void bulk_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// Between plain accesses of global memory and bulk copies of it.
EP_DEVICE void bulk_fence_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }
#else
#define EP_BULK 0
#endif
// end of the dialect
