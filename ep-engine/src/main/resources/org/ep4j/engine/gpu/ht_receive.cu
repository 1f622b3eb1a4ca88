// High-throughput dispatch, the receiving half.
//
//   ht_receive  unpacks the records of received rows, which stay where they are, into results and handle

// The source of a row: the last rank whose first row is not behind it.
EP_DEVICE int source_of(const int* start, i64 row) {
  int low = 0;
  int high = EP_RANKS;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (start[middle] <= row) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

EP_DEVICE const u32* received_record(const Op& op, i64 row) { return (const u32*)record_at(op.local, row); }

struct Received {
  const int* start;  // [R + 1], shared memory: first row of each source
  i64 rows;
  bool fresh;        // the routing is new
  bool silent;       // it is not, and a rank that sent in it may be masked since: its rows keep their places, as zeros
};

EP_DEVICE bool is_silent(const Op& op, const Received& in, i64 row) { return in.silent && is_masked(op, source_of(in.start, row)); }

// Rows that masked ranks do not send again.
EP_DEVICE void clear_silent(const Op& op, const Received& in) {
  u32 bytes = row_bytes_of(op);
  i64 warps = (i64)gridDim.x * (blockDim.x / EP_LANES);
  for (i64 row = (i64)blockIdx.x * (blockDim.x / EP_LANES) + warp(); row < in.rows; row += warps) {
    if (!is_silent(op, in, row)) continue;
    Vec* to = (Vec*)(op.local + EP_ROWS + (u64)row * bytes);
    for (u32 i = lane(); i < bytes / 16; i += EP_LANES) to[i] = Vec{0, 0, 0, 0};
    u32* record = (u32*)record_at(op.local, row);
    for (int i = 1 + EP_TOPK + lane(); i < 1 + 2 * EP_TOPK + (is_fp8(op) ? EP_SCALES : 0); i += EP_LANES) record[i] = 0;
  }
}

// By expert: where every row came from, into the handle.
EP_DEVICE void unpack_sources(const Op& op, const Received& in) {
  i64 threads = (i64)gridDim.x * blockDim.x;
  for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < in.rows; row += threads) {
    handle_ints(op, EP_HANDLE_SOURCE_RANK)[row] = source_of(in.start, row);
    handle_ints(op, EP_HANDLE_SOURCE_TOKEN)[row] = (int)load_remote(received_record(op, row));
  }
}

// By rank, a warp unpacks so many rows at a time.
#define EP_TILE 8
#define EP_ROUNDS(words) (((words) + EP_LANES - 1) / EP_LANES)
#define EP_SCALES_FROM (1 + 2 * EP_TOPK)
#define EP_SCALE_VECS (EP_SCALES / 4)
#define EP_IN_FLIGHT 4

// Four words of a record that do not begin at a multiple of 16 bytes.
struct Words4 {
  Vec low, high;
};
EP_DEVICE Words4 load_words(const u32* words) {
  const Vec* at = (const Vec*)((u64)words & ~15ull);
  return Words4{load_remote(at), load_remote(at + 1)};
}
EP_DEVICE Vec shifted(Words4 w) {
  // 1 + 2 K words lie before the scales: an odd number.
  return EP_SCALES_FROM % 4 == 1 ? Vec{w.low.y, w.low.z, w.low.w, w.high.x} : Vec{w.low.w, w.high.x, w.high.y, w.high.z};
}

EP_DEVICE void unpack_scales(const Op& op, const Received& in, i64 first, int rows) {
  u32* out = (u32*)op.out_scales + (u64)first * EP_SCALES;
  if (EP_SCALES % 4 == 0) {
    int vecs = rows * EP_SCALE_VECS;
    for (int i = lane(); i < vecs; i += EP_IN_FLIGHT * EP_LANES) {
      Words4 words[EP_IN_FLIGHT];
#pragma unroll
      for (int u = 0; u < EP_IN_FLIGHT; u++) {
        int at = i + u * EP_LANES;
        if (at < vecs) words[u] = load_words(received_record(op, first + at / (EP_SCALE_VECS + !EP_SCALE_VECS)) + EP_SCALES_FROM + at % (EP_SCALE_VECS + !EP_SCALE_VECS) * 4);
      }
#pragma unroll
      for (int u = 0; u < EP_IN_FLIGHT; u++) {
        int at = i + u * EP_LANES;
        if (at < vecs) ((Vec*)out)[at] = shifted(words[u]);
      }
    }
  } else {
    for (int i = lane(); i < rows * EP_SCALES; i += EP_LANES) out[i] = load_remote(received_record(op, first + i / EP_SCALES) + EP_SCALES_FROM + i % EP_SCALES);
  }
  if (!in.silent) return;
  for (int i = lane(); i < rows * EP_SCALES; i += EP_LANES) {
    if (is_silent(op, in, first + i / EP_SCALES)) out[i] = 0;
  }
}

