// Leases of kv snapshots: who reads a snapshot for long keeps it from being removed.
#include <algorithm>
#include <set>

#include "weir/catalog/catalog.h"

namespace weir {
namespace {

constexpr size_t kLeasesMax = 10'000;
constexpr size_t kLeasedSnapshotsMax = 1'000'000;
constexpr size_t kLeaseIdBytesMax = 1024;
// A reader that needs more renews its lease.
constexpr std::chrono::milliseconds kDurationMax = std::chrono::hours(24 * 365);

}  // namespace

Status Catalog::CheckLeased(TableId table) const {
  const TablePtr found = FindTable(table);
  if (found == nullptr)
    return Fail(ErrorCode::kUnknownBucket, "table id is not known: table_id={}", table);
  if (!found->is_primary_key_table())
    return Fail(ErrorCode::kNotPrimaryKeyTable, "table has no primary key: table={}", found->path);
  return Ok();
}

Catalog::Plan Catalog::PlanAcquireLease(const std::string& lease_id,
                                        std::chrono::milliseconds duration,
                                        const std::vector<KvSnapshotName>& snapshots,
                                        Timestamp now) const {
  for (const KvSnapshotName& snapshot : snapshots) WEIR_TRY(CheckLeased(snapshot.bucket.table_id));
  if (lease_id.empty() || lease_id.size() > kLeaseIdBytesMax || duration.count() <= 0) {
    return Fail(ErrorCode::kMalformedRequest,
                "a lease needs a name of 1 to {} bytes and a duration: bytes={} milliseconds={}",
                kLeaseIdBytesMax, lease_id.size(), duration.count());
  }
  LeasePut change;
  const auto found = leases_.find(lease_id);
  if (found != leases_.end()) {
    change.lease = found->second;
  } else if (leases_.size() >= kLeasesMax) {
    return Fail(ErrorCode::kOverloaded, "too many leases of kv snapshots: leases={}",
                leases_.size());
  }
  change.lease.lease_id = lease_id;
  change.lease.expires = Timestamp(now.value + std::min(duration, kDurationMax).count());
  std::set<TableBucket> replaced;
  for (const KvSnapshotName& snapshot : snapshots) replaced.insert(snapshot.bucket);
  std::vector<KvSnapshotName>& kept = change.lease.snapshots;
  std::erase_if(kept, [&](const auto& snapshot) { return replaced.contains(snapshot.bucket); });
  kept.insert(kept.end(), snapshots.begin(), snapshots.end());
  if (kept.size() > kLeasedSnapshotsMax) {
    return Fail(ErrorCode::kOverloaded, "a lease names too many snapshots: snapshots={} max={}",
                kept.size(), kLeasedSnapshotsMax);
  }
  return std::optional<CatalogChange>(std::move(change));
}

Catalog::Plan Catalog::PlanReleaseLease(const std::string& lease_id,
                                        const std::vector<TableBucket>& buckets) const {
  for (const TableBucket& bucket : buckets) WEIR_TRY(CheckLeased(bucket.table_id));
  const auto found = leases_.find(lease_id);
  if (found == leases_.end()) return std::optional<CatalogChange>();
  const std::set<TableBucket> released(buckets.begin(), buckets.end());
  LeasePut change{found->second};
  std::erase_if(change.lease.snapshots,
                [&](const auto& snapshot) { return released.contains(snapshot.bucket); });
  if (change.lease.snapshots.empty())
    return std::optional<CatalogChange>(LeasesDropped{{lease_id}});
  return std::optional<CatalogChange>(std::move(change));
}

std::optional<CatalogChange> Catalog::PlanDropLease(const std::string& lease_id) const {
  if (!leases_.contains(lease_id)) return std::nullopt;
  return LeasesDropped{{lease_id}};
}

std::optional<CatalogChange> Catalog::PlanForgetLeases(Timestamp now) const {
  LeasesDropped change;
  for (const auto& [id, lease] : leases_) {
    if (lease.expires <= now) change.lease_ids.push_back(id);
  }
  if (change.lease_ids.empty()) return std::nullopt;
  return change;
}

std::set<KvSnapshotName> Catalog::LeasedSnapshots(Timestamp now) const {
  std::set<KvSnapshotName> leased;
  for (const auto& [id, lease] : leases_) {
    if (lease.expires > now) leased.insert(lease.snapshots.begin(), lease.snapshots.end());
  }
  return leased;
}

}  // namespace weir
