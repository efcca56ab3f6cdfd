// What tests of the catalog share: descriptors as clients send them, and a catalog that carries its
// plans out.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "weir/catalog/catalog.h"

namespace weir {

/// 2024-11-11 11:11:00 UTC.
inline constexpr Timestamp kNow{1'731'323'460'000};
inline const std::string kDatabase = "db";

inline nlohmann::json TypeJson(const char* type) {
  return {{"type", type}};
}

inline nlohmann::json ColumnJson(const char* name, nlohmann::json type, int32_t id,
                                 nlohmann::json more = nlohmann::json::object()) {
  more.update({{"name", name}, {"data_type", std::move(type)}, {"id", id}});
  return more;
}

struct TableJson {
  std::vector<nlohmann::json> columns = {ColumnJson("id", TypeJson("INTEGER"), 0),
                                         ColumnJson("name", TypeJson("STRING"), 1)};
  std::vector<std::string> primary_key = {};
  std::vector<std::string> partition_key = {};
  std::vector<std::string> bucket_key = {};
  std::vector<std::string> auto_increment = {};
  int32_t highest_field_id = 20;
  int64_t buckets = 1;
  Properties properties = {};
  Properties custom_properties = {};

  std::string Dump() const {
    nlohmann::json schema = {
        {"version", 1}, {"columns", columns}, {"highest_field_id", highest_field_id}};
    if (!primary_key.empty()) schema["primary_key"] = primary_key;
    if (!auto_increment.empty()) schema["auto_increment_column"] = auto_increment;
    return nlohmann::json{{"version", 1},
                          {"schema", schema},
                          {"partition_key", partition_key},
                          {"bucket_key", bucket_key},
                          {"bucket_count", buckets},
                          {"properties", properties},
                          {"custom_properties", custom_properties}}
        .dump();
  }
};

/// A table with the columns id, region and day that is partitioned by the last two.
inline TableJson TwoKeys(Properties properties = {}) {
  return TableJson{.columns = {ColumnJson("id", TypeJson("INTEGER"), 0),
                               ColumnJson("region", TypeJson("STRING"), 1),
                               ColumnJson("day", TypeJson("STRING"), 2)},
                   .partition_key = {"region", "day"},
                   .properties = std::move(properties)};
}

/// A table that is partitioned by the column p.
inline TableJson OneKey(Properties properties = {}, const char* type = "STRING") {
  return TableJson{
      .columns = {ColumnJson("id", TypeJson("INTEGER"), 0), ColumnJson("p", TypeJson(type), 1)},
      .partition_key = {"p"},
      .properties = std::move(properties)};
}

inline TablePath PathOf(const std::string& table) {
  return TablePath{kDatabase, table};
}

/// A catalog with one database. Plans are carried out by way of their encoding, as after a restart.
class CatalogTest : public testing::Test {
 protected:
  CatalogTest() {
    EXPECT_EQ(Do(catalog_.PlanCreateDatabase(kDatabase, "", false, kNow)), std::nullopt);
  }

  /// The error of a plan, or nothing once its change is applied.
  std::optional<ErrorCode> Do(const Catalog::Plan& plan) {
    if (!plan.ok()) return plan.error().code;
    if (*plan) Carry(**plan);
    return std::nullopt;
  }

  void Carry(const CatalogChange& change) {
    const auto decoded = DecodeCatalogChange(EncodeCatalogChange(change));
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    const Status applied = catalog_.Apply(*decoded);
    ASSERT_TRUE(applied.ok()) << applied.error().message;
  }

  std::optional<ErrorCode> Create(const std::string& name, const TableJson& table) {
    return Do(catalog_.PlanCreateTable(PathOf(name), table.Dump(), false, kNow));
  }

  /// The table is made and dropped again.
  std::optional<ErrorCode> TryCreate(const TableJson& table) {
    const std::optional<ErrorCode> error = Create("tried", table);
    if (error) return error;
    return Do(catalog_.PlanDropTable(PathOf("tried"), false));
  }

  std::optional<ErrorCode> CreatePartition(const std::string& table, const PartitionSpec& spec,
                                           bool ignore = false, Timestamp now = kNow) {
    return Do(catalog_.PlanCreatePartition(PathOf(table), spec, ignore, now));
  }

  nlohmann::json Told(const std::string& table) const {
    return nlohmann::json::parse(catalog_.FindTable(PathOf(table))->descriptor_json);
  }

  std::vector<std::string> PartitionNames(const std::string& table) const {
    std::vector<std::string> names;
    for (const PartitionPtr& partition :
         catalog_.PartitionsOf(catalog_.FindTable(PathOf(table))->id)) {
      names.push_back(partition->name);
    }
    return names;
  }

  Catalog catalog_;
};

}  // namespace weir
