// Low-latency dispatch, sending kernel: every token is encoded once and goes as one message to each rank that holds an expert of it.
//
// All messages of a token are alike: they name the rank of every selection, and the receiver takes what is its own. They also say where a
// selection stands among those of its expert by this source, so that a receiver needs no more than the R x L counts to place any row. Every message
// has a flag of its own, and counts carry the operation's number, so that no block waits for another one. The counter LL_DISPATCH only says that the
// source's announcement is there, by which ranks see that they do the same.

// Whether what is known of every expert is kept in shared memory: rank, index there, selections so far. LowLatencyDispatch sizes it.
#define EP_LL_TABLES (EP_EXPERTS <= EP_LL_TABLE_EXPERTS)
#define EP_LL_ENCODERS 512  // most threads of a sending block that encode
#define EP_LL_EACH 2     // 16-byte words of a row that a sending thread encodes; the last wave of a sending block encodes nothing, it routes

EP_DEVICE int selection(const Op& op, i64 i) {
  if (!op.wide_ids) return ((const int*)op.ids)[i];
  i64 id = ((const i64*)op.ids)[i];
  return id == (int)id ? (int)id : (int)0x80000000;
}

EP_DEVICE void selections(const Op& op, i64 token, int* ids) {
  const int* narrow = (const int*)op.ids + token * EP_TOPK;
  const i64* wide = (const i64*)op.ids + token * EP_TOPK;
  if (op.wide_ids) {
#pragma unroll
    for (int k = 0; k < EP_TOPK; k++) ids[k] = wide[k] == (int)wide[k] ? (int)wide[k] : (int)0x80000000;
  } else {
#pragma unroll
    for (int k = 0; k < EP_TOPK; k++) ids[k] = narrow[k];
  }
}

// ---- Encoding. A thread has 8 channels, 16 lanes share a scale.
EP_DEVICE u32 larger(u32 a, u32 b) { return a > b ? a : b; }
EP_DEVICE u32 number_or_zero(u32 magnitude) { return magnitude > 0x7f800000u ? 0 : magnitude; }

// E4M3 of a product, as the host rounds: to nearest even, saturating; a NaN keeps the sign of the value that was multiplied.
EP_DEVICE u32 e4m3_code(u32 value, float product) {
  u32 sign = value >> 24 & 0x80;
  u32 magnitude = as_bits(product) & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7f;
  if (magnitude > 0x43e00000u) magnitude = 0x43e00000u;                                               // 448
  if (magnitude < 0x3c800000u) return sign | (as_bits(plus(as_float(magnitude), 16384.0f)) - 0x46800000u);  // below 2^-6
  return sign | (((magnitude + 0x7ffffu + (magnitude >> 20 & 1)) >> 20) - (120u << 3));
}

EP_DEVICE u32 e4m3_codes(u32 pair, float factor, bool plain) {
  float low = multiply(low_half(pair), factor), high = multiply(high_half(pair), factor);
  if (EP_HAS_E4M3 && plain) return e4m3_pair(low, high);
  return e4m3_code(pair << 16, low) | e4m3_code(pair, high) << 8;
}

// Called by whole waves; "channel" is the first of this thread's, of a row that begins at "row".
EP_DEVICE void encode(i64 format, Vec v, int channel, bool inside, u32* scales, char* row) {
  if (format == WIRE_BF16) {
    if (inside) *(Vec*)row = v;
    return;
  }
  const u32 words[4] = {v.x, v.y, v.z, v.w};
  u32 most = 0, any = 0;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    u32 low = words[i] << 16 & 0x7fff0000u, high = words[i] & 0x7fff0000u;
    any = larger(any, larger(low, high));
    most = larger(most, larger(number_or_zero(low), number_or_zero(high)));
  }
