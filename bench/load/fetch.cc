// See fetch.h.
#include "weir/load/fetch.h"

#include <string>

#include "weir/base/varint.h"
#include "weir/record/log_batch.h"

namespace weir::load {

Result<Fetched> Fetch(Connection& connection, const BenchOptions& options, const FetchSpec& spec,
                      int64_t offset) {
  std::string positions;
  for (const int32_t position : options.projection) {
    AppendVarint(positions, static_cast<uint64_t>(position));
  }
  MessageWriter table;
  table.Number(1, spec.table_id).Number(2, options.projection.empty() ? 0 : 1);
  if (!positions.empty()) table.Text(3, positions);
  table.Message(4, MessageWriter()
                       .Number(2, spec.bucket)
                       .Number(3, offset)
                       .Number(4, options.fetch_bucket_bytes));
  MessageWriter request;
  request.Number(1, -1).Number(2, options.fetch_bytes).Message(3, table);
  request.Number(4, options.wait_ms).Number(5, 1);
  WEIR_TRY(connection.Send(Api::kFetchLog, {request.text()}));

  WEIR_ASSIGN(const std::string_view answer, connection.Receive());
  const std::optional<Field> of_table = FindField(answer, 1);
  const std::optional<Field> of_bucket = of_table ? FindField(of_table->text, 2) : std::nullopt;
  if (!of_bucket) return Fail(ErrorCode::kIo, "an answer lacks its bucket");
  WEIR_TRY(BucketStatus(of_bucket->text, 3));
  Fetched fetched{.next_offset = offset};
  std::string_view records;
  std::string_view rest = of_bucket->text;
  while (const std::optional<Field> field = TakeField(rest)) {
    if (field->number == 5) fetched.high_watermark = field->value;
    if (field->number == 8) records = field->text;
    if (field->number == 7) {
      return Fail(ErrorCode::kUnsupported,
                  "the server moved the log to remote storage; use fewer rows");
    }
  }
  for (LogBatchReader reader(AsBytes(records)); !reader.at_end();) {
    Result<LogBatchView> batch = reader.Next();
    // Apache Fluss may cut the last batch short where the bytes asked for end.
    if (!batch.ok() && reader.position() > 0) break;
    if (!batch.ok()) return batch.error();
    fetched.next_offset = batch->header.end_offset().value;
    fetched.rows += batch->header.record_count;
  }
  return fetched;
}

}  // namespace weir::load
