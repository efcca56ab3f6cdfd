// Databases.
#include "weir/gateway/fluss/handlers.h"
#include "weir/gateway/fluss/lookups.h"

namespace weir::fluss {

Answer<wire::CreateDatabaseResponse> CreateDatabase(const RequestContext& context,
                                                    wire::CreateDatabaseRequest request) {
  WEIR_CO_TRY(co_await context.node().CreateDatabase(
      request.database_name(), request.database_json(), request.ignore_if_exists()));
  co_return wire::CreateDatabaseResponse();
}

Answer<wire::AlterDatabaseResponse> AlterDatabase(const RequestContext& context,
                                                  wire::AlterDatabaseRequest request) {
  DatabaseAlteration alteration;
  alteration.name = request.database_name();
  alteration.ignore_if_missing = request.ignore_if_not_exists();
  alteration.properties = ToPropertyChanges(request.config_changes());
  if (request.has_comment()) alteration.comment = request.comment();
  WEIR_CO_TRY(co_await context.node().AlterDatabase(std::move(alteration)));
  co_return wire::AlterDatabaseResponse();
}

Answer<wire::DropDatabaseResponse> DropDatabase(const RequestContext& context,
                                                wire::DropDatabaseRequest request) {
  WEIR_CO_TRY(co_await context.node().DropDatabase(
      request.database_name(), request.ignore_if_not_exists(), request.cascade()));
  co_return wire::DropDatabaseResponse();
}

Answer<wire::ListDatabasesResponse> ListDatabases(const RequestContext& context,
                                                  wire::ListDatabasesRequest request) {
  wire::ListDatabasesResponse response;
  auto read = [&](const Catalog& catalog) {
    if (!request.include_summary()) {
      for (std::string& name : catalog.ListDatabases()) response.add_database_name(std::move(name));
      return Ok();
    }
    for (DatabaseSummary& database : catalog.SummarizeDatabases()) {
      wire::PbDatabaseSummary& summary = *response.add_database_summary();
      summary.set_database_name(std::move(database.name));
      summary.set_created_time(database.created.value);
      summary.set_table_count(database.table_count);
    }
    return Ok();
  };
  WEIR_CO_TRY(co_await context.node().ReadCatalog(read));
  co_return response;
}

Answer<wire::DatabaseExistsResponse> DatabaseExists(const RequestContext& context,
                                                    wire::DatabaseExistsRequest request) {
  auto read = [&](const Catalog& catalog) {
    return catalog.FindDatabase(request.database_name()) != nullptr;
  };
  wire::DatabaseExistsResponse response;
  response.set_exists(co_await context.node().ReadCatalog(read));
  co_return response;
}

Answer<wire::GetDatabaseInfoResponse> GetDatabaseInfo(const RequestContext& context,
                                                      wire::GetDatabaseInfoRequest request) {
  auto read = [&](const Catalog& catalog) { return catalog.GetDatabase(request.database_name()); };
  WEIR_CO_ASSIGN(const DatabaseInfo database, co_await context.node().ReadCatalog(read));
  wire::GetDatabaseInfoResponse response;
  response.set_database_json(EncodeDatabaseDescriptor(database));
  response.set_created_time(database.created.value);
  response.set_modified_time(database.modified.value);
  co_return response;
}

}  // namespace weir::fluss
