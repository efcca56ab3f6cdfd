// The catalog's durable form: a log of changes in a bucket of the node's own, which begins with a
// snapshot.
//
// So a change of the catalog is a batch in the journal like any other, made durable by the same
// group commit and recovered by the same code. Format: docs/formats/catalog.md.
#pragma once

#include <memory>
#include <string>

#include "weir/bucket/bucket.h"
#include "weir/catalog/catalog.h"
#include "weir/log/group_log.h"

namespace weir {

/// The log of the catalog's changes; no table has this id.
inline constexpr TableBucket kCatalogBucket{TableId(-1), std::nullopt, 0};

class CatalogStore {
 public:
  /// Reads the catalog from `log`, on whose loop it lives. Errors: kIo, kCorruptData, kUnsupported.
  static Task<Result<std::unique_ptr<CatalogStore>>> Open(GroupLog& log, EventLoop& loop,
                                                          Clock& clock);

  const Catalog& catalog() const { return catalog_; }

  /// Makes `change` durable, then true. One at a time. Errors: kIo, kNoSpace: nothing changed.
  Task<Status> Change(CatalogChange change);

 private:
  CatalogStore(GroupLog& log, EventLoop& loop, Clock& clock);

  Task<Status> Load();
  Task<Result<LogOffset>> Write(char kind, std::string text);
  Task<void> WriteSnapshot();

  GroupLog& group_;
  Clock& clock_;
  std::shared_ptr<BucketLog> log_;
  /// Commits the batches; clients cannot reach it.
  Bucket bucket_;
  Catalog catalog_;
  uint64_t snapshot_bytes_ = 0;
  uint64_t bytes_since_snapshot_ = 0;
};

}  // namespace weir
