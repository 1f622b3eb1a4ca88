// Transport to ranks to which kernels post with the device library of a backend, see org.ep4j.spi.DevicePosted. The source of the library comes before this, or
// no_device_library.cu.
//
// None of these calls is inlined: they would double the code of a kernel, which is fetched from memory when it begins.
EP_NOINLINE void library_put(char* there, const char* from, u64 bytes, int peer) { ep_posted_put_wave(there, from, bytes, peer); }
EP_NOINLINE void library_put_message(char* there, const char* from, u64 bytes, int peer) { ep_posted_put_message_wave(there, from, bytes, peer); }
EP_NOINLINE void library_put_with_signal(char* there, const char* from, u64 bytes, u64* word, u64 value, int peer) {
  ep_posted_put_signal_wave(there, from, bytes, word, value, peer);
}
EP_NOINLINE void library_signal(u64* word, u64 value, int peer) { ep_posted_signal(word, value, peer); }
EP_NOINLINE void library_quiet() { ep_posted_quiet(); }

// It has the methods of Mapped; a backend that has no room waits.
struct DevicePosted {
  const Op& op;
  const i64 rank;

  static constexpr bool PUTS_ROWS = true;

  EP_MEMBER int peer() const { return (int)op.paths[rank].number; }
  // The rank has its counter at the same offset of its own window's counters.
  EP_MEMBER u64* counter(Counter counter) const { return (u64*)counter_at(op.paths[rank].arrived, counter, op.rank); }

  EP_MEMBER void put(u64 there, const char* from, u64 bytes, int phase) const {
    if (bytes == 0) return;
    // Limits of what is in flight count the two apart.
    if (phase == PHASE_LL_DISPATCH_RECEIVE) library_put_message(op.window + there, from, EP_ALIGNED_16(bytes), peer());
    else library_put(op.window + there, from, EP_ALIGNED_16(bytes), peer());
  }

  EP_MEMBER void put_with_signal(u64 there, const char* from, u64 bytes, u64* flag, u64 number, int) const {
    u64* const flag_there = (u64*)(op.window + place_there(op, rank, (const char*)flag));
    library_put_with_signal(op.window + there, from, EP_ALIGNED_16(bytes), flag_there, number, peer());
  }

  EP_MEMBER void put_with_signal(u64 there, const char* from, u64 bytes, Counter which, u64 number, int) const {
    library_put_with_signal(op.window + there, from, EP_ALIGNED_16(bytes), counter(which), number, peer());
  }

  EP_MEMBER void signal(Counter which, u64 value, int) const { library_signal(counter(which), value, peer()); }

  EP_MEMBER void flush(bool puts) const {
    if (puts) library_quiet();
    fence_system();
  }
};