// By rank: records into results and handle; the results behind the last row are cleared up to "limit". Experts are counted in "rows_of". Without room for
// all rows only the handle is filled, since the dispatch is refused.
EP_DEVICE void unpack_tiles(const Op& op, const Received& in, i64 limit, int* rows_of) {
  int* ids = handle_ints(op, EP_HANDLE_LOCAL_IDS);
  const bool fits = in.rows <= op.rows;
  i64 warps = (i64)gridDim.x * (blockDim.x / EP_LANES);
  for (i64 tile = (i64)warp() * gridDim.x + blockIdx.x; tile * EP_TILE < limit; tile += warps) {
    i64 first = tile * EP_TILE;
    int rows = in.rows - first < EP_TILE ? (in.rows < first ? 0 : (int)(in.rows - first)) : EP_TILE;
    int seen = limit - first < EP_TILE ? (int)(limit - first) : EP_TILE;
    int token = -1;
    int id[EP_ROUNDS(EP_TILE * EP_TOPK)];
    u32 weight[EP_ROUNDS(EP_TILE * EP_TOPK)];
    if (lane() < rows) token = in.fresh ? (int)load_remote(received_record(op, first + lane())) : handle_ints(op, EP_HANDLE_SOURCE_TOKEN)[first + lane()];
#pragma unroll
    for (int u = 0; u < EP_ROUNDS(EP_TILE * EP_TOPK); u++) {
      int i = u * EP_LANES + lane();
      id[u] = -1;
      weight[u] = 0;
      if (i < rows * EP_TOPK) {
        const u32* record = received_record(op, first + i / EP_TOPK) + 1 + i % EP_TOPK;
        id[u] = in.fresh ? (int)load_remote(record) : ids[first * EP_TOPK + i];
        weight[u] = load_remote(record + EP_TOPK);
      }
    }
    if (fits && is_fp8(op)) unpack_scales(op, in, first, rows);
    if (lane() < seen) {
      int rank = lane() < rows ? source_of(in.start, first + lane()) : -1;
      if (fits) {
        op.source_ranks[first + lane()] = rank;
        op.source_tokens[first + lane()] = token;
      }
      if (in.fresh && lane() < rows) {
        handle_ints(op, EP_HANDLE_SOURCE_RANK)[first + lane()] = rank;
        handle_ints(op, EP_HANDLE_SOURCE_TOKEN)[first + lane()] = token;
      }
    }
#pragma unroll
    for (int u = 0; u < EP_ROUNDS(EP_TILE * EP_TOPK); u++) {
      int i = u * EP_LANES + lane();
      if (i >= seen * EP_TOPK) break;
      i64 at = first * EP_TOPK + i;
      if (in.fresh && i < rows * EP_TOPK) {
        ids[at] = id[u];
        if (id[u] >= 0) add(rows_of + id[u], 1);
      }
      if (!fits) continue;
      if (id[u] < 0 || is_silent(op, in, first + i / EP_TOPK)) weight[u] = 0;
      if (op.wide_ids) {
        ((i64*)op.out_ids)[at] = id[u];
      } else {
        ((int*)op.out_ids)[at] = id[u];
      }
      ((u32*)op.out_weights)[at] = weight[u];
    }
  }
}

// By expert: a warp takes a chunk of rows, counts its selections of each local expert and notes the place of each among those of its chunk.
EP_DEVICE void count_chunks(const Op& op, const Received& in, int* selections_from) {
  int* ids = handle_ints(op, EP_HANDLE_LOCAL_IDS);
  int* places = handle_ints(op, EP_HANDLE_EXPANDED);
  i64 warps = (i64)gridDim.x * (blockDim.x / EP_LANES);
  for (i64 chunk = (i64)blockIdx.x * (blockDim.x / EP_LANES) + warp(); chunk * EP_CHUNK < in.rows; chunk += warps) {
    int* counts = temporary_counts(op) + chunk * op.local_experts;
    for (i64 e = lane(); e < op.local_experts; e += EP_LANES) counts[e] = 0;
    sync_lanes();
    i64 end = (chunk + 1) * EP_CHUNK < in.rows ? (chunk + 1) * EP_CHUNK * EP_TOPK : in.rows * EP_TOPK;
    for (i64 first = chunk * EP_CHUNK * EP_TOPK; first < end; first += EP_IN_FLIGHT * EP_LANES) {
      int id[EP_IN_FLIGHT];
      for (int u = 0; u < EP_IN_FLIGHT; u++) {
        i64 i = first + u * EP_LANES + lane();
        id[u] = i < end ? (int)load_remote(received_record(op, i / EP_TOPK) + 1 + i % EP_TOPK) : -1;
      }
      for (int u = 0; u < EP_IN_FLIGHT; u++) {
        i64 i = first + u * EP_LANES + lane();
        Lanes equal = same(id[u]);
        int before = id[u] >= 0 ? counts[id[u]] : 0;
        int source = id[u] >= 0 ? source_of(in.start, i / EP_TOPK) : -1;
        Lanes alike = same(source);
        if (i < end) {
          ids[i] = id[u];
          places[i] = id[u] < 0 ? -1 : before + count(equal & lanes_below());
        }
        sync_lanes();
        if (id[u] >= 0 && lane() == lowest(equal)) counts[id[u]] = before + count(equal);
        if (source >= 0 && lane() == lowest(alike)) add(selections_from + source, count(alike));
        sync_lanes();
      }
    }
  }
}

