// What all kernels share: the arguments of an operation, the layout of memory, counters and waits.
//
// Given by the compiler as macros, from org.ep4j.engine.gpu.KernelSource: EP_RANKS, EP_HIDDEN, EP_EXPERTS, EP_TOPK, EP_SCALES (of a
// row, whether it is sent with them or not), EP_MAX_TOKENS, EP_MAX_LL_TOKENS, EP_CAPACITY (rows that can be received), and of BufferLayout
// EP_ANNOUNCEMENTS, EP_ANNOUNCEMENT_BYTES, EP_ROWS, EP_RECORDS, EP_RECORD_BYTES, EP_COMBINE_AREA, EP_COMBINE_WEIGHTS, EP_MESSAGES, EP_MESSAGE_HEAD,
// EP_MESSAGE_BYTES, EP_MESSAGE_FLAGS, EP_LL_COUNTS, EP_LL_COUNT_BYTES, EP_COMBINE_SLOTS, EP_COMBINE_SLOT_HEAD, EP_COMBINE_SLOT_BYTES, EP_COMBINE_FLAGS; of KernelSizes
// EP_CHUNK, EP_PIECE, EP_STAGED_RECORDS; of WindowLayout those that path.cu names, EP_CHANNELS among them: channels of each kind, 0 where all ranks write to
// each other's symmetric memory. EP_HOST_POSTED and EP_DEVICE_POSTED say whether there are such paths. Kernels test these, and what a dialect has, in plain
// conditions: what is never true is not compiled.
#define EP_MAX_TARGETS (EP_TOPK < EP_RANKS ? EP_TOPK : EP_RANKS)
#define EP_BF16_ROW (2 * EP_HIDDEN)
#define EP_FP8_ROW EP_HIDDEN
#define EP_HAS_CHANNELS (EP_CHANNELS > 0)
#define EP_ALIGNED_16(bytes) (((bytes) + 15) / 16 * 16)

// ---- In place of what a dialect lacks.
#if !EP_HAS_BF16
EP_DEVICE u32 round_bits(u32 bits) { return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fff0000u : bits + 0x7fffu + ((bits >> 16) & 1); }
EP_DEVICE u32 bf16_pair(float low, float high) { return (round_bits(as_bits(low)) >> 16) | (round_bits(as_bits(high)) & 0xffff0000u); }
#endif
// These are never called.
#if !EP_HAS_E4M3
EP_DEVICE u32 e4m3_pair(float, float) { return 0; }
#endif
#if !EP_NAMED_BARRIERS
EP_DEVICE void arrive(int, int) {}
EP_DEVICE void meet(int, int) {}
#endif
#if !EP_BULK
EP_DEVICE void barrier_init(u64*, u32) {}
EP_DEVICE void barrier_expect(u64*, u32) {}
EP_DEVICE void barrier_wait(u64*, u32) {}
EP_DEVICE void bulk_load(void*, const void*, u32, u64*) {}
EP_DEVICE void bulk_store(void*, const void*, u32) {}
// These have nothing to do.
EP_DEVICE void bulk_commit() {}
EP_DEVICE void bulk_wait_read() {}
EP_DEVICE void bulk_wait() {}
EP_DEVICE void bulk_fence() {}
EP_DEVICE void bulk_fence_global() {}
#endif

// Order of org.ep4j.engine.layout.Counter and Announcement.
enum Counter { HT_ENTER, HT_DATA, HT_DONE, LL_DISPATCH, LL_DISPATCH_CREDIT, LL_COMBINE, LL_COMBINE_CREDIT, HT_ROUND };
enum AnnouncementKind { ANNOUNCE_HT, ANNOUNCE_LL_DISPATCH, ANNOUNCE_LL_COMBINE };
// Order of org.ep4j.engine.gpu.KernelFailures.Phase.
enum Phase { PHASE_BEGIN, PHASE_DISPATCH_ROWS, PHASE_COMBINE_ROWS, PHASE_COMBINE_END, PHASE_LL_DISPATCH_CREDIT, PHASE_LL_DISPATCH_RECEIVE, PHASE_LL_COMBINE_CREDIT, PHASE_LL_COMBINE_RECEIVE };

