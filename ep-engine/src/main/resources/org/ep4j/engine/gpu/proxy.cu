// Commands for peers that host threads post to. Follows op.cu and fifo.cu. All of these are called by any number of threads at once. The
// commands for one peer go through one ring.

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
#if EP_IN_STEP
  bool good = false;
  for (Lanes left = ballot(true); left; left &= left - 1) {
    if (lane() == lowest(left)) good = fifo_push_one(op, fifo, peer, word0, word1, phase);
    sync_lanes();
  }
  return good;
#else
  return fifo_push_one(op, fifo, peer, word0, word1, phase);
#endif
}

// A write of "bytes" from an offset in this rank's symmetric memory to one in the peer's; all multiples of 16.
EP_DEVICE bool fifo_write(const Op& op, const Fifo& fifo, i64 peer, u64 target, u64 source, u64 bytes, int phase) {
  return fifo_push(op, fifo, peer, fifo_write_word0(target, bytes), fifo_write_word1(peer, source), phase);
}

// After all writes to the peer that were pushed before, its counter becomes "value".
EP_DEVICE bool fifo_advance(const Op& op, const Fifo& fifo, i64 peer, int counter, u64 value, int phase) {
  return fifo_push(op, fifo, peer, value, fifo_advance_word1(peer, counter), phase);
}
