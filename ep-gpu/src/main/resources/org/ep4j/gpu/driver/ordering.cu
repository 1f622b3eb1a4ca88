// Two GPUs write to each other in turns, data and then its flag, and look whether the data was there when the flag was. What
// they do is what the engine relies on: stores of many threads, a fence of one of them, a release store; an acquire load, loads.
struct Op {
  Vec* data;             // written by the peer
  u64* flag;             // likewise
  Vec* peer_data;
  u64* peer_flag;
  u64* result;           // wrong vectors, round of the first, rounds done
  u64 base;              // flags of this run lie above it
  u64 rounds;
  u64 vectors;           // of data
  u64 limit;             // longest wait for a flag, nanoseconds
  u64 first;             // 1 on the GPU that writes in odd rounds
};

EP_KERNEL(ordering, 256) {
  EP_SHARED u32 wrong;
  EP_SHARED u32 late;
  u64 all_wrong = 0, first_wrong = 0;
  for (u64 round = 1; round <= op.rounds; round++) {
    u32 salt = (u32)((op.base + round) * 2654435761u);
    if ((round & 1) == op.first) {
      for (u64 i = threadIdx.x; i < op.vectors; i += blockDim.x) {
        u32 v = salt + (u32)i;
        store_once(op.peer_data + i, Vec{v, ~v, v ^ 0x5a5a5a5au, v + 1});
      }
      sync_block();
      if (threadIdx.x == 0) {
        fence_system();
        store_release(op.peer_flag, op.base + round);
      }
      continue;
    }
    if (threadIdx.x == 0) {
      wrong = 0;
      late = 0;
      u64 start = nanoseconds();
      while (load_acquire(op.flag) < op.base + round) {
        if ((i64)(nanoseconds() - start) > (i64)op.limit) {  // clocks of GPUs may step back
          late = 1;
          break;
        }
        pause();
      }
    }
    sync_block();
    if (late) {
      break;
    }
    u32 mine = 0;
    for (u64 i = threadIdx.x; i < op.vectors; i += blockDim.x) {
      u32 v = salt + (u32)i;
      Vec seen = load_remote(op.data + i);
      mine += seen.x != v || seen.y != ~v || seen.z != (v ^ 0x5a5a5a5au) || seen.w != v + 1;
    }
    if (mine) {
      add((int*)&wrong, (int)mine);
    }
    sync_block();
    if (threadIdx.x == 0) {
      if (wrong && !first_wrong) {
        first_wrong = round;
      }
      all_wrong += wrong;
      op.result[0] = all_wrong;
      op.result[1] = first_wrong;
      op.result[2] = round;
    }
    sync_block();
  }
}