// Kept in device memory, one for each rank of a buffer. The numbers live here and not in the arguments, so that a captured graph can be
// replayed. Order of org.ep4j.engine.gpu.DeviceState.
struct State {
  u64 ht_number;           // of the high-throughput operation under way, or the last one
  u64 ll_dispatch_number;  // likewise
  u64 ll_combine_number;   // likewise
  u64 ll_dispatch_of[2];   // number of the dispatch that op.bank stands for
  u64 ll_combine_of[2];
  u64 ll_dispatch_taken[2];  // of the banks of symmetric memory: one more than the number of the newest operation that is received; 0 at first
  u64 ll_combine_taken[2];
  u64 mask_digest;
  u64 abort_asked;         // when a thread last read op.abort, by the clock of the GPU
  u64 ht_opened;           // how often the blocks of a high-throughput operation have been let go on, see ht_enter
  u64 ht_gathered;         // number of the high-throughput operation that all have begun; announcements of ranks with channels are there, see gather_announcements
  u32 failed;              // a wait ended without success: kernels do nothing until the host has read the record
  u32 refused;             // the high-throughput operation under way sends nothing: bad ids, too many rows
  u32 done[16];            // blocks that are done with a kernel: zero before and after
  u32 scratch[16];
  u32 ll_refused[4];       // the low-latency dispatch, and from 2 on combine, that op.bank stands for has sent nothing
  u32 masked[EP_RANKS];    // 1 for ranks that are left out
};

// In host memory; the first failure since the host read the record. Order of org.ep4j.engine.gpu.KernelFailures.Kind.
enum FailureKind { FAILURE_NOTHING, FAILURE_WAIT, FAILURE_MISMATCH, FAILURE_BAD_ID, FAILURE_OVERFLOW, FAILURE_DUPLICATES, FAILURE_ABORTED, FAILURE_OUT_TOO_SMALL, FAILURE_VOID_HANDLE, FAILURE_NO_ROOM, FAILURE_RING };
struct Failure {
  u64 kind;
  u64 phase;
  u64 counter;   // WAIT
  u64 peer;      // WAIT, MISMATCH; OVERFLOW: the rank that would receive too much
  u64 expected;  // WAIT; RING: commands taken; MISMATCH: word of the block; OVERFLOW: EP_CAPACITY; BAD_ID: token; DUPLICATES: expert (seen: token); NO_ROOM: blocks
  u64 seen;      // WAIT; RING; OVERFLOW, OUT_TOO_SMALL: rows; BAD_ID: place in the token's list; NO_ROOM: blocks that began
  u64 value;     // BAD_ID: the id; WAIT: number of the operation
  u64 sequence;  // of the call on this rank, see Op
  u64 mine[8];   // MISMATCH: this rank's announcement. Refused operations: how many more were refused since, at most 15, then their sequences
  u64 theirs[8];
  u64 deadline;  // nanoseconds that waits of the operation could take
};

// How this rank writes to another one, and where it finds what that one writes. A path is mapped where the rank's memory is stored to; else what is stored
// in this rank's window is posted, by threads of the host or by kernels. Order of org.ep4j.engine.gpu.PathTable.
enum PathKind { PATH_MAPPED, PATH_HOST_POSTED, PATH_DEVICE_POSTED };
struct Path {
  i64 kind;
  i64 comes;        // kind of the path from the rank to this one, in the plan: PATH_DEVICE_POSTED also where its kernels store
  char* out;        // channel to the rank: where the path is mapped the rank's end of it, else this rank's; 0: no channel but the rank's symmetric memory
  const char* in;   // channel from the rank; 0: the rank writes to this rank's symmetric memory
  char* counters;   // of the rank, as this GPU stores to them; where the path is mapped
  char* arrived;    // counters that the rank advances here, as in symmetric memory: host memory where the host posts, else memory of its window
  u64 there;        // offset of the rank's end of "out" in its window
  i64 number;       // PATH_DEVICE_POSTED: of the rank in calls of the device library
  i64 via;          // see via_to
  i64 comes_via;    // see via_from
  Fifo fifo;        // PATH_HOST_POSTED
};