#pragma unroll
  for (int by = 1; by < 16; by *= 2) most = larger(most, shuffle_xor(most, by));
  if (!inside) return;
  float amax = as_float(most) > 1e-4f ? as_float(most) : 1e-4f;
  float scale = divide(amax, 448.0f), factor;
  if (format == WIRE_FP8) {
    factor = divide(448.0f, amax);
  } else {
    u32 exponent = (as_bits(scale) >> 23) + ((as_bits(scale) & 0x7fffffu) != 0 ? 1 : 0);
    scale = as_float(exponent << 23);
    factor = as_float(exponent < 254 ? (254 - exponent) << 23 : 0x00800000u >> (exponent - 253));
  }
  bool plain = any < 0x7f800000u;
  u32 low = e4m3_codes(words[0], factor, plain) | e4m3_codes(words[1], factor, plain) << 16;
  u32 high = e4m3_codes(words[2], factor, plain) | e4m3_codes(words[3], factor, plain) << 16;
  *(u64*)row = low | (u64)high << 32;
  if (channel % 128 == 0) scales[channel / 128] = as_bits(scale);
}

// ---- Send.
// What a block knows of the selections of this rank. In shared memory, or where there are very many experts in op.temporary.
struct Tables {
  int* owner;     // rank of an expert
  int* local_of;  // its index there
  int* selected;  // selections so far
  const int* masked;
};

// Rank of an expert, -1 where it is masked.
EP_DEVICE int owner_of(const Op& op, const Tables& tables, int id) {
  const int r = EP_LL_TABLES ? tables.owner[id] : op.owner[id];
  return tables.masked[r] ? -1 : r;
}

EP_DEVICE bool is_expert(int id) { return id >= 0 && id < EP_EXPERTS; }

// Ends the operation: some id is none. Called by one thread; looks for the first.
EP_DEVICE void refuse_id(const Op& op) {
  for (i64 i = 0; i < op.tokens * EP_TOPK; i++) {
    int id = selection(op, i);
    if (id == -1 || is_expert(id)) continue;
    u64 value = op.wide_ids ? ((const u64*)op.ids)[i] : (u64)(i64)id;
    refuse(op, &op.state->ll_refused[op.bank], FAILURE_BAD_ID, op.rank, i / EP_TOPK, i % EP_TOPK, value);
    return;
  }
}

// Ends the operation: "tables.selected" of some experts is above what there is room for. Looks for the one that came there first, and for the first
// token that names it twice.
EP_DEVICE void refuse_duplicates(const Op& op, const Tables& tables) {
  int expert = 0;
  for (i64 i = op.tokens * EP_TOPK - 1; i >= 0; i--) {
    int id = selection(op, i);
    if (id < 0 || owner_of(op, tables, id) < 0) continue;
    if (add(&tables.selected[id], -1) == EP_MAX_LL_TOKENS + 1) expert = id;
  }
  i64 token = 0;
  for (int named = 0; token < op.tokens; token++, named = 0) {
    for (int k = 0; k < EP_TOPK; k++) named += selection(op, token * EP_TOPK + k) == expert;
    if (named > 1) break;
  }
  refuse(op, &op.state->ll_refused[op.bank], FAILURE_DUPLICATES, op.rank, expert, token, 0);
}

// Counts selections of tokens before "end". Called by all threads of a block.
EP_DEVICE void count_selections(const Op& op, const Tables& tables, i64 end) {
  for (i64 e = threadIdx.x; e < EP_EXPERTS; e += blockDim.x) tables.selected[e] = 0;
  sync_block();
  for (i64 i = threadIdx.x; i < end * EP_TOPK; i += blockDim.x) {
    int id = selection(op, i);
    if (is_expert(id) && owner_of(op, tables, id) >= 0) add(&tables.selected[id], 1);
  }
  sync_block();
}

