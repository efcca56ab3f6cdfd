#include "weir/log/writer_table.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

#include "weir/base/varint.h"

namespace weir {

const WriterState* WriterTable::Find(WriterId writer) const {
  const auto found = writers_.find(writer);
  return found == writers_.end() ? nullptr : &found->second;
}

void WriterTable::Record(WriterId writer, AppendedBatch batch, Timestamp time) {
  const auto [place, is_new] = writers_.try_emplace(writer);
  WriterState& state = place->second;
  if (!is_new && batch.base < state.recent.back().end) return;
  if (state.recent.size() == kRecentBatches) state.recent.erase(state.recent.begin());
  state.recent.push_back(batch);
  state.last_time = time;
  if (writers_.size() > kWritersMax) ForgetSilentest(writer);
}

void WriterTable::ForgetSilentest(WriterId except) {
  auto silentest = writers_.end();
  for (auto it = writers_.begin(); it != writers_.end(); ++it) {
    if (it->first == except) continue;
    // By id among equals, so that a replay forgets the same one.
    const bool is_before = silentest == writers_.end() ||
                           std::tuple(it->second.last_time, it->first) <
                               std::tuple(silentest->second.last_time, silentest->first);
    if (is_before) silentest = it;
  }
  writers_.erase(silentest);
}

void WriterTable::ForgetFrom(LogOffset end) {
  for (auto writer = writers_.begin(); writer != writers_.end();) {
    std::vector<AppendedBatch>& recent = writer->second.recent;
    std::erase_if(recent, [end](const AppendedBatch& batch) { return batch.end > end; });
    writer = recent.empty() ? writers_.erase(writer) : std::next(writer);
  }
}

void WriterTable::ForgetIdle(Timestamp now, int64_t idle_max_ms) {
  std::erase_if(writers_, [&](const auto& item) {
    return now.value - item.second.last_time.value > idle_max_ms;
  });
}

void WriterTable::EncodeTo(std::string& out) const {
  std::vector<WriterId> ids;
  ids.reserve(writers_.size());
  for (const auto& [writer, state] : writers_) ids.push_back(writer);
  std::sort(ids.begin(), ids.end());
  AppendVarint(out, ids.size());
  for (const WriterId writer : ids) {
    const WriterState& state = writers_.at(writer);
    AppendVarint(out, static_cast<uint64_t>(writer.value));
    AppendVarint(out, static_cast<uint64_t>(state.last_time.value));
    AppendVarint(out, state.recent.size());
    for (const AppendedBatch& batch : state.recent) {
      AppendVarint(out, static_cast<uint32_t>(batch.sequence.value));
      AppendVarint(out, static_cast<uint64_t>(batch.base.value));
      AppendVarint(out, static_cast<uint64_t>(batch.end - batch.base));
    }
  }
}

Result<WriterTable> WriterTable::DecodeFrom(Bytes& bytes) {
  constexpr uint64_t kOffsetMax = std::numeric_limits<int64_t>::max();
  bool is_sound = true;
  // A number of at most `max`; 0 from the first unsound one on.
  const auto take = [&](uint64_t max) -> uint64_t {
    const auto value = TakeVarint(bytes);
    is_sound = is_sound && value && *value <= max;
    return is_sound ? *value : 0;
  };
  WriterTable table;
  const uint64_t writers = take(kWritersMax);
  std::optional<WriterId> before;
  for (uint64_t i = 0; is_sound && i < writers; ++i) {
    const WriterId writer(static_cast<int64_t>(take(std::numeric_limits<uint64_t>::max())));
    WriterState state;
    state.last_time = Timestamp(static_cast<int64_t>(take(std::numeric_limits<uint64_t>::max())));
    const uint64_t batches = take(kRecentBatches);
    for (uint64_t k = 0; is_sound && k < batches; ++k) {
      AppendedBatch batch;
      const auto sequence = static_cast<uint32_t>(take(std::numeric_limits<uint32_t>::max()));
      batch.sequence = BatchSequence(static_cast<int32_t>(sequence));
      batch.base = LogOffset(static_cast<int64_t>(take(kOffsetMax)));
      const uint64_t records = take(kOffsetMax - static_cast<uint64_t>(batch.base.value));
      batch.end = batch.base + static_cast<int64_t>(records);
      is_sound = is_sound && records > 0 &&
                 (state.recent.empty() || batch.base >= state.recent.back().end);
      state.recent.push_back(batch);
    }
    is_sound = is_sound && !state.recent.empty() && (!before || *before < writer);
    before = writer;
    if (is_sound) table.writers_.emplace(writer, std::move(state));
  }
  if (!is_sound) {
    return Fail(ErrorCode::kCorruptData, "writer table is cut short or makes no sense");
  }
  return table;
}

}  // namespace weir
