// What kernels call, by NVSHMEM's device library: see org.ep4j.spi.DevicePosted. A peer's number is its PE.
//
// NVSHMEM's headers use these names of the C++ library, which the run-time compiler does not have.
#include <cuda/std/cstddef>
#include <cuda/std/type_traits>
namespace std {
using cuda::std::conditional;
using cuda::std::enable_if;
using cuda::std::is_floating_point;
using cuda::std::is_integral;
using cuda::std::is_same;
using cuda::std::is_signed;
using cuda::std::is_unsigned;
}  // namespace std
// Of what nvshmem.h includes only this: its collective calls are most of the time that compiling its headers takes.
#if __has_include(<device/nvshmem_defines.h>) && __has_include(<device/nvshmemx_defines.h>)
#include <device/nvshmem_defines.h>
#include <device/nvshmemx_defines.h>
#else
#include <nvshmem.h>
#include <nvshmemx.h>
#endif

__device__ __forceinline__ void ep_posted_put(char* to, const char* from, unsigned long long bytes, int peer) { nvshmem_putmem_nbi(to, from, bytes, peer); }
__device__ __forceinline__ void ep_posted_put_wave(char* to, const char* from, unsigned long long bytes, int peer) { nvshmemx_putmem_nbi_warp(to, from, bytes, peer); }
__device__ __forceinline__ void ep_posted_put_block(char* to, const char* from, unsigned long long bytes, int peer) { nvshmemx_putmem_nbi_block(to, from, bytes, peer); }
__device__ __forceinline__ void ep_posted_put_signal(
    char* to, const char* from, unsigned long long bytes, unsigned long long* counter, unsigned long long value, int peer) {
  nvshmem_putmem_signal_nbi(to, from, bytes, (uint64_t*)counter, value, NVSHMEM_SIGNAL_SET, peer);
}
__device__ __forceinline__ void ep_posted_put_signal_wave(
    char* to, const char* from, unsigned long long bytes, unsigned long long* counter, unsigned long long value, int peer) {
  nvshmemx_putmem_signal_nbi_warp(to, from, bytes, (uint64_t*)counter, value, NVSHMEM_SIGNAL_SET, peer);
}
__device__ __forceinline__ void ep_posted_put_signal_block(
    char* to, const char* from, unsigned long long bytes, unsigned long long* counter, unsigned long long value, int peer) {
  nvshmemx_putmem_signal_nbi_block(to, from, bytes, (uint64_t*)counter, value, NVSHMEM_SIGNAL_SET, peer);
}
// What this looks up puts look up, too. Nothing lies at 1, which the compiler does not know: else it would leave the look-up out.
__device__ __forceinline__ void ep_posted_prepare(const void* here) {
  if (nvshmem_ptr(here, nvshmem_my_pe()) == (void*)1) __nanosleep(1);
}
__device__ __forceinline__ void ep_posted_signal(unsigned long long* counter, unsigned long long value, int peer) {
  nvshmemx_signal_op((uint64_t*)counter, value, NVSHMEM_SIGNAL_SET, peer);
}
__device__ __forceinline__ void ep_posted_quiet() { nvshmem_quiet(); }
