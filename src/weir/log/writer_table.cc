#include "weir/log/writer_table.h"

#include <algorithm>

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
  if (is_new && writers_.size() > kWritersMax) {
    const auto oldest = std::min_element(
        writers_.begin(), writers_.end(),
        [&](const auto& a, const auto& b) { return a.second.last_time < b.second.last_time; });
    if (oldest != place) writers_.erase(oldest);
  }
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
  AppendVarint(out, writers_.size());
  for (const auto& [writer, state] : writers_) {
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
  bool is_whole = true;
  const auto take = [&]() -> int64_t {
    const auto value = TakeVarint(bytes);
    is_whole = is_whole && value.has_value();
    return static_cast<int64_t>(value.value_or(0));
  };
  WriterTable table;
  const int64_t writers = take();
  for (int64_t i = 0; is_whole && i < writers; ++i) {
    const WriterId writer(take());
    WriterState state;
    state.last_time = Timestamp(take());
    const int64_t batches = take();
    for (int64_t k = 0; is_whole && k < batches; ++k) {
      AppendedBatch batch;
      batch.sequence = BatchSequence(static_cast<int32_t>(take()));
      batch.base = LogOffset(take());
      batch.end = batch.base + take();
      state.recent.push_back(batch);
    }
    is_whole = is_whole && !state.recent.empty() && state.recent.size() <= kRecentBatches;
    if (is_whole) table.writers_.insert_or_assign(writer, std::move(state));
  }
  if (!is_whole)
    return Fail(ErrorCode::kCorruptData, "writer table is cut short or makes no sense");
  return table;
}

}  // namespace weir