// Arguments of every kernel; those that a kernel does not need are 0. Order of org.ep4j.engine.gpu.Param. All fields have 8 bytes.
struct Op {
  char* const* peers;    // symmetric memory of every rank; with a channel its window where that is mapped, else this rank's
  char* local;           // of this rank
  State* state;
  Failure* failure;      // host memory
  const u64* abort;      // host memory [1 + R]: not 0 ends all waits, or those for a rank
  u64 deadline;          // nanoseconds that a wait may take
  u64 sequence;          // of the call on this rank, for the failure record
  i64 rank;
  i64 local_experts;
  const int* owner;      // [E]: rank of an expert
  const int* local_of;   // [E]: index of an expert on its rank
  i64 kind;              // what the ranks must agree on: words 1 and 2 of the block
  i64 flags;
  i64 tokens;
  i64 bank;              // which of two results of low latency
  const char* x;
  const void* ids;       // [T, K]
  i64 wide_ids;          // 1: 64 bits each
  const float* weights;  // [T, K] or null
  const float* scales;   // [T, S] or null
  char* handle;          // device memory of a handle, see below
  u64* counts;           // host memory: rows received (padding left out), rows that the caller sees, then L selections of experts, then L + 1 offsets
  i64 rows;              // rows that the caller sees in the worst case, or the most that the caller's tensors for rows hold
  i64 alignment;         // of an expert's group
  i64 by_expert;
  i64 zero_padding;
  char* out;             // rows
  float* out_scales;     // [rows, S]; of high throughput at a multiple of 16 bytes
  void* out_ids;         // [rows, K], 64 bits where wide_ids
  float* out_weights;    // [rows, K] or [rows]
  int* source_ranks;
  int* source_tokens;
  int* rows_per_source;  // [R]
  int* rows_per_expert;  // [L]
  i64* expert_offsets;   // [L + 1]
  const char* bias0;
  const char* bias1;
  i64 input;             // combine: where this rank's rows begin in its symmetric memory
  i64 partial;           // low-latency combine: rank-partial
  i64 log_fmt;
  i64 format;            // low-latency dispatch: ordinal of WireFormat
  u32* ll_counts;        // [L]
  i64* ranges;           // [L, R]
  int* statistics;       // [L] or null
  u64* wait_statistics;  // [R] or null
  char* temporary;       // device memory that holds nothing between operations, see org.ep4j.engine.gpu.KernelSizes
  i64 extra;             // what a kernel of its own needs
  const Path* paths;     // [R]; with EP_CHANNELS
  char* window;          // memory that NICs reach: announcements as in symmetric memory, then channels; with EP_CHANNELS
};

// Whether what goes to a rank goes through a channel, and whether what comes from one does.
EP_DEVICE bool has_channel_to(const Op& op, i64 rank) { return EP_HAS_CHANNELS && op.paths[rank].out != 0; }
EP_DEVICE bool has_channel_from(const Op& op, i64 source) { return EP_HAS_CHANNELS && op.paths[source].in != 0; }
EP_DEVICE bool is_posted(const Op& op, i64 rank) { return EP_HAS_CHANNELS && op.paths[rank].kind != PATH_MAPPED; }

// Offset in a rank's window of what is at "at" in the channel to it.
EP_DEVICE u64 place_there(const Op& op, i64 rank, const char* at) { return EP_HAS_CHANNELS ? op.paths[rank].there + (u64)(at - op.paths[rank].out) : 0; }

// Memory that holds a rank's announcements.
EP_DEVICE char* written_by(const Op& op, i64 source) { return has_channel_from(op, source) ? op.window : op.local; }

