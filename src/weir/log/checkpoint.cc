#include "weir/log/checkpoint.h"

#include "weir/base/log.h"

namespace weir {

CheckpointWriter::CheckpointWriter(FileSystem& files, std::string data_dir, std::string states_name)
    : files_(files), data_dir_(std::move(data_dir)) {
  if (!states_name.empty()) states_names_.push_back(std::move(states_name));
}

Status CheckpointWriter::Write(const Manifest& manifest, const BucketStates& states) {
  const std::string text = EncodeManifest(manifest);
  Status written = Put(manifest, text, states);
  const std::string path = ManifestPath(data_dir_, manifest.group);
  if (written.ok()) {
    std::erase_if(states_names_,
                  [&](const std::string& old) { return RemoveIfThere(data_dir_ + "/" + old); });
    states_names_.push_back(manifest.states);
    return written;
  }
  const std::string states_path = data_dir_ + "/" + manifest.states;
  RemoveIfThere(states_path + ".next");
  RemoveIfThere(path + ".next");
  const auto current = ReadWholeFile(files_, path, text.size());
  // Only the sync of its name failed, or nobody can tell; a larger file (kCorruptData) is an old
  // one.
  const bool may_be_new = current.ok() ? *current == text : current.error().code == ErrorCode::kIo;
  const bool is_first = states_names_.empty() && !files_.Exists(path);
  if (may_be_new && !is_first) {
    states_names_.push_back(manifest.states);
  } else {
    RemoveIfThere(states_path);
  }
  return written;
}

Status CheckpointWriter::Put(const Manifest& manifest, const std::string& text,
                             const BucketStates& states) {
  WEIR_TRY(ReplaceFile(files_, data_dir_ + "/" + manifest.states, EncodeBucketStates(states)));
  return ReplaceFile(files_, ManifestPath(data_dir_, manifest.group), text);
}

bool CheckpointWriter::RemoveIfThere(const std::string& path) {
  if (!files_.Exists(path)) return true;
  const Status removed = files_.Remove(path);
  if (!removed.ok()) LogWarn("log", "cannot remove a file: {}", removed.error().message);
  return removed.ok();
}

}  // namespace weir
