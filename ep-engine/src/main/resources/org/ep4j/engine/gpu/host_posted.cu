// Transport of a rank that threads of the host post to, by commands in a ring. All of these functions are called by any number of threads at once. The commands
// for one rank go through one ring, and are executed in order.

// Waits where the ring is full. False when time is up, the host ends it or another wait has failed: the kernel then returns, and the host
// begins the rings anew before the next one, since the place stays empty. "phase" is for the record.
EP_DEVICE bool fifo_push_one(const Op& op, const Fifo& fifo, i64 peer, u64 word0, u64 word1, int phase) {
  u64 tail;
  const u64 index = fifo_take_index(fifo, &tail);
  if (!fifo_has_room(fifo, index, &tail)) {
    const u64 start = nanoseconds();
    u64 asked = start;
    bool room = false;
    while (!room) {
      for (int i = 0; i < 64 && !room; i++) {
        pause();
        room = fifo_has_room(fifo, index, &tail);
      }
      if (room) break;
      const u64 now = nanoseconds();
      if (failed(op)) return false;
      const bool aborted = is_aborted(op, peer, now, &asked);
      if (aborted || is_late(now, start, op.deadline)) {
        // This thread may have been off the processor meanwhile.
        if (fifo_has_room(fifo, index, &tail)) break;
        if (first_failure(op)) record(op, FAILURE_RING, phase, 0, peer, index + 1 - fifo.commands, tail, fifo.commands);
        return false;
      }
    }
  }
  fifo_put(fifo, index, word0, word1);
  return true;
}

// Where the threads of a wave run in step, one that has a place could not fill it while another one of the wave waits for the ring to move on:
// they take their places one after another.
EP_DEVICE bool fifo_push(const Op& op, const Fifo& fifo, i64 peer, u64 word0, u64 word1, int phase) {
  if (!EP_IN_STEP) return fifo_push_one(op, fifo, peer, word0, word1, phase);
  bool good = false;
  for (Lanes left = ballot(true); left; left &= left - 1) {
    if (lane() == lowest(left)) good = fifo_push_one(op, fifo, peer, word0, word1, phase);
    sync_lanes();
  }
  return good;
}

// A write of "bytes" from an offset in this rank's symmetric memory to one in the peer's; all multiples of 16.
EP_DEVICE bool fifo_write(const Op& op, const Fifo& fifo, i64 peer, u64 target, u64 source, u64 bytes, int phase) {
  return fifo_push(op, fifo, peer, fifo_write_word0(target, bytes), fifo_write_word1(peer, source), phase);
}

// After all writes to the peer that were pushed before, its counter becomes "value".
EP_DEVICE bool fifo_advance(const Op& op, const Fifo& fifo, i64 peer, int counter, u64 value, int phase) {
  return fifo_push(op, fifo, peer, value, fifo_advance_word1(peer, counter), phase);
}

// It has the methods of Mapped. Where a command finds no room in time the failure is recorded, and whatever the kernel waits for next fails.
struct HostPosted {
  const Op& op;
  const i64 rank;

  static constexpr bool PUTS_ROWS = false;

  EP_MEMBER void write(u64 there, const char* from, u64 bytes, int phase) const {
    if (bytes != 0) fifo_write(op, op.paths[rank].fifo, rank, there, (u64)(from - op.window), EP_ALIGNED_16(bytes), phase);
  }

  EP_MEMBER void put(u64 there, const char* from, u64 bytes, int phase) const {
    if (lane() == 0) write(there, from, bytes, phase);
  }

  // The flag is put later, with all others: see the end of an operation. The rank reads none before this rank's counter has reached the number.
  EP_MEMBER void put_with_signal(u64 there, const char* from, u64 bytes, u64* flag, u64 number, int phase) const {
    if (lane() != 0) return;
    store_published(flag, number);
    write(there, from, bytes, phase);
  }

  EP_MEMBER void put_with_signal(u64 there, const char* from, u64 bytes, Counter counter, u64 number, int phase) const {
    if (lane() != 0) return;
    write(there, from, bytes, phase);
    signal(counter, number, phase);
  }

  EP_MEMBER void signal(Counter counter, u64 value, int phase) const { fifo_advance(op, op.paths[rank].fifo, rank, counter, value, phase); }

  EP_MEMBER void flush(bool) const {}
};