// ---- A handle of high throughput. One that sends: where each selection goes. One that receives: where each row came from.
struct HandleHead {
  u64 number;      // of the dispatch that made it
  i64 received;    // rows, no padding
  i64 rows;        // that the caller sees, padding included
  i64 tokens;
};
#define EP_TK ((u64)EP_MAX_TOKENS * EP_TOPK)
#define EP_ALIGNED(bytes) (((bytes) + 255) / 256 * 256)
#define EP_HANDLE_HEAD 256
#define EP_HANDLE_IDS EP_HANDLE_HEAD                                                   // int [T, K]: global id, -1 where none or masked
#define EP_HANDLE_TARGET_RANK (EP_HANDLE_IDS + EP_ALIGNED(4 * EP_TK))                   // int [T, K]: rank where this selection is the token's first; -1 where it is not the first
#define EP_HANDLE_TARGET_ROW (EP_HANDLE_TARGET_RANK + EP_ALIGNED(4 * EP_TK))            // int [T, K]: the row there; -1 where it is not the first
#define EP_HANDLE_SOURCE_RANK (EP_HANDLE_TARGET_ROW + EP_ALIGNED(4 * EP_TK))            // int [capacity]
#define EP_HANDLE_SOURCE_TOKEN (EP_HANDLE_SOURCE_RANK + EP_ALIGNED(4ull * EP_CAPACITY)) // int [capacity]
#define EP_HANDLE_LOCAL_IDS (EP_HANDLE_SOURCE_TOKEN + EP_ALIGNED(4ull * EP_CAPACITY))   // int [capacity, K]: local expert, -1 where elsewhere
#define EP_HANDLE_EXPANDED (EP_HANDLE_LOCAL_IDS + EP_ALIGNED(4ull * EP_CAPACITY * EP_TOPK))  // int [capacity, K]: row by expert, -1 where elsewhere
#define EP_HANDLE_ROWS_FROM (EP_HANDLE_EXPANDED + EP_ALIGNED(4ull * EP_CAPACITY * EP_TOPK))  // int [R]
#define EP_HANDLE_EXPERT_ROWS (EP_HANDLE_ROWS_FROM + EP_ALIGNED(4ull * EP_RANKS))       // int [L], L at most E
#define EP_HANDLE_OFFSETS (EP_HANDLE_EXPERT_ROWS + EP_ALIGNED(4ull * EP_EXPERTS))       // i64 [L + 1]
#define EP_HANDLE_SELECTIONS_FROM (EP_HANDLE_OFFSETS + EP_ALIGNED(8ull * (EP_EXPERTS + 1)))  // int [R]; by expert only
#define EP_HANDLE_FIRST (EP_HANDLE_SELECTIONS_FROM + EP_ALIGNED(4ull * EP_RANKS))  // int [R]: this rank's first row there; with EP_CHANNELS
#define EP_HANDLE_SENT (EP_HANDLE_FIRST + EP_ALIGNED(4ull * EP_RANKS))                // int [R]: its rows there; with EP_CHANNELS
#define EP_HANDLE_BYTES (EP_HANDLE_SENT + EP_ALIGNED(4ull * EP_RANKS))

// ---- A handle of low latency.
struct LowLatencyHandleHead {
  u64 number;
  i64 tokens;
  i64 weighted;    // 1: the dispatch carried weights
  u64 incomplete;  // 1: not all was received
};
#define EP_LL_TK ((u64)EP_MAX_LL_TOKENS * EP_TOPK)
#define EP_LL_MESSAGES ((u64)EP_MAX_LL_TOKENS * EP_RANKS)
#define EP_LL_HANDLE_IDS 256                                                                   // int [T, K]: global id, -1 where none or masked
#define EP_LL_HANDLE_OWNERS (EP_LL_HANDLE_IDS + EP_ALIGNED(4 * EP_LL_TK))                       // int [T, K]: rank of it, -1 where none or masked
#define EP_LL_HANDLE_WEIGHTS (EP_LL_HANDLE_OWNERS + EP_ALIGNED(4 * EP_LL_TK))                   // float [T, K]
#define EP_LL_HANDLE_COUNTS (EP_LL_HANDLE_WEIGHTS + EP_ALIGNED(4 * EP_LL_TK))                   // int [R]: messages received from each rank
#define EP_LL_HANDLE_TOKENS (EP_LL_HANDLE_COUNTS + EP_ALIGNED(4ull * EP_RANKS))                 // int [R, MAX_LL_TOKENS]: token of each message
#define EP_LL_HANDLE_ROWS (EP_LL_HANDLE_TOKENS + EP_ALIGNED(4 * EP_LL_MESSAGES))                // int [R, MAX_LL_TOKENS, K]: row in [L * rows an expert], -1 where elsewhere
#define EP_LL_HANDLE_ROW_WEIGHTS (EP_LL_HANDLE_ROWS + EP_ALIGNED(4 * EP_LL_MESSAGES * EP_TOPK)) // float [R, MAX_LL_TOKENS, K]
#define EP_LL_HANDLE_BYTES (EP_LL_HANDLE_ROW_WEIGHTS + EP_ALIGNED(4 * EP_LL_MESSAGES * EP_TOPK))

