// What a bucket's log may look like, kept beside it by tests: every batch that was tried at its
// offset, and what was promised of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weir/log/log_testing.h"

namespace weir {

class BucketModel {
 public:
  /// A row of batches was put in line at `base`, stamped.
  void Tried(LogOffset base, std::string_view stamped) {
    Bytes rest = AsBytes(stamped);
    for (LogBatchReader reader(rest); !reader.at_end();) {
      const LogBatchView batch = reader.Next().value();
      EXPECT_EQ(batch.header.base_offset, base);
      tried_[base].push_back(std::string(AsText(batch.bytes)));
      base = batch.header.end_offset();
    }
  }

  /// Everything below `end` was committed; `is_synced`: on the disk.
  void Promised(LogOffset end, bool is_synced) {
    committed_end_ = std::max(committed_end_, end);
    if (is_synced) synced_end_ = std::max(synced_end_, end);
  }

  LogOffset committed_end() const { return committed_end_; }
  LogOffset synced_end() const { return synced_end_; }
  /// Between the log's start and its end as they are now, concatenated.
  const std::string& text() const { return text_; }

  /// A start makes all that it finds durable.
  void Restarted(LogOffset end) { committed_end_ = synced_end_ = end; }

  /// Compares a bucket as it is found with what is possible, of which all below `promised` must be
  /// there, and takes that for the truth from now on.
  void Check(LogWorld& world, const TableBucket& id, LogOffset promised) {
    auto& bucket = world.Bucket(id);
    const auto [start, end] =
        world.OnLoop([&] { return std::pair(bucket.log->start, bucket.log->written_end); });
    ASSERT_GE(end, promised);
    ASSERT_LE(start, end);
    const auto found = world.ReadAll(id, 1 + world.random().Next() % 5000);
    ASSERT_TRUE(found.ok()) << found.error().message;
    std::map<LogOffset, std::vector<std::string>> true_ones;
    LogOffset next = start;
    text_.clear();
    for (LogBatchReader reader(AsBytes(*found)); !reader.at_end();) {
      const LogBatchView batch = reader.Next().value();
      const LogOffset base = batch.header.base_offset;
      // The log may begin within a batch.
      if (next == start) {
        ASSERT_LE(base, next);
      } else {
        ASSERT_EQ(base, next);
      }
      const std::string text(AsText(batch.bytes));
      const auto tried = tried_.find(base);
      ASSERT_TRUE(tried != tried_.end()) << "offset " << base.value;
      ASSERT_NE(std::find(tried->second.begin(), tried->second.end(), text), tried->second.end())
          << "offset " << base.value;
      true_ones[base] = {text};
      next = batch.header.end_offset();
      text_ += text;
    }
    ASSERT_EQ(next, end);
    // What was trimmed may be found again, if no checkpoint knew of it.
    tried_.erase(tried_.lower_bound(true_ones.empty() ? start : true_ones.begin()->first),
                 tried_.end());
    tried_.merge(true_ones);
    world.OnLoop([&] { CheckWriters(*bucket.log); });
  }

  static constexpr int kWriters = 3;

 private:
  /// What is known of a writer's batches is what stands in the log, and the last one is known.
  void CheckWriters(const BucketLog& log) {
    std::map<WriterId, BatchSequence> last;
    for (const auto& [base, texts] : tried_) {
      if (base < log.start) continue;
      const LogBatchHeader header = DecodeLogBatchHeader(AsBytes(texts[0])).value();
      if (header.writer_id != kNoWriterId) last[header.writer_id] = header.batch_sequence;
    }
    for (int i = 0; i < kWriters; ++i) {
      const WriterState* const state = log.writers.Find(WriterId(i));
      if (last.contains(WriterId(i))) {
        ASSERT_NE(state, nullptr);
        EXPECT_EQ(state->recent.back().sequence, last[WriterId(i)]);
      }
      for (size_t k = 0; state != nullptr && k < state->recent.size(); ++k) {
        const AppendedBatch& batch = state->recent[k];
        EXPECT_LE(batch.end, log.written_end);
        if (batch.base < log.start) continue;
        ASSERT_TRUE(tried_.contains(batch.base));
        const LogBatchHeader header = DecodeLogBatchHeader(AsBytes(tried_[batch.base][0])).value();
        EXPECT_EQ(header.writer_id, WriterId(i));
        EXPECT_EQ(header.batch_sequence, batch.sequence);
        EXPECT_EQ(header.end_offset(), batch.end);
      }
    }
  }

  /// Batches by the offset at which they were tried.
  std::map<LogOffset, std::vector<std::string>> tried_;
  LogOffset committed_end_;
  LogOffset synced_end_;
  std::string text_;
};

}  // namespace weir
