// A scan over the cold rows of a state, at the moment at which it is made.
#pragma once

#include <memory>

#include "weir/kv/kv_db.h"
#include "weir/kv/kv_state.h"

namespace weir {

/// What the tables of `db` are now, which is the state at `log_offset`. Without tables: null.
std::unique_ptr<KvScan> MakeKvScan(std::shared_ptr<KvDb> db, LogOffset log_offset,
                                   BlockingPool& pool);

}  // namespace weir
