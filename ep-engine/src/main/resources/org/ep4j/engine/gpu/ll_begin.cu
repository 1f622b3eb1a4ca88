// What dispatch and combine of low latency share: the head of a message, and numbers and credits of operations.
//
// Words of a message's head; scales come last. Of the first two one is the token.
#define EP_HEAD_EXPERTS 2                  // K: index on its rank
#define EP_HEAD_WEIGHTS (2 + EP_TOPK)      // K
#define EP_HEAD_RANKS (2 + 2 * EP_TOPK)    // K: rank, -1 where none
#define EP_HEAD_ORDINALS (2 + 3 * EP_TOPK) // K: selections of this expert by this source before this one
#define EP_HEAD_SCALES (2 + 4 * EP_TOPK)   // S

#define EP_DONE_LL_DISPATCH 8  // slots of State.done
#define EP_DONE_LL_COMBINE 9
#define EP_DONE_LL_DISPATCH_END 10
#define EP_DONE_LL_COMBINE_END 11

enum WireFormat { WIRE_BF16, WIRE_FP8, WIRE_FP8_POW2, WIRE_FP8_UE8M0 };

// ---- Numbers and credits, of dispatch and combine.
// Number up to which this rank has emptied both banks of its symmetric memory.
EP_DEVICE u64 emptied(const u64* taken) {
  const u64 even = taken[0] ? taken[0] : 1, odd = taken[1];
  return even < odd ? even : odd;
}

// Announces to all ranks what this one has received until now. The kernels before the sending one that calls this have ended; the one that receives the
// same operation may run beside it and have marked the bank, from which its other blocks still read, so that operation is left out. Called by a wave.
EP_DEVICE void give_credit(const Op& op, int counter, u64 number) {
  u64 dispatch = emptied(op.state->ll_dispatch_taken), combine = emptied(op.state->ll_combine_taken);
  if (counter == LL_DISPATCH_CREDIT && dispatch >= number) dispatch = number - 1;
  if (counter == LL_COMBINE_CREDIT && combine >= number) combine = number - 1;
  for (int r = lane(); r < EP_RANKS; r += EP_LANES) {
    if (is_masked(op, r)) continue;
    // Nothing comes before them that a flush would have to show.
    with_transport(op, op.peers[r], r, [&](auto to) {
      to.signal(LL_DISPATCH_CREDIT, dispatch, PHASE_LL_DISPATCH_CREDIT);
      to.signal(LL_COMBINE_CREDIT, combine, PHASE_LL_COMBINE_CREDIT);
    });
  }
}

// Least of the credits that ranks have given. Called by a wave.
EP_DEVICE u64 least_credit(const Op& op, int counter) {
  u64 least = ~0ull;
  for (int r = lane(); r < EP_RANKS; r += EP_LANES) {
    const u64 seen = load_acquire(counter_of(op, counter, r));
    if (!is_masked(op, r) && seen < least) least = seen;
  }
  for (int by = 1; by < EP_LANES; by *= 2) {
    const u64 other = shuffle(least, lane() ^ by);
    if (other < least) least = other;
  }
  return least;
}

// Waits until all ranks have emptied the bank of an operation. Called by all threads of a block, with the same result.
EP_DEVICE bool await_credits(const Op& op, int counter, u64 number, int phase) {
  bool good = true;
  // Two ranks that wait for each other must both have said what they have.
  if (warp() == 0) give_credit(op, counter, number);
  for (int r = threadIdx.x; r < EP_RANKS; r += blockDim.x) good &= is_masked(op, r) || await(op, counter, r, number - 2, phase);
  return all_threads(good);
}

// Every block has seen the number that was: the next one begins there. Called by one thread of each block.
EP_DEVICE void count_operation(const Op& op, int slot, u64* newest, u64* of_bank, u32* refused, u64 number) {
  if (add((int*)&op.state->done[slot], 1) != (int)gridDim.x - 1) return;
  op.state->done[slot] = 0;
  *newest = number;
  *of_bank = number;
  *refused = 0;
}
