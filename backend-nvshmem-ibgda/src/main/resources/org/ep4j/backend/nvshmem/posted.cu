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

// Limits of what this GPU has in flight on its NIC, see org.ep4j.plan.offer.FlowLimits: EP_INFLIGHT_BYTES, EP_INFLIGHT_WRITES, EP_INFLIGHT_MESSAGES; 0 for
// none, and not defined where nothing is limited. NVSHMEM has none of its own but the depth of a queue pair. Writes of high throughput have no signal, all but one kind of low latency have one: that is
// how the two are counted apart.
enum { EP_COUNT_BYTES, EP_COUNT_WRITES, EP_COUNT_MESSAGES };
#ifdef EP_INFLIGHT_BYTES
// What writes of one kind have begun, what has been posted of it, and what is known to be there. One set for all kernels of a module.
struct EpInFlight {
  unsigned long long begun, posted, there;
};
__device__ EpInFlight ep_in_flight[3];

__device__ __forceinline__ unsigned long long ep_in_flight_load(const unsigned long long* word) { return *(const volatile unsigned long long*)word; }

// Room for "amount" more; a write that is larger than the limit goes alone. "there" never passes "posted", which never passes "begun".
__device__ __forceinline__ bool ep_in_flight_take(EpInFlight* of, unsigned long long amount, unsigned long long most) {
  if (most == 0) return true;
  unsigned long long begun = ep_in_flight_load(&of->begun);
  for (;;) {
    const unsigned long long there = ep_in_flight_load(&of->there);
    if (begun != there && (long long)(begun + amount - there) > (long long)most) return false;
    const unsigned long long was = atomicCAS(&of->begun, begun, begun + amount);
    if (was == begun) return true;
    begun = was;
  }
}

// By one thread, before its warp posts a write. Waits for room, which comes when earlier writes have arrived.
__device__ __noinline__ void ep_in_flight_begin(int kind, unsigned long long bytes) {
  const unsigned long long most = kind == EP_COUNT_WRITES ? EP_INFLIGHT_WRITES : EP_INFLIGHT_MESSAGES;
  for (;;) {
    if (ep_in_flight_take(&ep_in_flight[kind], 1, most)) {
      if (ep_in_flight_take(&ep_in_flight[EP_COUNT_BYTES], bytes, EP_INFLIGHT_BYTES)) return;
      if (most != 0) atomicAdd(&ep_in_flight[kind].begun, ~0ull);
    }
    unsigned long long posted[3];
    for (int i = 0; i < 3; i++) posted[i] = ep_in_flight_load(&ep_in_flight[i].posted);
    __threadfence();
    nvshmem_quiet();
    for (int i = 0; i < 3; i++) atomicMax(&ep_in_flight[i].there, posted[i]);
  }
}

// By the same thread, when the write is posted.
__device__ __noinline__ void ep_in_flight_posted(int kind, unsigned long long bytes) {
  __threadfence();
  if ((kind == EP_COUNT_WRITES ? EP_INFLIGHT_WRITES : EP_INFLIGHT_MESSAGES) != 0) atomicAdd(&ep_in_flight[kind].posted, 1ull);
  if (EP_INFLIGHT_BYTES != 0) atomicAdd(&ep_in_flight[EP_COUNT_BYTES].posted, bytes);
}

// Posts a write within the limits. Called by all threads of a warp. Puts to a peer that this GPU maps use no NIC.
template <int Kind, typename Put>
__device__ __forceinline__ void ep_within_limits(const void* to, unsigned long long bytes, int peer, Put put) {
  const bool counts = threadIdx.x % 32 == 0 && nvshmem_ptr(to, peer) == nullptr;
  if (counts) ep_in_flight_begin(Kind, bytes);
  __syncwarp();
  put();
  __syncwarp();
  if (counts) ep_in_flight_posted(Kind, bytes);
}
#else
template <int Kind, typename Put>
__device__ __forceinline__ void ep_within_limits(const void*, unsigned long long, int, Put put) {
  put();
}
#endif

__device__ __forceinline__ void ep_posted_put_wave(char* to, const char* from, unsigned long long bytes, int peer) {
  ep_within_limits<EP_COUNT_WRITES>(to, bytes, peer, [=] { nvshmemx_putmem_nbi_warp(to, from, bytes, peer); });
}
__device__ __forceinline__ void ep_posted_put_message_wave(char* to, const char* from, unsigned long long bytes, int peer) {
  ep_within_limits<EP_COUNT_MESSAGES>(to, bytes, peer, [=] { nvshmemx_putmem_nbi_warp(to, from, bytes, peer); });
}
__device__ __forceinline__ void ep_posted_put_signal_wave(
    char* to, const char* from, unsigned long long bytes, unsigned long long* counter, unsigned long long value, int peer) {
  ep_within_limits<EP_COUNT_MESSAGES>(
      to, bytes, peer, [=] { nvshmemx_putmem_signal_nbi_warp(to, from, bytes, (uint64_t*)counter, value, NVSHMEM_SIGNAL_SET, peer); });
}
__device__ __forceinline__ void ep_posted_signal(unsigned long long* counter, unsigned long long value, int peer) {
  nvshmemx_signal_op((uint64_t*)counter, value, NVSHMEM_SIGNAL_SET, peer);
}
__device__ __forceinline__ void ep_posted_quiet() { nvshmem_quiet(); }