// Whether the operation may begin, once all ids have been checked. Called by all threads of a block, with the same result in all blocks but
// where a wait fails.
EP_DEVICE bool may_dispatch(const Op& op, const Tables& tables, i64 first, u64 number, u64 credit, bool stop, bool bad, bool twice) {
  LowLatencyHandleHead* handle = (LowLatencyHandleHead*)op.handle;
  const bool leader = threadIdx.x == 0;
  bool full = false;
  if (!stop && !bad && twice) {
    count_selections(op, tables, op.tokens);
    bool room = true;
    for (i64 e = threadIdx.x; e < EP_EXPERTS; e += blockDim.x) room &= *(volatile int*)&tables.selected[e] <= EP_MAX_LL_TOKENS;
    full = !all_threads(room);
    if (full && leader && blockIdx.x == 0) refuse_duplicates(op, tables);
    if (!full) count_selections(op, tables, first);
  }
  if (stop || bad || full) {
    if (leader && stop) op.state->ll_refused[op.bank] = 1;
    if (leader && blockIdx.x == 0 && !stop && bad) refuse_id(op);
    if (leader) handle->number = 0;
    // The kernel that begins when this block has ended reads it.
    if (leader) fence_device();
    return false;
  }
  if (leader) {
    State* state = op.state;
    count_operation(op, EP_DONE_LL_DISPATCH, &state->ll_dispatch_number, &state->ll_dispatch_of[op.bank], &state->ll_refused[op.bank], number);
    if (blockIdx.x == gridDim.x - 1) {
      handle->number = number;
      handle->tokens = op.tokens;
      handle->weighted = op.weights != 0;
      handle->incomplete = 0;
    }
    // From here on the receiving kernel may begin: what it reads is written, and all blocks that it depends on run.
    fence_device();
    launch_dependents();
  }
  if (number <= 2 || credit >= number - 2 || await_credits(op, LL_DISPATCH_CREDIT, number, PHASE_LL_DISPATCH_CREDIT)) return true;
  // As on the host the number is used up, and what others send in it is not received.
  if (leader) {
    handle->incomplete = 1;
    op.state->ll_refused[op.bank] = 1;
    op.state->ll_dispatch_taken[number & 1] = number + 1;
    store_release(&op.state->ll_dispatch_number, number);
  }
  return false;
}

// Where one token's message goes; known to the lanes of the wave that routes, of which one has each target.
struct Route {
  int id;        // of this lane's selection, -1 where none or masked
  float weight;
  int rank;      // of the selection, -1 where none or masked
  Lanes there;   // lanes of the same rank
  Lanes alike;   // of the same expert
  char* target;  // of the message, 0 where this lane has none
  u64* flag;
};

// Asks for the selections of a token.
EP_DEVICE void ask(const Op& op, Route& to, i64 token) {
  to.id = -1;
  to.weight = 0;
  if (lane() >= EP_TOPK) return;
  to.id = selection(op, token * EP_TOPK + lane());
  if (op.weights) to.weight = op.weights[token * EP_TOPK + lane()];
}

// First half of routing a token: what needs no counts. Writes that part of the message's head.
EP_DEVICE void find_ranks(const Op& op, const Tables& tables, i64 token, Route& to, u32* head) {
  int local = -1;
  to.rank = is_expert(to.id) ? owner_of(op, tables, to.id) : -1;
  if (to.rank < 0) to.id = -1;
  if (to.id >= 0) local = EP_LL_TABLES ? tables.local_of[to.id] : op.local_of[to.id];
  to.there = same(to.rank);
  to.alike = same(to.id);
  if (lane() == 0) {
    head[0] = (u32)token;
    head[1] = 0;
  }
  if (lane() < EP_TOPK) {
    head[EP_HEAD_EXPERTS + lane()] = (u32)local;
    head[EP_HEAD_WEIGHTS + lane()] = as_bits(to.weight);
    head[EP_HEAD_RANKS + lane()] = (u32)to.rank;
  }
}

// Second half: takes the next messages of the token's ranks and the next rows of its experts.
EP_DEVICE void find_slots(const Op& op, const Tables& tables, char* const* peer, int* messages, u64 number, Route& to, u32* head) {
  const Lanes below = ((Lanes)1 << lane()) - 1;
  to.target = 0;
  int ordinal = -1;
  if (to.rank >= 0 && lowest(to.there) == lane()) {
    const int index = *(volatile int*)&messages[to.rank];
    to.target = message_to(op, peer[to.rank], to.rank, number, index);
    to.flag = message_flag_to(op, peer[to.rank], to.rank, number, index);
    *(volatile int*)&messages[to.rank] = index + 1;
  }
  if (to.id >= 0) ordinal = *(volatile int*)&tables.selected[to.id] + count(to.alike & below);
  if (lane() < EP_TOPK) head[EP_HEAD_ORDINALS + lane()] = (u32)ordinal;
  sync_lanes();
  if (to.id >= 0 && lowest(to.alike) == lane()) *(volatile int*)&tables.selected[to.id] += count(to.alike);
}