EP_DEVICE int* handle_ints(const Op& op, u64 offset) { return (int*)(op.handle + offset); }

// ---- Symmetric memory.
EP_DEVICE char* counter_at(char* base, int kind, i64 source) { return base + ((u64)kind * EP_RANKS + source) * 64; }
// A rank's counter here. Those of ranks that the host posts for are in memory of the host, which writes them when this GPU sees what they stand for.
EP_DEVICE const u64* counter_of(const Op& op, int kind, i64 source) {
  char* const arrived = EP_HAS_CHANNELS ? op.paths[source].arrived : 0;
  return (const u64*)counter_at(arrived != 0 ? arrived : op.local, kind, source);
}
// This rank's counter at another one, whose memory is "peer" where it has no channel. Where this GPU maps the rank.
EP_DEVICE char* counter_to(const Op& op, char* peer, i64 rank, int kind) { return counter_at(has_channel_to(op, rank) ? op.paths[rank].counters : peer, kind, op.rank); }
EP_DEVICE char* announcement_at(char* base, int kind, u64 number, i64 source) {
  return base + EP_ANNOUNCEMENTS + ((kind * 2ull + (number & 1)) * EP_RANKS + source) * EP_ANNOUNCEMENT_BYTES;
}
EP_DEVICE int* announcement_ints(char* announcement) { return (int*)(announcement + 64); }
EP_DEVICE char* record_at(char* base, i64 row) { return base + EP_RECORDS + (u64)row * EP_RECORD_BYTES; }
EP_DEVICE char* message_at(char* base, u64 number, i64 source, i64 index) {
  return base + EP_MESSAGES + (((number & 1) * EP_RANKS + source) * (u64)EP_MAX_LL_TOKENS + index) * EP_MESSAGE_BYTES;
}
EP_DEVICE u64* message_flag_at(char* base, u64 number, i64 source, i64 index) {
  return (u64*)(base + EP_MESSAGE_FLAGS) + ((number & 1) * EP_RANKS + source) * (u64)EP_MAX_LL_TOKENS + index;
}
EP_DEVICE u64* ll_counts_at(char* base, u64 number, i64 source) {
  return (u64*)(base + EP_LL_COUNTS + ((number & 1) * EP_RANKS + source) * (u64)EP_LL_COUNT_BYTES);
}
EP_DEVICE char* combine_slot_at(char* base, u64 number, i64 token, i64 k) {
  return base + EP_COMBINE_SLOTS + (((number & 1) * EP_MAX_LL_TOKENS + token) * (u64)EP_TOPK + k) * EP_COMBINE_SLOT_BYTES;
}
EP_DEVICE u64* combine_flag_at(char* base, u64 number, i64 token, i64 k) {
  return (u64*)(base + EP_COMBINE_FLAGS) + ((number & 1) * EP_MAX_LL_TOKENS + token) * (u64)EP_TOPK + k;
}
EP_DEVICE char* selection_slot_at(char* base, i64 token, i64 k) { return base + EP_COMBINE_AREA + ((u64)token * EP_TOPK + k) * EP_BF16_ROW; }

// ---- Failures. One thread records; no thread traps.
EP_DEVICE bool failed(const Op& op) { return *(volatile u32*)&op.state->failed != 0; }

