// See cluster.h.
#include "weir/load/cluster.h"

#include <chrono>
#include <map>
#include <thread>

namespace weir::load {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);
constexpr auto kPause = std::chrono::milliseconds(50);
constexpr int kLatest = 1;

MessageWriter PathMessage(const TableName& name) {
  return MessageWriter().Text(1, name.database).Text(2, name.table);
}

MessageWriter CreateTableMessage(const TableName& name, const std::string& descriptor_json) {
  return MessageWriter().Message(1, PathMessage(name)).Text(2, descriptor_json).Number(3, 0);
}

struct ServerNode {
  int64_t id = 0;
  Endpoint endpoint;
};

ServerNode ParseNode(std::string_view message) {
  ServerNode node;
  while (const std::optional<Field> field = TakeField(message)) {
    if (field->number == 1) node.id = field->value;
    if (field->number == 2) node.endpoint.host = field->text;
    if (field->number == 3) node.endpoint.port = static_cast<int>(field->value);
  }
  return node;
}

/// Leaders of the buckets of a PbTableMetadata, as far as there are any.
TableLocation ParseTable(std::string_view message, const std::map<int64_t, Endpoint>& servers) {
  TableLocation location;
  std::map<int64_t, Endpoint> leaders;
  while (const std::optional<Field> field = TakeField(message)) {
    if (field->number == 2) location.table_id = field->value;
    if (field->number != 5) continue;
    const std::optional<Field> bucket = FindField(field->text, 1);
    const std::optional<Field> leader = FindField(field->text, 2);
    const auto server = leader ? servers.find(leader->value) : servers.end();
    if (bucket && server != servers.end()) leaders[bucket->value] = server->second;
    // A bucket without a leader leaves a gap, so that the caller sees it.
    if (bucket && server == servers.end()) leaders[bucket->value];
  }
  for (const auto& [bucket, endpoint] : leaders) location.leaders.push_back(endpoint);
  return location;
}

bool IsComplete(const TableLocation& location) {
  for (const Endpoint& leader : location.leaders) {
    if (leader.port == 0) return false;
  }
  return !location.leaders.empty();
}

}  // namespace

Result<Cluster> Cluster::Open(const std::string& bootstrap) {
  WEIR_ASSIGN(const Endpoint endpoint, ParseEndpoint(bootstrap));
  WEIR_ASSIGN(Connection connection, Connection::Open(endpoint));
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    WEIR_ASSIGN(const std::string metadata, connection.Call(Api::kGetMetadata, MessageWriter()));
    const std::optional<Field> coordinator = FindField(metadata, 1);
    // A coordinator that has just begun knows no tablet server yet and refuses tables.
    if (coordinator && FindField(metadata, 2)) {
      WEIR_ASSIGN(Connection admin, Connection::Open(ParseNode(coordinator->text).endpoint));
      return Cluster(std::move(connection), std::move(admin));
    }
    if (std::chrono::steady_clock::now() > deadline) {
      return Fail(ErrorCode::kTimedOut,
                  "the metadata lack a coordinator or a tablet server: server={}", bootstrap);
    }
    std::this_thread::sleep_for(kPause);
  }
}

Status Cluster::EnsureDatabase(const std::string& database) {
  WEIR_TRY(coordinator_.Call(Api::kCreateDatabase, MessageWriter().Text(1, database).Number(2, 1)));
  return Ok();
}

Status Cluster::CreateTable(const TableName& name, const std::string& descriptor_json) {
  WEIR_TRY(coordinator_.Call(Api::kCreateTable, CreateTableMessage(name, descriptor_json)));
  return Ok();
}

Status Cluster::CreateTables(const std::string& database, int count,
                             const std::string& descriptor_json, int in_flight) {
  for (int sent = 0, answered = 0; answered < count;) {
    if (sent < count && sent - answered < in_flight) {
      const TableName name{database, fmt::format("t{}", sent++)};
      const MessageWriter request = CreateTableMessage(name, descriptor_json);
      WEIR_TRY(coordinator_.Send(Api::kCreateTable, {request.text()}));
    } else {
      WEIR_TRY(coordinator_.Receive());
      ++answered;
    }
  }
  return Ok();
}

Status Cluster::DropTable(const TableName& name) {
  WEIR_TRY(coordinator_.Call(Api::kDropTable,
                             MessageWriter().Message(1, PathMessage(name)).Number(2, 1)));
  return Ok();
}

Result<TableLocation> Cluster::Locate(const TableName& name) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const MessageWriter request = MessageWriter().Message(1, PathMessage(name));
  while (true) {
    WEIR_ASSIGN(const std::string metadata, bootstrap_.Call(Api::kGetMetadata, request));
    std::map<int64_t, Endpoint> servers;
    std::string_view rest = metadata;
    std::string_view table;
    while (const std::optional<Field> field = TakeField(rest)) {
      if (field->number == 3) table = field->text;
      if (field->number != 2) continue;
      const ServerNode node = ParseNode(field->text);
      servers[node.id] = node.endpoint;
    }
    const TableLocation location = ParseTable(table, servers);
    // A leader may be named before its server knows of it; asking it for an offset tells.
    if (IsComplete(location) && CountRows(location).ok()) return location;
    if (std::chrono::steady_clock::now() > deadline) {
      return Fail(ErrorCode::kTimedOut, "a bucket has no leader: table={}.{}", name.database,
                  name.table);
    }
    std::this_thread::sleep_for(kPause);
  }
}

Result<int64_t> Cluster::CountRows(const TableLocation& location) {
  int64_t rows = 0;
  for (size_t bucket = 0; bucket < location.leaders.size(); ++bucket) {
    WEIR_ASSIGN(Connection connection, Connection::Open(location.leaders[bucket]));
    WEIR_ASSIGN(const std::string answer,
                connection.Call(Api::kListOffsets, MessageWriter()
                                                       .Number(1, -1)
                                                       .Number(2, kLatest)
                                                       .Number(3, location.table_id)
                                                       .Number(5, static_cast<int64_t>(bucket))));
    const std::optional<Field> item = FindField(answer, 1);
    if (!item) return Fail(ErrorCode::kIo, "an answer lacks its bucket");
    WEIR_TRY(BucketStatus(item->text, 2));
    const std::optional<Field> offset = FindField(item->text, 4);
    rows += offset ? offset->value : 0;
  }
  return rows;
}

Result<int64_t> Cluster::CountKeys(const TableLocation& location) {
  int64_t rows = 0;
  for (size_t bucket = 0; bucket < location.leaders.size(); ++bucket) {
    WEIR_ASSIGN(Connection connection, Connection::Open(location.leaders[bucket]));
    MessageWriter request;
    request.Number(1, location.table_id)
        .Message(2, MessageWriter().Number(2, static_cast<int64_t>(bucket)));
    WEIR_ASSIGN(const std::string answer, connection.Call(Api::kGetTableStats, request));
    const std::optional<Field> item = FindField(answer, 1);
    if (!item) return Fail(ErrorCode::kIo, "an answer lacks its bucket");
    WEIR_TRY(BucketStatus(item->text, 1));
    const std::optional<Field> count = FindField(item->text, 5);
    if (!count) return Fail(ErrorCode::kIo, "an answer lacks the number of rows");
    rows += count->value;
  }
  return rows;
}

Result<WriterId> InitWriter(Connection& connection, const TableName& name) {
  WEIR_ASSIGN(const std::string answer,
              connection.Call(Api::kInitWriter, MessageWriter().Message(1, PathMessage(name))));
  const std::optional<Field> id = FindField(answer, 1);
  return WriterId(id ? id->value : 0);
}

}  // namespace weir::load
