// The catalog: which databases, tables and partitions there are, in memory. It decides and
// remembers; it does no IO.
//
// A request is judged by a Plan function, which tells the change to make. The caller makes that
// durable and then applies it, before it plans again. After a restart the same changes are applied
// in the same order, onto the last snapshot. Not for several threads; the values that it gives away
// may go anywhere.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weir/base/ids.h"
#include "weir/base/result.h"
#include "weir/catalog/catalog_change.h"
#include "weir/catalog/entities.h"
#include "weir/record/partition_name.h"

namespace weir {

/// Always there: clients expect it.
inline constexpr std::string_view kDefaultDatabase = "fluss";
/// Partitions of one table (Fluss max.partition.num).
inline constexpr size_t kPartitionsMax = 1000;

/// The numbers are those of the Fluss protocol (PbAlterConfig op_type); any may come from outside.
enum class PropertyOperation : int32_t { kSet = 0, kDelete = 1, kAppend = 2, kSubtract = 3 };

struct PropertyChange {
  std::string name;
  std::optional<std::string> value;
  PropertyOperation operation = PropertyOperation::kSet;
};

struct DatabaseAlteration {
  std::string name;
  bool ignore_if_missing = false;
  /// Custom properties.
  std::vector<PropertyChange> properties;
  /// Absent: it stays. Empty: it is removed.
  std::optional<std::string> comment;
};

struct AddedColumn {
  std::string name;
  std::string data_type_json;
  std::optional<std::string> comment;
  bool is_last = true;
  std::optional<std::string> aggregate;
  std::vector<std::pair<std::string, std::string>> aggregate_parameters;
};

struct TableAlteration {
  TablePath path;
  bool ignore_if_missing = false;
  /// Names that begin with `table.` are table properties, others custom properties.
  std::vector<PropertyChange> properties;
  std::vector<AddedColumn> added_columns;
  /// Columns are dropped, renamed or modified too, which is not offered.
  bool changes_columns = false;
};

class Catalog {
 public:
  /// A change, or nothing to do: what was asked for is so already and the request said not to mind.
  using Plan = Result<std::optional<CatalogChange>>;

  // --- Changes ----------------------------------------------------------------------------------
  /// Makes the default database, if it is not there yet. To be asked once at every start.
  std::optional<CatalogChange> PlanDefaultDatabase(Timestamp now) const;

  /// `descriptor_json` may be empty. Errors: kInvalidName, kDatabaseExists.
  Plan PlanCreateDatabase(const std::string& name, std::string_view descriptor_json,
                          bool ignore_if_exists, Timestamp now) const;
  /// Errors: kDatabaseNotFound, kInvalidAlteration.
  Plan PlanAlterDatabase(const DatabaseAlteration& alteration, Timestamp now) const;
  /// Errors: kDatabaseNotFound; kDatabaseNotEmpty without `cascade`; kUnsupported for the default
  /// database.
  Plan PlanDropDatabase(const std::string& name, bool ignore_if_missing, bool cascade) const;

  /// Errors: kInvalidName, kInvalidTable, kInvalidConfig, kInvalidReplication, kTooManyBuckets
  /// (whatever there is already); kDatabaseNotFound, kTableExists.
  Plan PlanCreateTable(const TablePath& path, std::string_view descriptor_json,
                       bool ignore_if_exists, Timestamp now) const;
  /// Errors: kTableNotFound, kInvalidAlteration; of the table as it would be, those of
  /// PlanCreateTable.
  Plan PlanAlterTable(const TableAlteration& alteration, Timestamp now) const;
  /// Errors: kTableNotFound.
  Plan PlanDropTable(const TablePath& path, bool ignore_if_missing) const;

  /// Errors: kTableNotFound, kNotPartitioned, kInvalidPartition, kPartitionExists,
  /// kTooManyPartitions, kTooManyBuckets.
  Plan PlanCreatePartition(const TablePath& path, const PartitionSpec& spec, bool ignore_if_exists,
                           Timestamp now) const;
  /// Errors: kTableNotFound, kNotPartitioned, kInvalidPartition, kPartitionNotFound.
  Plan PlanDropPartition(const TablePath& path, const PartitionSpec& spec,
                         bool ignore_if_missing) const;

  /// Tables whose partitions are made and dropped by time.
  std::vector<TableId> AutoPartitionedTables() const;
  /// Drops the partitions that are too old and makes those that are due, as many as the limits
  /// allow. Nothing to do for a table that is not there. Errors: kInvalidConfig if the time zone is
  /// no longer known.
  Plan PlanAutoPartition(TableId id, Timestamp now) const;

  /// Reserves the `count` writer ids from next_writer_id() on.
  CatalogChange PlanReserveWriters(int64_t count) const;
  WriterId next_writer_id() const { return next_writer_id_; }

  /// Reserves the `count` numbers from NextNumber on. Errors: kUnknownBucket: no such table;
  /// kInvalidTable: there are no more numbers.
  Plan PlanReserveNumbers(TableId id, int64_t count) const;
  /// The first number of the table's auto-increment column that is not reserved.
  int64_t NextNumber(TableId id) const;

  /// Nothing to do: the producer has offsets already, and they stay. Errors: kInvalidProducer,
  /// kOverloaded.
  Plan PlanRegisterProducer(const ProducerOffsets& offsets, Timestamp now) const;
  std::optional<CatalogChange> PlanDropProducer(const std::string& producer_id) const;
  // Leases of kv snapshots; see kv_leases.cc.