// Of the values of the threads before this one; "total" of all.
EP_DEVICE int sum_before(int value, int* total) {
  EP_SHARED int sums[1024 / EP_LANES];
  int upto = value;
  for (int d = 1; d < EP_LANES; d *= 2) {
    int other = shuffle_up(upto, d);
    if (lane() >= d) upto += other;
  }
  if (lane() == EP_LANES - 1) sums[warp()] = upto;
  sync_block();
  int before = 0;
  *total = 0;
  for (int w = 0; w < (int)blockDim.x / EP_LANES; w++) {
    if (w == warp()) before = *total;
    *total += sums[w];
  }
  sync_block();
  return before + upto - value;
}

// Chunks that one thread adds up, of "segments" for one expert.
EP_DEVICE i64 segment_begin(i64 chunks, i64 segment, i64 segments) { return chunks * segment / segments; }

// By expert, one block: makes the counts of chunks first rows of chunks. Up to 32 threads share an expert.
EP_DEVICE void place_chunks(const Op& op, i64 chunks, const i64* offsets) {
  EP_SHARED int sums[1024];
  int* counts = temporary_counts(op);
  i64 experts = op.local_experts;
  i64 segments = blockDim.x / experts;
  segments = segments < 1 ? 1 : segments > 32 ? 32 : segments;
  i64 segment = threadIdx.x / experts;
  i64 width = segments > 1 ? experts : blockDim.x;
  if (segments == 1) segment = 0;
  for (i64 tile = 0; tile < experts; tile += width) {
    i64 e = tile + threadIdx.x - segment * experts;
    bool mine = segment < segments && e < experts;
    i64 begin = segment_begin(chunks, segment, segments);
    i64 end = segment_begin(chunks, segment + 1, segments);
    int sum = 0;
    for (i64 c = begin; mine && c < end; c++) sum += load_remote(counts + c * experts + e);
    if (mine) sums[threadIdx.x] = sum;
    sync_block();
    if (mine) {
      int before = 0;
      int all = 0;
      for (i64 s = 0; s < segments; s++) {
        if (s == segment) before = all;
        all += sums[s * experts + threadIdx.x - segment * experts];
      }
      if (offsets) {
        i64 next = offsets[e] + before;
        for (i64 c = begin; c < end; c++) {
          int rows = load_remote(counts + c * experts + e);
          counts[c * experts + e] = (int)next;
          next += rows;
        }
      } else if (segment == 0) {
        handle_ints(op, EP_HANDLE_EXPERT_ROWS)[e] = all;
      }
    }
    sync_block();
  }
}

