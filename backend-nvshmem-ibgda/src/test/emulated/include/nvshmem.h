// Stands in for NVSHMEM's device library on emulated GPUs. What a warp does together, each of its threads does here: the bytes are the same.
#pragma once
#include <cuda/std/cstdint>
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define NVSHMEM_SIGNAL_SET 9

// Of the host library: where this process has a peer's memory.
extern "C" __attribute__((visibility("default"))) char* emulated_nvshmem_peer(const void* address, int pe);

static inline void* nvshmem_ptr(const void* there, int pe) { return emulated_nvshmem_peer(there, pe); }
static inline void nvshmem_quiet() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void nvshmemx_signal_op(uint64_t* word, uint64_t value, int, int pe) {
  __atomic_store_n((uint64_t*)emulated_nvshmem_peer(word, pe), value, __ATOMIC_RELEASE);
}
static inline void nvshmemx_putmem_nbi_warp(void* to, const void* from, unsigned long bytes, int pe) { __builtin_memcpy(emulated_nvshmem_peer(to, pe), from, bytes); }
static inline void nvshmemx_putmem_signal_nbi_warp(void* to, const void* from, unsigned long bytes, uint64_t* word, uint64_t value, int operation, int pe) {
  nvshmemx_putmem_nbi_warp(to, from, bytes, pe);
  nvshmemx_signal_op(word, value, operation, pe);
}
