#include "weir/kv/hot_map.h"

#include <algorithm>

#include "weir/base/check.h"

namespace weir {
namespace {

// Then every second mark goes.
constexpr size_t kMarksMax = 4096;

}  // namespace

HotMap::HotMap(KvCheckpoint checkpoint, bool is_complete, size_t mark_bytes, bool keeps_times)
    : mark_bytes_(mark_bytes),
      keeps_times_(keeps_times),
      high_watermark_(checkpoint.log_offset),
      row_count_(checkpoint.row_count),
      is_complete_(is_complete),
      disk_may_have_rows_(!is_complete) {}

HotMap::~HotMap() {
  while (Clear(1000)) continue;
}

bool HotMap::Clear(size_t rows_max) {
  tree_.Clear();
  is_complete_ = false;
  for (RowList* list : {&pending_, &dirty_, &clean_}) {
    while (!list->empty()) {
      if (rows_max-- == 0) return true;
      HotRow* const row = list->front();
      list->Remove(row);
      // Each version is in a list, so the one below it goes on its own.
      row->older = nullptr;
      Forget(row);
    }
  }
  return false;
}

HotLookup HotMap::Seen(HotRow* row, HotRowRef* out) const {
  if (row == nullptr) return is_complete_ ? HotLookup::kAbsent : HotLookup::kCold;
  row->was_read = true;
  if (row->is_tombstone) return HotLookup::kAbsent;
  *out = HotRowRef(row);
  return HotLookup::kRow;
}

HotLookup HotMap::FindNewest(Bytes key, HotRowRef* row) {
  return Seen(tree_.Find(key), row);
}

HotLookup HotMap::FindCommitted(Bytes key, HotRowRef* row) {
  return Seen(Committed(tree_.Find(key)), row);
}

HotRow* HotMap::Committed(HotRow* newest) const {
  while (newest != nullptr && newest->end > high_watermark_) newest = newest->older;
  return newest;
}

void HotMap::StagePut(Bytes key, SchemaId schema_id, Bytes row, Timestamp written_at) {
  Stage(HotRow::Make(key, schema_id, row, keeps_times_ ? std::optional(written_at) : std::nullopt));
}

void HotMap::StageDelete(Bytes key) {
  Stage(HotRow::MakeTombstone(key));
}

void HotMap::Stage(HotRow* row) {
  ++row->shares;
  row->end = HotRow::kStagedEnd;
  row_bytes_ += row->allocated_bytes();
  pending_bytes_ += row->allocated_bytes();
  pending_.PushBack(row);
  HotRow* const before = tree_.Put(row);
  row->older = before;
  if (before == nullptr || before->end != HotRow::kStagedEnd) return;
  // The same write had the key already: nobody will see that version.
  row->older = std::exchange(before->older, nullptr);
  pending_.Remove(before);
  pending_bytes_ -= before->allocated_bytes();
  Forget(before);
}

void HotMap::Seal(LogOffset end, int64_t row_count_change) {
  WEIR_CHECK(end > high_watermark_);
  HotRow* row = pending_.back();
  for (; row != nullptr && row->end == HotRow::kStagedEnd; row = row->previous) row->end = end;
  WEIR_CHECK(row == nullptr || row->end < end);
  if (row_count_change != 0) changes_.push_back({end, row_count_change});
}

void HotMap::Unstage() {
  while (!pending_.empty() && pending_.back()->end == HotRow::kStagedEnd) {
    TakeBack(pending_.back());
  }
}

void HotMap::OnLost(LogOffset from) {
  while (!pending_.empty() && pending_.back()->end > from) TakeBack(pending_.back());
  while (!changes_.empty() && changes_.back().end > from) changes_.pop_back();
}

/// The newest version of its key was never there.
void HotMap::TakeBack(HotRow* row) {
  HotRow* const older = std::exchange(row->older, nullptr);
  HotRow* const newest = older != nullptr ? tree_.Put(older) : tree_.Erase(row->key());
  WEIR_CHECK(newest == row);
  pending_.Remove(row);
  pending_bytes_ -= row->allocated_bytes();
  Forget(row);
}

void HotMap::Forget(HotRow* row) {
  row_bytes_ -= row->allocated_bytes();
  row->Drop();
}

void HotMap::OnCommitted(LogOffset high_watermark) {
  WEIR_CHECK(high_watermark >= high_watermark_);
  high_watermark_ = high_watermark;
  while (!pending_.empty() && pending_.front()->end <= high_watermark) Commit(pending_.front());
  while (!changes_.empty() && changes_.front().end <= high_watermark) {
    row_count_ += changes_.front().change;
    changes_.pop_front();
  }
  if (bytes_since_mark_ >= mark_bytes_) SetMark();
}

void HotMap::Commit(HotRow* row) {
  const size_t bytes = row->allocated_bytes();
  pending_.Remove(row);
  pending_bytes_ -= bytes;
  dirty_bytes_ += bytes;
  bytes_since_mark_ += bytes;
  if (HotRow* const older = std::exchange(row->older, nullptr)) Supersede(older);
  dirty_.PushBack(row);
  if (!row->is_tombstone || disk_may_have_rows_) return;
  // Nothing is to be deleted on the disk, and that the key is absent need not be remembered.
  HotRow* const newest = tree_.Find(row->key());
  if (newest == row) {
    tree_.Erase(row->key());
  } else {
    HotRow* above = newest;
    while (above->older != row) above = above->older;
    above->older = nullptr;
  }
  Supersede(row);
}

void HotMap::Supersede(HotRow* older) {
  WEIR_CHECK(older->older == nullptr);
  switch (older->place) {
    case HotRow::Place::kDirty:
      dirty_bytes_ -= older->allocated_bytes();
      dirty_.Remove(older);
      if (exact_step_ != nullptr && older->end <= *exact_step_->end) {
        exact_step_->bytes += older->allocated_bytes();
        exact_step_->rows.emplace_back(older);
      }
      break;
    case HotRow::Place::kFlushing:
      dirty_bytes_ -= older->allocated_bytes();
      older->place = HotRow::Place::kNone;
      break;
    case HotRow::Place::kClean: clean_.Remove(older); break;
    case HotRow::Place::kPending:
    case HotRow::Place::kNone: WEIR_UNREACHABLE();
  }
  Forget(older);
}

void HotMap::SetMark() {
  bytes_since_mark_ = 0;
  marks_.push_back({high_watermark_, row_count_});
  if (marks_.size() < kMarksMax) return;
  std::deque<Mark> kept;
  for (size_t i = 1; i < marks_.size(); i += 2) kept.push_back(marks_[i]);
  marks_ = std::move(kept);
}

HotRowRef HotMap::AddClean(Bytes key, std::optional<Bytes> value) {
  HotRow* const newest = tree_.Find(key);
  if (HotRow* const committed = Committed(newest)) return HotRowRef(committed);
  HotRow* const row =
      value ? HotRow::MakeStored(key, *value, keeps_times_) : HotRow::MakeTombstone(key);
  ++row->shares;
  row_bytes_ += row->allocated_bytes();
  clean_.PushBack(row);
  if (newest == nullptr) {
    tree_.Put(row);
  } else {
    HotRow* oldest = newest;
    while (oldest->older != nullptr) oldest = oldest->older;
    oldest->older = row;
  }
  return HotRowRef(row);
}

size_t HotMap::Evict(size_t rows_max, size_t bytes_min, LogOffset barrier) {
  const size_t bytes_before = bytes();
  rows_max = std::min(rows_max, clean_.size());
  while (rows_max-- > 0 && bytes_before - bytes() < bytes_min) {
    HotRow* const row = clean_.front();
    clean_.Remove(row);
    const bool stays = std::exchange(row->was_read, false) || row->shares > 1 ||
                       row->end > barrier || !tree_.EraseRow(row);
    if (stays) {
      clean_.PushBack(row);
      continue;
    }
    if (!row->is_tombstone) is_complete_ = false;
    Forget(row);
  }
  return bytes_before - bytes();
}

HotMap::FlushStep HotMap::BeginFlush(size_t bytes_max, bool is_exact) {
  WEIR_CHECK(exact_step_ == nullptr);
  FlushStep step;
  step.bytes_max = bytes_max;
  if (is_exact) {
    step.end = high_watermark_;
    step.row_count = row_count_;
  }
  disk_may_have_rows_ = disk_may_have_rows_ || !dirty_.empty();
  return step;
}

bool HotMap::CollectFlush(FlushStep& step, size_t rows_max) {
  exact_step_ = nullptr;
  while (rows_max-- > 0) {
    HotRow* const row = dirty_.front();
    if (row == nullptr || (step.end && row->end > *step.end)) {
      if (!step.end) {
        step.end = high_watermark_;
        step.row_count = row_count_;
      }
      return false;
    }
    dirty_.Remove(row);
    row->place = HotRow::Place::kFlushing;
    step.bytes += row->allocated_bytes();
    step.rows.emplace_back(row);
    if (step.end || step.bytes < step.bytes_max) continue;
    const auto mark = std::find_if(marks_.begin(), marks_.end(),
                                   [&](const Mark& m) { return m.end >= row->end; });
    step.end = mark != marks_.end() ? mark->end : high_watermark_;
    step.row_count = mark != marks_.end() ? mark->row_count : row_count_;
  }
  if (step.end) exact_step_ = &step;
  return true;
}

bool HotMap::FinishFlush(FlushStep& step, size_t rows_max) {
  while (!marks_.empty() && marks_.front().end <= *step.end) marks_.pop_front();
  for (; rows_max > 0 && step.finished < step.rows.size(); --rows_max, ++step.finished) {
    HotRowRef ref = std::move(step.rows[step.finished]);
    HotRow* const row = ref.get();
    if (row->place != HotRow::Place::kFlushing) continue;  // overwritten meanwhile
    dirty_bytes_ -= row->allocated_bytes();
    clean_.PushBack(row);
  }
  return step.finished < step.rows.size();
}

void HotMap::UndoFlush(FlushStep& step) {
  exact_step_ = nullptr;
  for (; !step.rows.empty(); step.rows.pop_back()) {
    HotRow* const row = step.rows.back().get();
    if (row->place == HotRow::Place::kFlushing) dirty_.PushFront(row);
  }
}

}  // namespace weir