// A token's messages to ranks that kernels post to, for all waves of a block.
struct PostedMessages {
  static constexpr int MOST = EP_DEVICE_POSTED ? EP_MAX_TARGETS : 1;
  int count;
  int rank[MOST];
  char* what[MOST];
  u64* flag[MOST];
};

// Publishes a token's messages, but lists those that kernels post: a put keeps a wave longer. Called by the wave that routes.
EP_DEVICE void publish_messages(const Op& op, const Route& to, u64 bytes, u64 number, PostedMessages& posted) {
  bulk_wait();
  const bool lists = EP_DEVICE_POSTED && to.target && op.paths[to.rank].kind == PATH_DEVICE_POSTED;
  if (to.target && !lists) publish_by_thread(op, to.rank, to.target, bytes, to.flag, number, PHASE_LL_DISPATCH_RECEIVE);
  if (EP_DEVICE_POSTED) {
    const Lanes all = ballot(lists);
    const int i = count(all & (((Lanes)1 << lane()) - 1));
    if (lists) {
      posted.rank[i] = to.rank;
      posted.what[i] = to.target;
      posted.flag[i] = to.flag;
    }
    if (lane() == 0) posted.count = count(all);
  }
}

// Puts the listed messages, by a wave each. Called by all threads of a block, which see what has been stored.
EP_DEVICE void put_messages(const Op& op, const PostedMessages& posted, u64 bytes, u64 number) {
  for (int i = warp(); i < posted.count; i += blockDim.x / EP_LANES) {
    publish_by_wave(op, posted.rank[i], posted.what[i], bytes, posted.flag[i], number, PHASE_LL_DISPATCH_RECEIVE);
  }
}

// What a combine needs of the token.
EP_DEVICE void keep(const Op& op, const Route& to, i64 token) {
  if (lane() >= EP_TOPK) return;
  const i64 i = token * EP_TOPK + lane();
  handle_ints(op, EP_LL_HANDLE_IDS)[i] = to.id;
  handle_ints(op, EP_LL_HANDLE_OWNERS)[i] = to.rank;
  if (op.weights) ((float*)handle_ints(op, EP_LL_HANDLE_WEIGHTS))[i] = to.weight;
}

// Says how much this rank sends: words that need no counter, since each has the number of the operation. Called by "threads" threads of the
// block that has counted the last tokens.
EP_DEVICE void announce_counts(const Op& op, const Tables& tables, char* const* peer, const int* messages, u64 number, int threads) {
  const u64 high = (u64)tag_of(number) << 32;
  for (int r = threadIdx.x; r < EP_RANKS; r += threads) {
    if (!tables.masked[r]) store_remote(ll_counts_to(op, peer[r], r, number), high | (u32)messages[r]);
  }
  for (i64 e = threadIdx.x; e < EP_EXPERTS; e += threads) {
    const int r = owner_of(op, tables, (int)e);
    if (r < 0) continue;
    const int local = EP_LL_TABLES ? tables.local_of[e] : op.local_of[e];
    store_remote(ll_counts_to(op, peer[r], r, number) + 1 + local, high | (u32)*(volatile int*)&tables.selected[e]);
  }
}

// Says what this rank does. Called by a wave.
EP_DEVICE void announce_dispatch(const Op& op, const Tables& tables, char* const* peer, u64 number) {
  const u64 digest = op.state->mask_digest;
  for (int r = lane(); r < EP_RANKS; r += EP_LANES) {
    if (tables.masked[r]) continue;
    u64* words = (u64*)announcement_at(peer[r], ANNOUNCE_LL_DISPATCH, number, op.rank);
    const u64 values[8] = {number, (u64)op.flags, digest, 0, 0, 0, 0, 0};
    for (int w = 0; w < 8; w++) store_remote(words + w, values[w]);
    if (!is_posted(op, r)) store_published(counter_to(op, peer[r], r, LL_DISPATCH), number);
  }
}

