// Kernels with one mistake each, chosen by op.mistake; 0 has none.
struct Op {
  u64* out;
  char* from;
  char* to;
  int mistake;
};

static __attribute__((noinline)) void deep() {
  volatile char room[300000];
  room[0] = room[299999] = 1;
}

EP_KERNEL(threads, 128) {
  EP_SHARED u32 total;
  if (op.mistake == 1) {
    // Uninitialised shared memory.
    sync_block();
  } else {
    if (threadIdx.x == 0) total = 0;
    sync_block();
  }
  add((int*)&total, 1);
  sync_block();
  if (op.mistake == 2) {
    if (lane() < 5) ballot(true);
    else sync_lanes();
  }
  if (op.mistake == 3) {
    if (lane() < 5) ballot(true);
    else ballot(false);
  }
  if (op.mistake == 4 && threadIdx.x != 77) {
    sync_block();
    if (threadIdx.x % 2) pause();
  }
  if (op.mistake == 4 && threadIdx.x == 77) ballot(true);
  if (op.mistake == 5) {
    if (threadIdx.x < 64) sync_block();
    else sync_block();
  }
  if (op.mistake == 6) *(volatile int*)(op.to + (16 << 10)) = 1;
  if (op.mistake == 7) load_remote((const u64*)(op.from + 4096));
  if (op.mistake == 8) load_remote((const u64*)(op.from + 4));
  if (op.mistake == 9) deep();
  if (op.mistake == 10) store_remote((int*)op.from, 1 / (int)(threadIdx.x * 0));
  if (op.mistake == 12) store_remote((int*)op.from, 1);
  if (op.mistake == 11 && lane() == 3) return;
  if (op.mistake == 11) shuffle(1, 3);
  if (threadIdx.x == 0) op.out[blockIdx.x] = total;
}

EP_KERNEL(copies, 64) {
  EP_DYNAMIC_SHARED(stage);
  EP_SHARED u64 barrier;
  if (threadIdx.x == 0) barrier_init(&barrier, 1);
  sync_block();
  if (threadIdx.x == 0) {
    barrier_expect(&barrier, op.mistake == 1 ? 1040 : 1024);
    bulk_load(stage, op.from + (op.mistake == 2 ? 8 : 0), op.mistake == 3 ? 1000 : 1024, &barrier);
  }
  if (op.mistake != 4) barrier_wait(&barrier, 0);
  sync_block();
  ((int*)stage)[threadIdx.x] += 1;
  sync_block();
  if (threadIdx.x == 0) {
    bulk_store(op.to + (op.mistake == 5 ? 3584 : 0), stage, 1024);
    if (op.mistake != 6) bulk_commit();
    if (op.mistake == 7) bulk_wait_read();
    if (op.mistake == 8) store_release(op.out, 1);
    if (op.mistake < 6) bulk_wait();
    if (op.mistake == 7) op.out[0] = ((u64*)op.to)[0];
    if (op.mistake == 9) bulk_wait_read();
  }
  if (op.mistake == 9) {
    sync_block();
    if (threadIdx.x == 32) add_acq_rel((u32*)op.out, 1);
  }
}
