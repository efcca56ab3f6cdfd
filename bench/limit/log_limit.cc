// See log_limit.h.
#include "log_limit.h"

#include <mutex>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "weir/base/crc32c.h"
#include "weir/record/log_batch.h"

namespace weir::load {
namespace {

/// The one log: batches behind each other in a file, and where each begins.
class Log final : public Limit {
 public:
  explicit Log(const std::string& path)
      : fd_(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644)) {
    Require(fd_ >= 0, "cannot create the file");
  }

  LimitAnswer Answer(Api api, std::span<char> body, std::vector<char>& memory) override {
    LimitAnswer answer;
    if (api == Api::kDropTable) Clear();
    if (api == Api::kProduceLog) answer.message = AnswerAppend(body);
    if (api == Api::kFetchLog) {
      answer.message = AnswerFetch({body.data(), body.size()}, answer.records, memory);
    }
    return answer;  // to what is left the answer is an empty message
  }

  int64_t end_offset() override {
    const std::lock_guard lock(mutex_);
    return batches_.back().offset;
  }

 private:
  void Clear() {
    const std::lock_guard lock(mutex_);
    Require(ftruncate(fd_, 0) == 0, "cannot empty the file");
    batches_ = {{0, 0}};
  }

  /// False if the checksum is wrong.
  bool Append(std::span<std::byte> batch) {
    const auto header = DecodeLogBatchHeader(batch);
    if (!header.ok() || Crc32c(batch.subspan(header->crc_start())) != header->crc) return false;
    const std::lock_guard lock(mutex_);
    const Place at = batches_.back();
    StampLogBatch(batch, LogOffset(at.offset), Timestamp(1));
    Require(
        pwrite(fd_, batch.data(), batch.size(), at.position) == static_cast<ssize_t>(batch.size()),
        "cannot write");
    batches_.push_back(
        {at.offset + header->record_count, at.position + static_cast<off_t>(batch.size())});
    return true;
  }

  /// Whole batches from `offset` on, of at most `bytes_max`, but at least one.
  std::string_view Read(int64_t offset, size_t bytes_max, std::vector<char>& buffer) {
    off_t begin = 0, end = 0;
    {
      const std::lock_guard lock(mutex_);
      size_t first = 0;
      size_t above = batches_.size() - 1;
      while (above - first > 1) {
        const size_t middle = (first + above) / 2;
        (batches_[middle].offset <= offset ? first : above) = middle;
      }
      begin = batches_[first].position;
      size_t last = std::min(first + 1, batches_.size() - 1);
      while (last + 1 < batches_.size() &&
             batches_[last + 1].position - begin <= static_cast<off_t>(bytes_max))
        ++last;
      end = batches_[last].position;
    }
    const auto size = static_cast<size_t>(end - begin);
    if (buffer.size() < size) buffer.resize(size);
    Require(pread(fd_, buffer.data(), size, begin) == static_cast<ssize_t>(size), "cannot read");
    return {buffer.data(), size};
  }

  MessageWriter AnswerAppend(std::span<char> body) {
    const std::optional<Field> bucket = FindField({body.data(), body.size()}, 4);
    const std::optional<Field> records = bucket ? FindField(bucket->text, 3) : std::nullopt;
    MessageWriter answer;
    if (!records) return answer;
    char* const batch = body.data() + (records->text.data() - body.data());
    const bool appended = Append(std::as_writable_bytes(std::span(batch, records->text.size())));
    MessageWriter result;
    result.Number(2, 0);
    if (!appended) result.Number(3, 14);
    return answer.Message(1, result);
  }

  MessageWriter AnswerFetch(std::string_view request, std::string_view& records,
                            std::vector<char>& memory) {
    const std::optional<Field> table = FindField(request, 3);
    const std::optional<Field> bucket = table ? FindField(table->text, 4) : std::nullopt;
    const std::optional<Field> offset = bucket ? FindField(bucket->text, 3) : std::nullopt;
    const std::optional<Field> bytes = bucket ? FindField(bucket->text, 4) : std::nullopt;
    if (!offset || !bytes) return {};
    records = Read(offset->value, static_cast<size_t>(bytes->value), memory);
    // Records come last in the innermost message, so that they need not be copied behind the
    // others.
    MessageWriter result;
    result.Number(2, 0).Number(5, end_offset()).Number(6, 0).TextHead(8, records.size());
    MessageWriter of_table;
    of_table.Number(1, 0).TextHead(2, result.text().size() + records.size());
    MessageWriter answer;
    answer.TextHead(1, of_table.text().size() + result.text().size() + records.size());
    return answer.Raw(of_table).Raw(result);
  }

  struct Place {
    int64_t offset;
    off_t position;
  };

  int fd_;
  std::mutex mutex_;
  std::vector<Place> batches_ = {{0, 0}};  // the last one is the end
};

}  // namespace

std::unique_ptr<Limit> MakeLogLimit(const std::string& path) {
  return std::make_unique<Log>(path);
}

}  // namespace weir::load