  /// Makes or renews a lease: it ends after `duration`, and keeps `snapshots` besides what it has,
  /// in place of what it has of the same buckets. Errors: kUnknownBucket (no such table),
  /// kNotPrimaryKeyTable, kMalformedRequest, kOverloaded: too many leases.
  Plan PlanAcquireLease(const std::string& lease_id, std::chrono::milliseconds duration,
                        const std::vector<KvSnapshotName>& snapshots, Timestamp now) const;
  /// Takes `buckets` out of a lease; one without buckets ends. Nothing to do for an unknown lease.
  /// Errors: kUnknownBucket, kNotPrimaryKeyTable.
  Plan PlanReleaseLease(const std::string& lease_id, const std::vector<TableBucket>& buckets) const;
  std::optional<CatalogChange> PlanDropLease(const std::string& lease_id) const;
  /// Forgets the leases whose time is over.
  std::optional<CatalogChange> PlanForgetLeases(Timestamp now) const;
  /// What is leased at `now`.
  std::set<KvSnapshotName> LeasedSnapshots(Timestamp now) const;

  /// Forgets the offsets whose time is over.
  std::optional<CatalogChange> PlanForgetProducers(Timestamp now) const;

  /// Makes a change true. Errors: kCorruptData if it does not fit to what there is, which cannot
  /// happen to a change that was planned on this state; nothing changed then.
  Status Apply(const CatalogChange& change);

  /// Text from which DecodeSnapshot makes this catalog again.
  std::string EncodeSnapshot() const;
  /// Errors: kCorruptData, kUnsupported (made by a newer version).
  static Result<Catalog> DecodeSnapshot(std::string_view text);

  // --- Reads ------------------------------------------------------------------------------------
  /// Null if there is none. Valid until the next change.
  const DatabaseInfo* FindDatabase(const std::string& name) const;
  /// Errors: kDatabaseNotFound.
  Result<DatabaseInfo> GetDatabase(const std::string& name) const;
  /// In alphabetical order.
  std::vector<std::string> ListDatabases() const;
  std::vector<DatabaseSummary> SummarizeDatabases() const;

  /// Null if there is none.
  TablePtr FindTable(const TablePath& path) const;
  TablePtr FindTable(TableId id) const;
  /// Errors: kTableNotFound.
  Result<TablePtr> GetTable(const TablePath& path) const;
  /// Names in alphabetical order. Errors: kDatabaseNotFound.
  Result<std::vector<std::string>> ListTables(const std::string& database) const;
  /// All there are, or those of one database (none if it is not there), in the order of their ids.
  std::vector<TablePtr> AllTables() const;
  std::vector<TablePtr> TablesOf(const std::string& database) const;

  /// Null if there is none.
  PartitionPtr FindPartition(PartitionId id) const;
  PartitionPtr FindPartition(TableId table_id, const std::string& name) const;
  /// Errors: kTableNotFound, kPartitionNotFound.
  Result<PartitionPtr> GetPartition(const TablePath& path, const std::string& name) const;
  /// In the order of their names; none if there is no such table.
  std::vector<PartitionPtr> PartitionsOf(TableId table_id) const;
  /// Those that have the values of `filter`, which names some of the partition keys or none.
  /// Errors: kTableNotFound, kNotPartitioned, kInvalidPartition.
  Result<std::vector<PartitionPtr>> ListPartitions(const TablePath& path,
                                                   const PartitionSpec& filter) const;

  /// Null if there are none, or their time is over. Valid until the next change.
  const RegisteredOffsets* FindProducer(const std::string& producer_id, Timestamp now) const;

 private:
  struct Database {
    DatabaseInfo info;
    std::map<std::string, TableId> tables;
  };
  struct Table {
    TablePtr info;
    std::map<std::string, PartitionPtr> partitions;
    /// Of the auto-increment column.
    int64_t next_number = kFirstNumber;
  };

  const Table* FindEntry(const TablePath& path) const;
  /// Errors: kTableNotFound, kNotPartitioned.
  Result<const Table*> GetPartitioned(const TablePath& path) const;
  Plan PlanAddColumns(const TableInfo& table, const TableAlteration& alteration,
                      Timestamp now) const;
  Plan PlanSetProperties(const TableInfo& table, const TableAlteration& alteration,
                         Timestamp now) const;

  /// Errors: kUnknownBucket, kNotPrimaryKeyTable.
  Status CheckLeased(TableId table) const;

  Status ApplyOne(const DatabasePut& change);
  Status ApplyOne(const DatabaseDropped& change);
  Status ApplyOne(const TableCreated& change);
  Status ApplyOne(const TableAltered& change);
  Status ApplyOne(const TableDropped& change);
  Status ApplyOne(const PartitionsChanged& change);
  Status ApplyOne(const WritersReserved& change);
  Status ApplyOne(const NumbersReserved& change);
  Status ApplyOne(const ProducerRegistered& change);
  Status ApplyOne(const ProducersDropped& change);
  Status ApplyOne(const LeasePut& change);
  Status ApplyOne(const LeasesDropped& change);
  void Forget(TableId id);

  // Ordered, so that a snapshot of the same state is always the same text.
  std::map<std::string, Database> databases_;
  std::map<TableId, Table> tables_;
  std::unordered_map<PartitionId, PartitionPtr> partitions_;
  std::map<std::string, RegisteredOffsets> producers_;
  std::map<std::string, KvSnapshotLease> leases_;
  // Of tables and partitions that are gone too: ids are never used again.
  TableId next_table_id_;
  PartitionId next_partition_id_;
  WriterId next_writer_id_;
};

}  // namespace weir
