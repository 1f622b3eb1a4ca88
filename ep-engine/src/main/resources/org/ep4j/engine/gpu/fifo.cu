// Rings of commands that proxy threads of the host take: what a GPU puts there. Needs the dialect alone.
//
// The layout is that of org.ep4j.engine.proxy.Command and CommandRing.
struct Fifo {
  char* ring;    // pinned memory of the host: the number of commands taken (the tail), then from byte 128 on the commands
  u64* head;     // memory of this GPU, zero at first: commands put; behind it the tail as it was last read
  u64 commands;  // that the ring holds, a power of two
};

EP_DEVICE u64 fifo_write_word0(u64 target, u64 bytes) { return target >> 4 << 28 | bytes >> 4; }
EP_DEVICE u64 fifo_write_word1(i64 peer, u64 source) { return 1ull << 60 | (u64)peer << 44 | source >> 4; }
EP_DEVICE u64 fifo_advance_word1(i64 peer, int counter) { return 2ull << 60 | (u64)peer << 44 | (u64)counter; }

// The index of a command to be put, which is this thread's from now on: it must be put, or the ring begun anew by the host. The copy of the
// tail is read before, so that both are on their way at once.
EP_DEVICE u64 fifo_take_index(const Fifo& fifo, u64* tail) {
  *tail = load_remote(fifo.head + 1);
  return add(fifo.head, 1ull);
}

// Whether the place of an index is free. Memory of the host is far away: of all that wait, only the first one reads it, for all of them. No
// more order is needed than that a store follows the load that it depends on.
EP_DEVICE bool fifo_has_room(const Fifo& fifo, u64 index, u64* tail) {
  if (index - *tail < fifo.commands) return true;
  *tail = load_remote(fifo.head + 1);
  if (index - *tail < fifo.commands) return true;
  if (index - *tail > fifo.commands) return false;
  const u64 now = load_acquire(fifo.ring);
  if (now == *tail) return false;
  store_remote(fifo.head + 1, now);
  *tail = now;
  return true;
}

// Everything that this thread has written or seen before, on the whole system, is visible to the proxy thread that takes the command. The lap's parity
// shows it that the command is there.
EP_DEVICE void fifo_put(const Fifo& fifo, u64 index, u64 word0, u64 word1) {
  u64* const place = (u64*)(fifo.ring + 128 + (index & (fifo.commands - 1)) * 16);
  const u64 phase = (index & fifo.commands) == 0 ? 1ull << 63 : 0;
  store_remote(place, word0);
  store_release(place + 1, word1 | phase);
}
