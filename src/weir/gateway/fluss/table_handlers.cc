// Tables and their schemas.
#include "weir/gateway/fluss/handlers.h"
#include "weir/gateway/fluss/lookups.h"
#include "weir/record/schema.h"

namespace weir::fluss {
namespace {

/// The only place of a new column that is offered: behind the others.
constexpr int32_t kLastPosition = 0;

AddedColumn ToAddedColumn(const wire::PbAddColumn& added) {
  AddedColumn column;
  column.name = added.column_name();
  column.data_type_json = added.data_type_json();
  if (added.has_comment()) column.comment = added.comment();
  column.is_last = added.column_position_type() == kLastPosition;
  if (added.has_agg_function_type()) column.aggregate = added.agg_function_type();
  for (const wire::PbKeyValue& parameter : added.agg_function_params()) {
    column.aggregate_parameters.emplace_back(parameter.key(), parameter.value());
  }
  return column;
}

}  // namespace

Answer<wire::CreateTableResponse> CreateTable(const RequestContext& context,
                                              wire::CreateTableRequest request) {
  WEIR_CO_TRY(co_await context.node().CreateTable(
      ToPath(request.table_path()), request.table_json(), request.ignore_if_exists()));
  co_return wire::CreateTableResponse();
}

Answer<wire::DropTableResponse> DropTable(const RequestContext& context,
                                          wire::DropTableRequest request) {
  WEIR_CO_TRY(co_await context.node().DropTable(ToPath(request.table_path()),
                                                request.ignore_if_not_exists()));
  co_return wire::DropTableResponse();
}

Answer<wire::AlterTableResponse> AlterTable(const RequestContext& context,
                                            wire::AlterTableRequest request) {
  TableAlteration alteration;
  alteration.path = ToPath(request.table_path());
  alteration.ignore_if_missing = request.ignore_if_not_exists();
  alteration.properties = ToPropertyChanges(request.config_changes());
  for (const wire::PbAddColumn& added : request.add_columns()) {
    alteration.added_columns.push_back(ToAddedColumn(added));
  }
  alteration.changes_columns =
      request.drop_columns_size() + request.rename_columns_size() + request.modify_columns_size() >
      0;
  WEIR_CO_TRY(co_await context.node().AlterTable(std::move(alteration)));
  co_return wire::AlterTableResponse();
}

Answer<wire::GetTableInfoResponse> GetTableInfo(const RequestContext& context,
                                                wire::GetTableInfoRequest request) {
  WEIR_CO_ASSIGN(const TablePtr table,
                 co_await FindTable(context.node(), ToPath(request.table_path())));
  wire::GetTableInfoResponse response;
  response.set_table_id(table->id.value);
  response.set_schema_id(table->schema_id().value);
  response.set_table_json(table->descriptor_json);
  response.set_created_time(table->created.value);
  response.set_modified_time(table->modified.value);
  co_return response;
}

Answer<wire::GetTableSchemaResponse> GetTableSchema(const RequestContext& context,
                                                    wire::GetTableSchemaRequest request) {
  WEIR_CO_ASSIGN(const TablePtr table,
                 co_await FindTable(context.node(), ToPath(request.table_path())));
  const int32_t asked = request.has_schema_id() ? request.schema_id() : table->schema_id().value;
  const SchemaId id(static_cast<int16_t>(asked));
  if (id.value != asked || !table->HasSchema(id)) {
    co_return Fail(ErrorCode::kSchemaNotFound, "table has no such schema: table={} schema_id={}",
                   table->path, asked);
  }
  wire::GetTableSchemaResponse response;
  response.set_schema_id(id.value);
  response.set_schema_json(EncodeSchema(table->SchemaOf(id)));
  co_return response;
}

Answer<wire::ListTablesResponse> ListTables(const RequestContext& context,
                                            wire::ListTablesRequest request) {
  auto read = [&](const Catalog& catalog) { return catalog.ListTables(request.database_name()); };
  WEIR_CO_ASSIGN(std::vector<std::string> names, co_await context.node().ReadCatalog(read));
  wire::ListTablesResponse response;
  for (std::string& name : names) response.add_table_name(std::move(name));
  co_return response;
}

Answer<wire::TableExistsResponse> TableExists(const RequestContext& context,
                                              wire::TableExistsRequest request) {
  const Result<TablePtr> table = co_await FindTable(context.node(), ToPath(request.table_path()));
  wire::TableExistsResponse response;
  response.set_exists(table.ok());
  co_return response;
}

}  // namespace weir::fluss
