// Uses every name that a dialect offers, so that one that is missing somewhere does not compile, and writes down what each gives.
struct Op {
  u64* out;           // [threads, 32]
  char* memory;       // [threads, 64]
  u64* counters;      // [8], zero
  const char* input;  // 4096 bytes
  char* copied;       // 4096 bytes
};

EP_KERNEL(primitives, 128) {
  EP_SHARED int total;
  int t = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  u64* out = op.out + (u64)t * 32;
  if (threadIdx.x == 0) total = 0;
  sync_block();
  out[0] = (u64)lane();
  out[1] = (u64)warp();
  Lanes odd = ballot(lane() % 2 == 1);
  out[2] = (u64)odd;
  out[3] = (u64)count(odd);
  out[4] = (u64)lowest(odd);
  out[5] = (u64)shuffle(t, 5);
  out[6] = as_bits(shuffle(1.5f * (float)t, (lane() + 1) % EP_LANES));
  out[7] = shuffle((u64)t << 33, EP_LANES - 1 - lane());
  out[8] = (u64)shuffle_up(t, 3);
  out[9] = shuffle_xor((u32)t, 7);
  out[10] = as_bits(shuffle_xor((float)t, 16));
  out[11] = (u64)same(lane() / 3);
  out[12] = (u64)(EP_ALL_LANES == ballot(true));
  sync_lanes();
  add(&total, lane());
  sync_block();
  out[13] = (u64)total;
  char* mine = op.memory + (u64)t * 64;
  store_remote((Vec*)mine, Vec{(u32)t, 2, 3, 4});
  store_remote((u64*)(mine + 16), 5ull << 40);
  store_remote((u32*)(mine + 24), 0x80000000u);
  store_remote((int*)(mine + 28), -7);
  store_once((Vec*)(mine + 32), Vec{8, 9, 10, (u32)t});
  store_release(mine + 48, 11);
  fence_device();
  fence_system();
  out[14] = load_remote((const Vec*)mine).x + load_remote((const Vec*)mine).w;
  out[15] = load_remote((const u64*)(mine + 16));
  out[16] = load_remote((const u32*)(mine + 24));
  out[17] = (u64)load_remote((const int*)(mine + 28));
  out[18] = load_acquire(mine + 48);
  out[19] = load_once((const Vec*)op.input).y;
  add_acq_rel((u32*)op.counters, 1);
  if (t == 0) out[20] = swap_acq_rel((u32*)op.counters + 1, 9);
  add(op.counters + 1, (u64)t);
  add((int*)(op.counters + 2), 1);
  u64 before = nanoseconds();
  pause();
  out[21] = (u64)(nanoseconds() >= before);
  out[22] = as_bits(fma(1.0f + 0x1p-23f, 1.0f + 0x1p-23f, -1.0f));
  out[23] = as_bits(divide(1.0f, 3.0f));
  out[24] = as_bits(plus(multiply(1.0f + 0x1p-23f, 1.0f + 0x1p-23f), -1.0f));
  out[25] = as_bits(log2_near(8.0f));
  out[26] = as_bits(exp2_near(-3.0f));
  out[27] = as_bits(as_float(0x7fc12345u));
  out[28] = gridDim.x;
#if EP_HAS_E4M3
  out[29] = e4m3_pair(1.0f, -448.0f);
#endif
}

#if EP_HAS_E4M3
// One float of the input becomes one code.
EP_KERNEL(codes, 128) {
  u64 i = blockIdx.x * blockDim.x + threadIdx.x;
  ((u8*)op.copied)[i] = (u8)e4m3_pair(((const float*)op.input)[i], 0.0f);
}
#endif

#if EP_BULK
// Copies the input by way of shared memory.
EP_KERNEL(bulk, 32) {
  EP_DYNAMIC_SHARED(stage);
  EP_SHARED u64 barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    bulk_fence();
  }
  sync_block();
  for (u32 i = 0; i < 4; i++) {
    if (threadIdx.x == 0) {
      bulk_wait_read();
      barrier_expect(&barrier, 1024);
      bulk_load(stage, op.input + i * 1024, 1024, &barrier);
    }
    barrier_wait(&barrier, i & 1);
    sync_lanes();
    bulk_fence_global();
    if (threadIdx.x == 0) {
      bulk_store(op.copied + i * 1024, stage, 1024);
      bulk_commit();
    }
  }
  bulk_wait();
}
#endif