// The part that needs all rows, by one block.
EP_DEVICE void finish_routing(const Op& op, const Received& in, u64 number) {
  i64 chunks = (in.rows + EP_CHUNK - 1) / EP_CHUNK;
  if (op.by_expert && op.local_experts > 0) place_chunks(op, chunks, 0);
  int* rows_of = handle_ints(op, EP_HANDLE_EXPERT_ROWS);
  i64* offsets = (i64*)(op.handle + EP_HANDLE_OFFSETS);
  i64 next = 0;
  for (i64 first = 0; first < op.local_experts; first += blockDim.x) {
    i64 e = first + threadIdx.x;
    int rows = e < op.local_experts ? load_remote(rows_of + e) : 0;
    int total;
    int before = sum_before((int)((rows + op.alignment - 1) / op.alignment * op.alignment), &total);
    if (e < op.local_experts) {
      offsets[e] = next + before;
      op.expert_offsets[e] = next + before;
      op.rows_per_expert[e] = rows;
      if (op.statistics) op.statistics[e] += rows;
      op.counts[2 + e] = rows;
      op.counts[2 + op.local_experts + e] = next + before;
    }
    next += total;
  }
  for (i64 r = threadIdx.x; r < EP_RANKS; r += blockDim.x) {
    int rows = in.start[r + 1] - in.start[r];
    handle_ints(op, EP_HANDLE_ROWS_FROM)[r] = rows;
    op.rows_per_source[r] = op.by_expert ? load_remote(handle_ints(op, EP_HANDLE_SELECTIONS_FROM) + r) : rows;
  }
  if (threadIdx.x == 0) {
    offsets[op.local_experts] = next;
    op.expert_offsets[op.local_experts] = next;
    op.counts[2 + 2 * op.local_experts] = next;
    op.counts[0] = in.rows;
    op.counts[1] = op.by_expert ? next : in.rows;
    HandleHead* head = handle_head(op);
    head->received = in.rows;
    head->rows = op.by_expert ? next : in.rows;
    head->tokens = op.tokens;
    head->number = number;
  }
  sync_block();
  if (op.by_expert && op.local_experts > 0) place_chunks(op, chunks, offsets);
}

// One block: counts of a routing that was known before.
EP_DEVICE void copy_counts(const Op& op) {
  const i64* offsets = (const i64*)(op.handle + EP_HANDLE_OFFSETS);
  for (i64 e = threadIdx.x; e <= op.local_experts; e += blockDim.x) {
    op.expert_offsets[e] = offsets[e];
    if (e >= op.local_experts) continue;
    const int rows = handle_ints(op, EP_HANDLE_EXPERT_ROWS)[e];
    op.rows_per_expert[e] = rows;
    if (op.statistics) op.statistics[e] += rows;
  }
  for (i64 r = threadIdx.x; r < EP_RANKS; r += blockDim.x) {
    op.rows_per_source[r] = handle_ints(op, op.by_expert ? EP_HANDLE_SELECTIONS_FROM : EP_HANDLE_ROWS_FROM)[r];
  }
}

EP_KERNEL(ht_receive, 1024) {
  EP_SHARED int start[EP_RANKS + 1];
  EP_SHARED int selections_from[EP_RANKS];
  EP_SHARED int shared_rows_of[EP_EXPERTS <= 1024 ? EP_EXPERTS : 1];
  wait_for_previous();
  if (!ht_goes_on(op)) return;
  u64 number = op.state->ht_number;
  bool fresh = op.kind == KIND_DISPATCH;
  for (i64 r = threadIdx.x; r < EP_RANKS; r += blockDim.x) selections_from[r] = 0;
  for (i64 e = threadIdx.x; EP_EXPERTS <= 1024 && e < EP_EXPERTS; e += blockDim.x) shared_rows_of[e] = 0;
  // Known since all have begun.
  first_rows_from(op, start);
  if (!ht_await_data(op, number, PHASE_DISPATCH_ROWS)) return;
  Received in = {start, start[EP_RANKS], fresh, !fresh && op.state->mask_digest != 0};
  int* rows_of = EP_EXPERTS <= 1024 ? shared_rows_of : handle_ints(op, EP_HANDLE_EXPERT_ROWS);
  i64 limit = op.extra && !op.by_expert ? op.rows : in.rows;
  if (in.silent) clear_silent(op, in);
  if (!op.by_expert) {
    unpack_tiles(op, in, limit, rows_of);
  } else if (fresh) {
    unpack_sources(op, in);
    count_chunks(op, in, selections_from);
  }
  sync_block();
  if (fresh && !op.by_expert && EP_EXPERTS <= 1024) {
    for (i64 e = threadIdx.x; e < op.local_experts; e += blockDim.x) {
      if (rows_of[e]) add(handle_ints(op, EP_HANDLE_EXPERT_ROWS) + e, rows_of[e]);
    }
  }
  for (i64 r = threadIdx.x; r < EP_RANKS; r += blockDim.x) {
    if (selections_from[r]) add(handle_ints(op, EP_HANDLE_SELECTIONS_FROM) + r, selections_from[r]);
  }
  launch_dependents();
  if (!last_block(op, 2)) return;
  if (fresh) {
    finish_routing(op, in, number);
  } else {
    copy_counts(op);
  }
  sync_block();
  if (threadIdx.x == 0) {
    i64 rows = handle_head(op)->rows;
    if (rows > op.rows) refuse(op, &op.state->refused, FAILURE_OUT_TOO_SMALL, 0, op.rows, rows, 0);
    fence_system();
  }
}
