// Producers of commands for ci/fifo. Follows fifo.cu.
struct Op {
  const Fifo* fifos;  // [rings]
  u64 rings;
  u64 each;           // commands of a thread
  const u64* go;      // host memory: threads begin when it holds the epoch
  u64 epoch;
  const u64* answer;  // host memory: value of the last ping that a proxy thread has answered
  u64* samples;       // [pings + 4] ticks, then ticks and nanoseconds of begin and end
  u64 pings;
  u64 base;           // value of the last ping before
  u64* gave_up;       // host memory: 1 where a wait took longer than 20 s
};

#define PING_COUNTER 63
#define LONGEST 20000000000ull

// A finer clock than that of nanoseconds, where there is one.
#if defined(__CUDA_ARCH__) && !defined(EMULATED_LANES)
EP_DEVICE u64 ticks() { return (u64)clock64(); }
#else
EP_DEVICE u64 ticks() { return nanoseconds(); }
#endif

EP_DEVICE bool push(const Op& op, const Fifo& fifo, u64 word0, u64 word1) {
  u64 tail;
  const u64 index = fifo_take_index(fifo, &tail);
  if (!fifo_has_room(fifo, index, &tail)) {
    const u64 start = nanoseconds();
    while (!fifo_has_room(fifo, index, &tail)) {
      pause();
      if (nanoseconds() - start > LONGEST) {
        store_release(op.gave_up, 1);
        return false;
      }
    }
  }
  fifo_put(fifo, index, word0, word1);
  return true;
}

// One block a ring. Which numbers there are, and what stands in each command, is also in org.ep4j.cli.fifo.Pattern.
EP_KERNEL(fifo_fill, 1024) {
  if (threadIdx.x == 0) {
    const u64 start = nanoseconds();
    while (load_acquire(op.go) < op.epoch && nanoseconds() - start < LONGEST) pause();
  }
  sync_block();
  const Fifo fifo = op.fifos[blockIdx.x % op.rings];
  const u64 first = ((u64)blockIdx.x * blockDim.x + threadIdx.x) * op.each;
  for (u64 number = first; number < first + op.each; number++) {
    const bool advances = number % 8 == 7;
    const u64 word0 = advances ? number : fifo_write_word0((number & 0xfffffff) * 16, (1 + (number & 1023)) * 16);
    const u64 word1 = advances ? fifo_advance_word1(number & 63, (int)(number & 31)) : fifo_write_word1(number & 63, (number & 0xffffff) * 16);
    if (!push(op, fifo, word0, word1)) return;
  }
}

// One thread: puts a command and waits for the answer to it, again and again.
EP_KERNEL(fifo_ping, EP_LANES) {
  if (threadIdx.x != 0) return;
  const Fifo fifo = op.fifos[0];
  const u64 start = nanoseconds();
  while (load_acquire(op.go) < op.epoch && nanoseconds() - start < LONGEST) pause();
  u64* const calibration = op.samples + op.pings;
  calibration[0] = ticks();
  calibration[1] = nanoseconds();
  for (u64 i = 0; i < op.pings; i++) {
    const u64 value = op.base + i + 1;
    const u64 begin = ticks();
    if (!push(op, fifo, value, fifo_advance_word1(0, PING_COUNTER))) return;
    const u64 pushed = nanoseconds();
    while (load_acquire(op.answer) < value) {
      if (nanoseconds() - pushed > LONGEST) {
        store_release(op.gave_up, 1);
        return;
      }
    }
    op.samples[i] = ticks() - begin;
  }
  calibration[2] = ticks();
  calibration[3] = nanoseconds();
}
