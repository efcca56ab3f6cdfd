// A scan over the cold rows of a state, at the moment at which it is made.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "weir/kv/kv_db.h"
#include "weir/kv/kv_state.h"

namespace weir {

/// The scans of a state that hold its database. Lives on the loop.
class KvScans {
 public:
  class Member {
   public:
    virtual ~Member() = default;
    /// Lets the database go, as soon as nothing reads it.
    virtual void End() = 0;
  };

  void Add(Member* scan) { scans_.push_back(scan); }
  void Remove(Member* scan) { std::erase(scans_, scan); }
  void EndAll() {
    for (Member* scan : scans_) scan->End();
  }

 private:
  std::vector<Member*> scans_;
};

/// What the tables of `db` are now, which is the state at `log_offset`. Without tables: null.
/// `has_times`: it is a state that keeps times.
std::unique_ptr<KvScan> MakeKvScan(std::shared_ptr<KvDb> db, bool has_times, LogOffset log_offset,
                                   BlockingPool& pool, std::shared_ptr<KvScans> scans);

}  // namespace weir
