// Transport of a rank whose memory this GPU maps: its threads store where the rank reads.
//
// Mapped, HostPosted and DevicePosted have the same methods, so that kernels are written once; see with_transport. What is put has been stored where
// channel_to, or announcement_at with op.peers, says: for this transport that is the rank's own memory.
struct Mapped {
  const Op& op;
  const i64 rank;
  char* const peer;  // symmetric memory of the rank; used where it has no channel

  // Whether rows are put one by one as soon as they are stored, rather than all at once.
  static constexpr bool PUTS_ROWS = false;

  // Puts what has been stored. Called by all lanes of a wave, all of which see it.
  //
  // @param there offset in the rank's window where it goes
  // @param from where it has been stored, a multiple of 16 bytes
  // @param bytes of it; up to the next multiple of 16 go along
  // @param phase for the failure record
  EP_MEMBER void put(u64 /*there*/, const char* /*from*/, u64 /*bytes*/, int /*phase*/) const {}

  // As put, and sets a flag behind it. Called by all lanes of a wave, all of which see what has been stored.
  //
  // @param flag where this rank stores it, in the same memory as "from"
  // @param number that it is set to
  EP_MEMBER void put_with_signal(u64 /*there*/, const char* /*from*/, u64 /*bytes*/, u64* flag, u64 number, int /*phase*/) const {
    if (lane() == 0) store_published(flag, number);
  }

  // As above, with one of this rank's counters at the rank for a flag.
  EP_MEMBER void put_with_signal(u64 /*there*/, const char* /*from*/, u64 /*bytes*/, Counter counter, u64 number, int phase) const {
    if (lane() == 0) signal(counter, number, phase);
  }

  // Advances one of this rank's counters at the rank. Called by one thread.
  EP_MEMBER void signal(Counter counter, u64 value, int /*phase*/) const {
    store_published(counter_to(op, peer, rank, counter), value);
  }

  // What has been put before, and is seen by the calling thread, is there before what it signals next. Called by one thread.
  //
  // @param puts whether anything was put without a signal of its own
  EP_MEMBER void flush(bool /*puts*/) const {}
};
