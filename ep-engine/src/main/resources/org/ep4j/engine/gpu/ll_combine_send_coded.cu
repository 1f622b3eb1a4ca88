// Kernel of low-latency combine that sends rows or sums in LogFMT.

#define EP_LOG_HELD 2                                 // batches that a coding wave holds at a time

// Loads what goes into a slot from the 16-byte word "first" of the row on, as much as a wave holds: of the selections in "rows" the sum, or the only one.
EP_DEVICE void load_sent(const Op& op, const Outgoing& out, Lanes rows, int first, Vec* stage) {
  constexpr int each = EP_LOG_HELD * EP_LOG_STAGE / 16 / EP_LANES;
  if (op.partial) {
#pragma unroll 1
    for (int i = lane(); i < each * EP_LANES; i += EP_LANES) stage[i] = sum_at(op, out, first + i);
    return;
  }
  const Vec* from = row_of(op, shuffle(out.row, lowest(rows))) + first;
  Vec v[each];
#pragma unroll
  for (int j = 0; j < each; j++) v[j] = first + j * EP_LANES + lane() < EP_LL_VECTORS ? load_once(from + j * EP_LANES + lane()) : Vec{0, 0, 0, 0};
#pragma unroll
  for (int j = 0; j < each; j++) stage[j * EP_LANES + lane()] = v[j];
}

// Waves of a block that code a row together.
struct Team {
  int size;
  int member;  // this wave
  int* bytes;  // one for each wave: of what it has coded

  EP_MEMBER void sync() const {
    if (size > 1) sync_block();
    else sync_lanes();
  }
};

// Codes a row in LogFMT. Where a wave's blocks lie depends on how those before them are coded, so that all ranges are found first. Called by all waves of a
// block; a team without rows only synchronises.
EP_DEVICE void send_coded_row(const Op& op, const Sending& all, const Outgoing& out, Lanes rows, Vec* stage, const Team& team) {
  const int first = rows ? lowest(rows) : 0;
  char* const slot = rows ? slot_of(op, all, out, first) : 0;
  int at = EP_COMBINE_SLOT_HEAD;
  for (int begin = 0; begin < EP_LOG_BATCHES; begin += team.size * EP_LOG_HELD) {
    const int group = (begin + team.member * EP_LOG_HELD) * EP_LANES + lane();
    u32 range[EP_LOG_HELD];
    int mine = 0;
    if (rows) load_sent(op, out, rows, 2 * (group - lane()), stage);
    sync_lanes();
#pragma unroll
    for (int j = 0; j < EP_LOG_HELD && rows; j++) {
      const bool inside = group + j * EP_LANES < EP_HIDDEN / 16;
      range[j] = log_fmt_range((const u32*)(stage + 2 * (j * EP_LANES + lane())), inside);
      int batch;
      log_fmt_place(inside, log_fmt_coded(range[j]), &batch);
      mine += batch;
      if (inside && lane() % 8 == 0) store_remote((u32*)slot + (group + j * EP_LANES) / 8, range[j]);
    }
    if (lane() == 0) team.bytes[warp()] = mine;
    team.sync();
    int to = at;
    for (int m = 0; m < team.size; m++) {
      const int of = team.bytes[warp() - team.member + m];
      at += of;
      if (m < team.member) to += of;
    }
    // One copy of this code, which is large.
#pragma unroll 1
    for (int j = 0; j < EP_LOG_HELD && rows; j++) {
      Vec* const batch = stage + 2 * j * EP_LANES;
      const Vec pairs[2] = {batch[2 * lane()], batch[2 * lane() + 1]};
      sync_lanes();
      const int bytes = log_fmt_encode(j == 0 ? range[0] : range[1], (const u32*)pairs, group + j * EP_LANES < EP_HIDDEN / 16, (char*)batch);
      sync_lanes();
      for (int i = lane(); i < (bytes + 15) / 16; i += EP_LANES) store_remote((Vec*)(slot + to) + i, batch[i]);
      to += bytes;
    }
    team.sync();
  }
  if (rows && team.member == 0) publish_slot(op, all, out, first, slot, at);
}

// Sums or rows in LogFMT. As many waves work on each as there are for all of them at once.
EP_DEVICE void send_coded(const Op& op, const Sending& all, char* shared) {
  constexpr int waves = EP_LOG_THREADS / EP_LANES;
  EP_SHARED int bytes[waves];
  Vec* const stage = (Vec*)(shared + (u64)warp() * EP_LOG_HELD * EP_LOG_STAGE);
  const int each = op.partial ? 1 : EP_TOPK;
  int size = 8;
  while (size > 1 && all.messages * each * size > waves * gridDim.x) size /= 2;
  const i64 teams = (i64)(waves / size) * gridDim.x;
  for (i64 from = blockIdx.x; from < all.messages * each; from += teams) {
    const i64 item = from + (i64)(warp() / size) * gridDim.x;
    Outgoing out;
    out.here = 0;
    if (item < all.messages * each) out = outgoing(op, all, item / each);
    const Lanes rows = op.partial ? out.here : out.here & (Lanes)1 << item % each;
    send_coded_row(op, all, out, rows, stage, Team{size, warp() % size, bytes});
  }
}

EP_KERNEL(ll_combine_send_coded, EP_LOG_THREADS) {
  EP_DYNAMIC_SHARED(shared);
  combine_send(op, [&](const Op& cached, const Sending& all) { send_coded(cached, all, shared); });
}