// Puts counts and announcement to ranks that kernels post to: messages have flags of their own, and so has each count, so these go side by side. Called by
// all threads of the block that has written them.
EP_DEVICE void put_counts_by_device(const Op& op, char* const* peer, u64 number) {
  for (i64 i = warp(); i < 2 * EP_RANKS; i += blockDim.x / EP_LANES) {
    const i64 r = i / 2;
    if (op.paths[r].kind != PATH_DEVICE_POSTED || is_masked(op, r)) continue;
    if (i % 2 == 0) put_from_channel(op, r, (const char*)ll_counts_to(op, 0, r, number), EP_LL_COUNT_BYTES, PHASE_LL_DISPATCH_RECEIVE);
    else put_announcement(op, peer[r], r, ANNOUNCE_LL_DISPATCH, number, LL_DISPATCH, PHASE_LL_DISPATCH_RECEIVE);
  }
}

// Puts flags, counts and announcement to ranks that the host posts to, which read nothing before the counter says that all is there. Called by all threads
// of the last block.
EP_DEVICE void put_flags_by_host(const Op& op, char* const* peer, u64 number) {
  for (i64 r = warp(); r < EP_RANKS; r += blockDim.x / EP_LANES) {
    if (op.paths[r].kind != PATH_HOST_POSTED || is_masked(op, r)) continue;
    const char* counts = (const char*)ll_counts_to(op, 0, r, number);
    const u64 messages = (u32)load_remote((const u64*)counts);
    put_from_channel(op, r, (const char*)message_flag_to(op, 0, r, number, 0), messages * 8, PHASE_LL_DISPATCH_RECEIVE);
    put_from_channel(op, r, counts, EP_LL_COUNT_BYTES, PHASE_LL_DISPATCH_RECEIVE);
    put_announcement(op, peer[r], r, ANNOUNCE_LL_DISPATCH, number, LL_DISPATCH, PHASE_LL_DISPATCH_RECEIVE);
  }
}

// First of the tokens of a sending block.
EP_DEVICE int first_token(const Op& op, u32 block) {
  u32 blocks = gridDim.x;
  if (EP_DEVICE_POSTED) {
    // Where no other has more for it, the last one has none: what it says of all tokens is put while the others put theirs.
    const u32 tokens = (u32)op.tokens;
    if (blocks > 1 && (tokens + blocks - 2) / (blocks - 1) == (tokens + blocks - 1) / blocks) blocks--;
    if (block >= blocks) return (int)tokens;
  }
  return (int)(op.tokens * block / blocks);
}

// What the threads of a sending block share.
struct SendingBlock {
  char* peer[EP_RANKS];
  int masked[EP_RANKS];
  int messages[EP_RANKS];  // so far, of tokens before this block's, then also of those
  u64 number, credit;
  int bad, twice, stop;
  PostedMessages posted;
};

// A sending block as each of its threads knows it. The last wave routes, the others encode. A row is encoded in pieces where it is longer than the threads
// together have room for.
struct Sender {
  Tables tables;
  u32* head;  // of the message under way, in shared memory; the row follows
  char* row;
  int threads;  // that encode
  bool router;
  int first, end;  // tokens
  int vectors, piece_vectors, pieces;  // 16-byte words of a row, and of a piece
  int vector_bytes;  // of such a word once encoded

  EP_MEMBER int from(int piece) const { return piece * piece_vectors; }
  EP_MEMBER int in(int piece) const { return vectors - from(piece) < piece_vectors ? vectors - from(piece) : piece_vectors; }
  EP_MEMBER u64 message_bytes() const { return EP_MESSAGE_HEAD + (u64)vectors * vector_bytes; }
};