EP_DEVICE bool first_failure(const Op& op) { return swap_acq_rel(&op.state->failed, 1) == 0; }

// Stores a word of a failure after the others. No release: a failure covers no copies, which may be in flight.
EP_DEVICE void store_failure(u64* p, u64 v) {
  fence_system();
  store_remote(p, v);
}

EP_DEVICE void record(const Op& op, u64 kind, u64 phase, u64 counter, u64 peer, u64 expected, u64 seen, u64 value) {
  volatile Failure* f = op.failure;
  f->phase = phase;
  f->counter = counter;
  f->peer = peer;
  f->expected = expected;
  f->seen = seen;
  f->value = value;
  f->sequence = op.sequence;
  f->deadline = op.deadline;
  store_failure(&op.failure->kind, kind);
}

// For failures that concern one operation only and leave the buffer usable. Called by one thread.
EP_DEVICE void refuse(const Op& op, u32* flag, u64 kind, u64 peer, u64 expected, u64 seen, u64 value) {
  *(volatile u32*)flag = 1;
  volatile Failure* f = op.failure;
  const u64 before = load_acquire(&op.failure->kind);
  if (before == FAILURE_WAIT || before == FAILURE_MISMATCH || before == FAILURE_ABORTED || before == FAILURE_NO_ROOM || before == FAILURE_RING) return;
  if (before != FAILURE_NOTHING) {
    // The host has not read the record since another one was refused: most often the dispatch that this one follows.
    const u64 more = f->mine[0];
    if (more < 15) {
      *(more < 7 ? &f->mine[1 + more] : &f->theirs[more - 7]) = op.sequence;
      store_failure(&op.failure->mine[0], more + 1);
    }
    if (load_acquire(&op.failure->kind) != FAILURE_NOTHING) return;
  }
  f->mine[0] = 0;
  record(op, kind, 0, 0, peer, expected, seen, value);
}

// Upper half of a packed word of an operation. Never 0, which fresh memory holds.
EP_DEVICE u32 tag_of(u64 number) { return (u32)number | 1u << 31; }

// Whether a word that is waited for has reached a number: a counter or flag holds a number, a packed one has its tag in its upper half.
EP_DEVICE bool reached(u64 seen, u64 number, bool packed) { return packed ? (u32)(seen >> 32) == tag_of(number) : seen >= number; }

// Whether a wait that began at "start" takes longer than "limit". Signed: clocks of GPUs may step back.
EP_DEVICE bool is_late(u64 now, u64 start, u64 limit) { return (i64)(now - start) > (i64)limit; }

// Whether the host ends waits for a rank. Host memory is far away, and thousands of threads may wait: one of them reads it every 100 us, and when it gives
// up, "failed" ends the waits of the others. "asked" is when this thread last tried to read, or began to wait; a different time for each, so that each
// gets a turn.
EP_DEVICE bool is_aborted(const Op& op, i64 source, u64 now, u64* asked) {
  if ((i64)(now - *asked) < 100000) return false;
  *asked = now + (u64)((u32)(now ^ threadIdx.x * 977u ^ blockIdx.x * 7919u) * 2654435761u >> 15);
  u64* const turn = &op.state->abort_asked;
  const u64 before = load_remote(turn);
  if ((i64)(now - before) < 100000 || !swap_if(turn, before, now)) return false;
  return load_acquire(op.abort) != 0 || load_acquire(op.abort + 1 + source) != 0;
}

// Waits for a word, which belongs to a counter and a rank, or, where "other" is given, until that packed one is there. False when time is up, the
// host ends it or another wait has failed: the kernel then returns. "seen" is what the word holds.
EP_DEVICE bool await_word(const Op& op, const u64* p, bool packed, u64* seen, int counter, i64 source, u64 number, int phase, const u64* other = 0) {
  *seen = load_acquire(p);
  if (reached(*seen, number, packed)) return true;
  u64 start = nanoseconds();
  u64 asked = start;
  while (true) {
    for (int i = 0; i < 64; i++) {
      // In this order: what the other word publishes may arrive together with it.
      const bool more = other && reached(load_polled(other), number, true);
      if (more) acquire_polled();
      *seen = load_polled(p);
      if (more || reached(*seen, number, packed)) {
        acquire_polled();
        return true;
      }
      pause();
    }
    u64 now = nanoseconds();
    if (failed(op)) return false;
    const bool aborted = is_aborted(op, source, now, &asked);
    if (aborted || is_late(now, start, op.deadline)) {
      // This thread may have been off the processor meanwhile.
      *seen = load_acquire(p);
      if (reached(*seen, number, packed)) return true;
      if (first_failure(op)) record(op, aborted ? FAILURE_ABORTED : FAILURE_WAIT, phase, counter, source, number, *seen, number);
      return false;
    }
  }
}

