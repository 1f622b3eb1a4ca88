// The builtins of AMD's compiler that hip.cu uses, by the names of cuda.cu. After cuda.cu, before hip.cu.
#if EP_LANES == 64
#define __GFX9__ 1
#endif

EP_DEVICE u32 __builtin_amdgcn_workitem_id_x() { return threadIdx.x; }
EP_DEVICE u32 __builtin_amdgcn_workgroup_id_x() { return blockIdx.x; }
EP_DEVICE u32 __builtin_amdgcn_workgroup_size_x() { return blockDim.x; }
EP_DEVICE u32 __builtin_amdgcn_grid_size_x() { return gridDim.x * blockDim.x; }
EP_DEVICE Lanes __builtin_amdgcn_ballot_w32(bool value) { return ballot(value); }
EP_DEVICE Lanes __builtin_amdgcn_ballot_w64(bool value) { return ballot(value); }
EP_DEVICE int __builtin_amdgcn_ds_bpermute(int address, int value) { return shuffle(value, address / 4); }
EP_DEVICE int __builtin_amdgcn_readlane(int value, int from) { return shuffle(value, from); }
EP_DEVICE void __builtin_amdgcn_wave_barrier() { sync_lanes(); }
EP_DEVICE void __builtin_amdgcn_s_barrier() { sync_block(); }
EP_DEVICE void __builtin_amdgcn_s_sleep(int) { pause(); }
EP_DEVICE u64 __builtin_amdgcn_s_memrealtime() { return nanoseconds() / 10; }
EP_DEVICE u64 __builtin_readsteadycounter() { return nanoseconds() / 10; }
// Scopes: of the wavefront, the workgroup, the GPU (agent), the system (no name).
EP_DEVICE void __builtin_amdgcn_fence(int, const char* scope) {
  if (scope[0] == 0) fence_system();
  else if (scope[0] == 'a') fence_device();
  else if (scope[1] == 'o') fence_block();
}

// Waits for the wave's loads and stores: no more than a fence does.
EP_DEVICE void __builtin_amdgcn_s_waitcnt(int) { fence_system(); }

#ifndef __ATOMIC_RELAXED
#define __ATOMIC_RELAXED 0
#define __ATOMIC_ACQUIRE 2
#define __ATOMIC_RELEASE 3
#define __ATOMIC_ACQ_REL 4
#endif
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5
EP_DEVICE u64 __hip_atomic_load(const u64* p, int order, int) { return order == __ATOMIC_ACQUIRE ? load_acquire(p) : load_remote(p); }
EP_DEVICE u32 __hip_atomic_load(const u32* p, int, int) { return load_remote(p); }
EP_DEVICE int __hip_atomic_load(const int* p, int, int) { return load_remote(p); }
EP_DEVICE void __hip_atomic_store(u64* p, u64 v, int order, int) {
  if (order == __ATOMIC_RELEASE) store_release(p, v);
  else store_remote(p, v);
}
EP_DEVICE void __hip_atomic_store(u32* p, u32 v, int, int) { store_remote(p, v); }
EP_DEVICE void __hip_atomic_store(int* p, int v, int, int) { store_remote(p, v); }
EP_DEVICE u32 __hip_atomic_fetch_add(u32* p, u32 v, int, int) { return add_acq_rel(p, v); }
EP_DEVICE int __hip_atomic_fetch_add(int* p, int v, int, int) { return add(p, v); }
EP_DEVICE u64 __hip_atomic_fetch_add(u64* p, u64 v, int, int) { return add(p, v); }
EP_DEVICE u32 __hip_atomic_exchange(u32* p, u32 v, int, int) { return swap_acq_rel(p, v); }
EP_DEVICE bool __hip_atomic_compare_exchange_strong(u64* p, u64* expected, u64 v, int, int, int) { return swap_if(p, *expected, v); }

struct alignas(16) Words { u32 x, y, z, w; };
EP_DEVICE Words __builtin_nontemporal_load(const Words* p) {
  Vec v = load_once((const Vec*)p);
  return Words{v.x, v.y, v.z, v.w};
}
EP_DEVICE void __builtin_nontemporal_store(Words v, Words* p) { store_once((Vec*)p, Vec{v.x, v.y, v.z, v.w}); }

#ifdef __CUDACC_RTC__
EP_DEVICE float emulated_log2(float v) { return log2_near(v); }
EP_DEVICE float emulated_exp2(float v) { return exp2_near(v); }
#define __builtin_popcountll(v) __popcll(v)
#define __builtin_popcount(v) __popc(v)
#define __builtin_ctzll(v) (__ffsll(v) - 1)
#define __builtin_ctz(v) (__ffs(v) - 1)
#define __builtin_fmaf(a, b, c) __fmaf_rn(a, b, c)
#define __builtin_log2f(v) ep::emulated_log2(v)
#define __builtin_exp2f(v) ep::emulated_exp2(v)
#endif

// hip.cu says these for itself.
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim
#undef EP_LANES
#undef EP_ALL_LANES
#undef EP_NAMED_BARRIERS
#undef EP_HAS_BF16
#undef EP_HAS_E4M3
#undef EP_BULK
