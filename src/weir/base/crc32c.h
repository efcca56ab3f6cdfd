// CRC-32C (Castagnoli), the checksum of the Fluss formats and of Weir's own files.
#pragma once

#include <cstdint>

#include "weir/base/bytes.h"

namespace weir {

/// Checksum of `bytes`, appended to data whose checksum is `before` (0: none). About 20 GB/s with
/// SSE 4.2.
uint32_t Crc32c(Bytes bytes, uint32_t before = 0);

}  // namespace weir