// Waits until a counter reaches the number.
EP_DEVICE bool await(const Op& op, int counter, i64 source, u64 number, int phase) {
  u64 seen;
  return await_word(op, counter_of(op, counter, source), false, &seen, counter, source, number, phase);
}

// Whether a peer announced the same as this rank; records a mismatch otherwise. Called by one thread a peer.
EP_DEVICE bool same_announcement(const Op& op, int kind, u64 number, i64 source, int word_count, const u64* mine, int phase) {
  const u64* announced = (const u64*)announcement_at(written_by(op, source), kind, number, source);
  u64 theirs[8];
#pragma unroll
  for (int w = 0; w < 8; w++) theirs[w] = load_remote(announced + w);
  int word = -1;
  u64 seen = 0;
#pragma unroll
  for (int w = 7; w >= 0; w--) {
    if (w >= word_count || theirs[w] == mine[w]) continue;
    word = w;
    seen = theirs[w];
  }
  if (word < 0) return true;
  if (first_failure(op)) {
    volatile Failure* f = op.failure;
#pragma unroll
    for (int i = 0; i < 8; i++) {
      f->mine[i] = mine[i];
      f->theirs[i] = theirs[i];
    }
    record(op, FAILURE_MISMATCH, phase, kind, source, word, seen, number);
  }
  return false;
}

// Proxies and NICs read what is posted from memory that may be cached.
EP_DEVICE void fence_last_block() {
  if (EP_HAS_CHANNELS) fence_system();
  else fence_published();
}

// True for exactly one block of a grid, the last to arrive here; everything that the others did before is then visible to it, on the
// whole system after fence_last_block. Called by all threads of a block; "slot" is one of the kernel's own in State.done.
EP_DEVICE bool last_block(const Op& op, int slot) {
  EP_SHARED u32 last;
  sync_block();
  if (threadIdx.x == 0) {
    fence_last_block();
    last = add_acq_rel(&op.state->done[slot], 1) == gridDim.x - 1;
    if (last) {
      op.state->done[slot] = 0;
      fence_last_block();
    }
  }
  sync_block();
  return last;
}

EP_DEVICE bool is_masked(const Op& op, i64 rank) { return op.state->masked[rank] != 0; }

// ---- Numbers, rounded as on the host; every NaN becomes 0x7fff.
EP_DEVICE float low_half(u32 pair) { return as_float(pair << 16); }
EP_DEVICE float high_half(u32 pair) { return as_float(pair & 0xffff0000u); }

// ---- Sums of rows: BF16 rows in FP32, in order, from +0, rounded once.
EP_DEVICE void add_pairs(float* sums, Vec v) {
  sums[0] = plus(sums[0], low_half(v.x));
  sums[1] = plus(sums[1], high_half(v.x));
  sums[2] = plus(sums[2], low_half(v.y));
  sums[3] = plus(sums[3], high_half(v.y));
  sums[4] = plus(sums[4], low_half(v.z));
  sums[5] = plus(sums[5], high_half(v.z));
  sums[6] = plus(sums[6], low_half(v.w));
  sums[7] = plus(sums[7], high_half(v.w));
}

EP_DEVICE Vec round_sums(const float* sums) {
  return Vec{bf16_pair(sums[0], sums[1]), bf16_pair(sums[2], sums[3]), bf16_pair(sums[4], sums[5]), bf16_pair(sums[6], sums[7])};
}