EP_DEVICE Sender sender(const Op& op, SendingBlock& block, char* shared) {
  Sender s;
  s.threads = blockDim.x - EP_LANES;
  s.router = (int)threadIdx.x >= s.threads;
  s.first = first_token(op, blockIdx.x);
  s.end = first_token(op, blockIdx.x + 1);
  s.vectors = EP_HIDDEN / 8;
  s.piece_vectors = EP_LL_EACH * s.threads;
  s.pieces = (s.vectors + s.piece_vectors - 1) / s.piece_vectors;
  s.vector_bytes = op.format == WIRE_BF16 ? 16 : 8;
  s.head = (u32*)shared;
  s.row = shared + EP_MESSAGE_HEAD;
  s.tables.owner = (int*)(s.row + 16 * s.piece_vectors);
  s.tables.local_of = s.tables.owner + EP_EXPERTS;
  s.tables.selected = EP_LL_TABLES ? s.tables.local_of + EP_EXPERTS : (int*)op.temporary + (u64)blockIdx.x * EP_EXPERTS;
  s.tables.masked = block.masked;
  return s;
}

// Reads what an encoding thread has of a piece of a token's row.
EP_DEVICE void load_piece(const Op& op, const Sender& s, int token, int piece, Vec* v) {
#pragma unroll
  for (int j = 0; j < EP_LL_EACH; j++) {
    const int i = s.from(piece) + j * s.threads + threadIdx.x;
    v[j] = i < s.vectors ? load_once((const Vec*)op.x + (u64)token * s.vectors + i) : Vec{0, 0, 0, 0};
  }
}

EP_DEVICE void encode_piece(const Op& op, const Sender& s, int token, int piece, const Vec* v) {
#pragma unroll
  for (int j = 0; j < EP_LL_EACH; j++) {
    const int i = j * s.threads + threadIdx.x;
    encode(op.format, v[j], 8 * (s.from(piece) + i), token < s.end && i < s.in(piece), s.head + EP_HEAD_SCALES, s.row + s.vector_bytes * i);
  }
}

// Fills in the tables; "owner0" and "local0" are what this thread has read of them ahead.
EP_DEVICE void fill_tables(const Op& op, const Tables& tables, bool constant, int owner0, int local0) {
  if (constant) {
    tables.owner[threadIdx.x] = owner0;
    tables.local_of[threadIdx.x] = local0;
    tables.selected[threadIdx.x] = 0;
  }
  for (int e = threadIdx.x + blockDim.x; EP_LL_TABLES && e < EP_EXPERTS; e += blockDim.x) {
    tables.owner[e] = op.owner[e];
    tables.local_of[e] = op.local_of[e];
    tables.selected[e] = 0;
  }
  for (i64 e = threadIdx.x; !EP_LL_TABLES && e < EP_EXPERTS; e += blockDim.x) tables.selected[e] = 0;
}

// First token that a thread counts. Few tokens are counted by the wave that routes, which has nothing else to do meanwhile.
EP_DEVICE int first_counted(const Op& op) {
  const int wave = op.tokens <= EP_LANES ? blockDim.x / EP_LANES - 1 - warp() : warp();
  return wave * EP_LANES + lane();
}

// Counts what was selected before the block's tokens, and checks all ids. A thread has a token, whose selections "ids" are; called by all threads of a block.
EP_DEVICE void count_before(const Op& op, const Sender& s, SendingBlock& block, int* ids) {
  const Tables& tables = s.tables;
  const int tokens = (int)op.tokens;
  const int own = first_counted(op);
  for (int t = own; t - lane() < tokens; t += blockDim.x) {
    if (t != own && t < tokens) selections(op, t, ids);
    int rank[EP_TOPK];
    bool wrong = false, again = false;
    u64 hits = 0;
#pragma unroll
    for (int k = 0; k < EP_TOPK; k++) {
      const bool valid = t < tokens && is_expert(ids[k]);
      wrong |= t < tokens && !valid && ids[k] != -1;
      ids[k] = valid ? ids[k] : -1;
      rank[k] = EP_LL_TABLES ? tables.owner[valid ? ids[k] : 0] : op.owner[valid ? ids[k] : 0];
    }
#pragma unroll
    for (int k = 0; k < EP_TOPK; k++) rank[k] = block.masked[rank[k]] || ids[k] < 0 ? -1 : rank[k];
#pragma unroll
    for (int k = 0; k < EP_TOPK; k++) {
      bool before = false;
#pragma unroll
      for (int j = 0; j < k; j++) {
        again |= rank[k] >= 0 && ids[j] == ids[k];
        before |= rank[j] == rank[k];
      }
      if (rank[k] < 0 || t >= s.first) continue;
      add(&tables.selected[ids[k]], 1);
      if (EP_RANKS <= 64) hits |= 1ull << rank[k];
      else if (!before) add(&block.messages[rank[k]], 1);
    }
    if (wrong) block.bad = 1;
    if (again) block.twice = 1;
    // One addition for a wave.
    for (int r = 0; EP_RANKS <= 64 && r < EP_RANKS; r++) {
      const int more = count(ballot(hits >> r & 1));
      if (more && lane() == 0) add(&block.messages[r], more);
    }
  }
}

