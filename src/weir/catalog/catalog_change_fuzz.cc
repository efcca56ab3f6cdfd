// Feeds arbitrary bytes to the readers of catalog changes and snapshots. A change that is read is
// written as the same, fits to a catalog or is refused, and what comes of it survives a snapshot. A
// descriptor in it is judged as a request too.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "weir/base/check.h"
#include "weir/catalog/catalog.h"

namespace weir {
namespace {

constexpr Timestamp kNow{1'731'323'460'000};

/// A database with a plain and a partitioned table, for changes to fit to.
Catalog MakeCatalog() {
  Catalog catalog;
  const auto carry = [&](const Catalog::Plan& plan) {
    WEIR_CHECK(plan.ok() && plan->has_value());
    WEIR_CHECK(catalog.Apply(**plan).ok());
  };
  carry(catalog.PlanCreateDatabase("db", "", false, kNow));
  const std::string schema =
      R"({"schema":{"columns":[{"name":"id","data_type":{"type":"INTEGER"}},)"
      R"({"name":"p","data_type":{"type":"STRING"}}]})";
  carry(catalog.PlanCreateTable({"db", "plain"}, schema + "}", false, kNow));
  carry(catalog.PlanCreateTable({"db", "parted"}, schema + R"(,"partition_key":["p"]})", false,
                                kNow));
  carry(catalog.PlanCreatePartition({"db", "parted"}, {{"p", "a"}}, false, kNow));
  return catalog;
}

void CheckSnapshot(const Catalog& catalog) {
  const std::string snapshot = catalog.EncodeSnapshot();
  const auto again = Catalog::DecodeSnapshot(snapshot);
  WEIR_CHECK(again.ok());
  WEIR_CHECK(again->EncodeSnapshot() == snapshot);
}

void CheckChange(std::string_view text) {
  const auto change = DecodeCatalogChange(text);
  if (!change.ok()) return;
  const std::string written = EncodeCatalogChange(*change);
  const auto again = DecodeCatalogChange(written);
  WEIR_CHECK(again.ok());
  WEIR_CHECK(EncodeCatalogChange(*again) == written);

  static const Catalog kCatalog = MakeCatalog();
  Catalog catalog = kCatalog;
  if (const auto* created = std::get_if<TableCreated>(&*change)) {
    const auto plan = catalog.PlanCreateTable(
        {"db", "asked"}, EncodeTableDescriptor(created->descriptor), false, kNow);
    if (plan.ok()) {
      WEIR_CHECK(catalog.Apply(**plan).ok());
      for (const TableId id : catalog.AutoPartitionedTables()) {
        const auto partitions = catalog.PlanAutoPartition(id, kNow);
        WEIR_CHECK(partitions.ok());
        if (partitions->has_value()) WEIR_CHECK(catalog.Apply(**partitions).ok());
      }
    }
  }
  if (catalog.Apply(*change).ok()) CheckSnapshot(catalog);
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  weir::CheckChange(text);
  const auto snapshot = weir::Catalog::DecodeSnapshot(text);
  if (snapshot.ok()) weir::CheckSnapshot(*snapshot);
  return 0;
}