// Stores a piece of a message to all its ranks by bulk copies, one by each lane of the wave that routes.
EP_DEVICE void store_piece(const Sender& s, const Route& to, int piece) {
  const bool whole = s.pieces == 1;
  sync_lanes();
  if (to.target) {
    const char* from = whole ? (const char*)s.head : s.row;
    bulk_store(to.target + (whole ? 0 : EP_MESSAGE_HEAD + s.from(piece) * s.vector_bytes), from, (u32)(s.in(piece) * s.vector_bytes + (whole ? EP_MESSAGE_HEAD : 0)));
    // It has the scales, which are complete now.
    if (!whole && piece == s.pieces - 1) bulk_store(to.target, s.head, EP_MESSAGE_HEAD);
  }
  bulk_commit();
}

// Stores a piece of a message to all its ranks by all threads of a block, which wait for each other before and after.
EP_DEVICE void copy_piece(const Sender& s, const Route& to, int piece) {
  EP_SHARED char* target[EP_MAX_TARGETS];
  EP_SHARED int targets;
  if (s.router && piece == 0) {
    const Lanes sends = ballot(to.target != 0);
    if (to.target) target[count(sends & (((Lanes)1 << lane()) - 1))] = to.target;
    if (lane() == 0) targets = count(sends);
  }
  sync_block();
  const int head_vectors = piece == s.pieces - 1 ? EP_MESSAGE_HEAD / 16 : 0, all_vectors = head_vectors + s.in(piece) * s.vector_bytes / 16;
  for (int i = threadIdx.x; i < targets * all_vectors; i += blockDim.x) {
    char* there = target[i / all_vectors];
    const int j = i % all_vectors;
    if (j < head_vectors) store_remote((Vec*)there + j, ((const Vec*)s.head)[j]);
    else store_remote((Vec*)(there + EP_MESSAGE_HEAD + s.from(piece) * s.vector_bytes) + j - head_vectors, ((const Vec*)s.row)[j - head_vectors]);
  }
  sync_block();
}

// Sends the block's tokens, the first of which is read and its ranks are known; false where the operation does not begin. "v" has what this thread encodes
// next, "to" the last token's route at the end. Called by all threads of a block.
EP_DEVICE bool send_tokens(const Op& op, const Sender& s, SendingBlock& block, Vec* v, Route& to) {
  int t = s.first, piece = 0;
  bool begun = false;
  while (true) {
    if (!s.router) {
      encode_piece(op, s, t, piece, v);
    } else if (begun && piece == 0) {
      find_ranks(op, s.tables, t, to, s.head);
      find_slots(op, s.tables, block.peer, block.messages, block.number, to, s.head);
    }
    bulk_fence();
    sync_block();
    if (!begun) {
      if (!may_dispatch(op, s.tables, s.first, block.number, block.credit, block.stop, block.bad, block.twice)) return false;
      if (t == s.end) return true;
      if (s.router) {
        find_slots(op, s.tables, block.peer, block.messages, block.number, to, s.head);
        bulk_fence();
      }
      begun = true;
    }
    if (!EP_BULK) copy_piece(s, to, piece);
    else if (s.router) store_piece(s, to, piece);
    const bool ends = piece == s.pieces - 1;
    piece = ends ? 0 : piece + 1;
    if (ends && ++t == s.end) return true;
    if (!s.router) {
      load_piece(op, s, t, piece, v);
    } else if (ends) {
      publish_messages(op, to, s.message_bytes(), block.number, block.posted);
      keep(op, to, t - 1);
      ask(op, to, t);
    } else {
      bulk_wait_read();
    }
    sync_block();
    if (EP_DEVICE_POSTED && ends) put_messages(op, block.posted, s.message_bytes(), block.number);
  }
}

// Ends the sending of a block: publishes its last token, and in the last block says how much this rank sends. Called by all threads of a block.
EP_DEVICE void end_sending(const Op& op, const Sender& s, SendingBlock& block, const Route& to) {
  const bool last = blockIdx.x == gridDim.x - 1;
  if (last) sync_block();
  if (s.router && s.first < s.end) {
    publish_messages(op, to, s.message_bytes(), block.number, block.posted);
    keep(op, to, s.end - 1);
  }
  if (EP_DEVICE_POSTED && s.first < s.end) {
    sync_block();
    put_messages(op, block.posted, s.message_bytes(), block.number);
  }
  if (last && !s.router) announce_counts(op, s.tables, block.peer, block.messages, block.number, s.threads);
  if (last && warp() == 0) announce_dispatch(op, s.tables, block.peer, block.number);
  if (blockIdx.x == 0 && warp() == 0) give_credit(op, LL_DISPATCH_CREDIT, block.number);
  if (EP_DEVICE_POSTED && last) {
    sync_block();
    put_counts_by_device(op, block.peer, block.number);
  }
  if (EP_HOST_POSTED && last_block(op, EP_DONE_LL_DISPATCH_END)) put_flags_by_host(op, block.peer, block.number);
}

EP_KERNEL_BESIDE(ll_dispatch_send, EP_LL_ENCODERS + EP_LANES) {
  EP_DYNAMIC_SHARED(shared);
  EP_SHARED SendingBlock block;
  EP_SHARED CachedPaths cache;
  State* const state = op.state;
  const Sender s = sender(op, block, shared);
  // What never changes may be asked for at once. It is put where it belongs when everything else has been asked for.
  const bool constant = EP_LL_TABLES && threadIdx.x < EP_EXPERTS;
  const int owner0 = constant ? op.owner[threadIdx.x] : 0, local0 = constant ? op.local_of[threadIdx.x] : 0;
  char* const peer0 = threadIdx.x < EP_RANKS ? op.peers[threadIdx.x] : 0;
  wait_for_previous();

  // Everything is asked for at once; it arrives at about the same time.
  Vec v[EP_LL_EACH];
  if (!s.router && s.first < s.end) load_piece(op, s, s.first, 0, v);
  else for (int j = 0; j < EP_LL_EACH; j++) v[j] = Vec{0, 0, 0, 0};
  Route to = {-1, 0, -1, 0, 0, 0, 0};
  if (s.router && s.first < s.end) ask(op, to, s.first);
  int ids[EP_TOPK];
  const int counted = first_counted(op);
  if (counted < op.tokens) selections(op, counted, ids);
  for (int r = threadIdx.x; r < EP_RANKS; r += blockDim.x) {
    block.masked[r] = (int)state->masked[r];
    block.peer[r] = r == (int)threadIdx.x ? peer0 : op.peers[r];
    block.messages[r] = 0;
  }
  cache_paths(op, &cache);
  const Op copy = with_paths(op, &cache);
  const Op& cached = EP_HAS_CHANNELS ? copy : op;
  fill_tables(op, s.tables, constant, owner0, local0);
  if (threadIdx.x == 0) {
    block.number = load_acquire(&state->ll_dispatch_number) + 1;
    block.bad = 0;
    block.twice = 0;
  }
  if (s.router) {
    const u64 least = least_credit(op, LL_DISPATCH_CREDIT);
    if (lane() == 0) block.credit = least;
  }
  sync_block();
  if (s.router) {
    // After the number: a block that gives up marks the failure before it uses the number up.
    const int failure = failed(op);
    if (s.first < s.end) find_ranks(op, s.tables, s.first, to, s.head);
    if (lane() == 0) block.stop = failure;
  }
  count_before(op, s, block, ids);
  if (send_tokens(cached, s, block, v, to)) end_sending(cached, s, block, to);
}
