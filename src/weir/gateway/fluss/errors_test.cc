#include "weir/gateway/fluss/errors.h"

#include <gtest/gtest.h>

namespace weir::fluss {
namespace {

constexpr int kErrorCodes = static_cast<int>(ErrorCode::kInvalidValue) + 1;

TEST(FlussCodes, NeverSayNone) {
  for (int code = 0; code < kErrorCodes; ++code) {
    EXPECT_NE(static_cast<int32_t>(ToFlussCode(static_cast<ErrorCode>(code))), 0) << code;
  }
}

TEST(FlussCodes, AreKnownToOldClientsWhereOldClientsAsk) {
  for (int i = 0; i < kErrorCodes; ++i) {
    const auto code = static_cast<ErrorCode>(i);
    const bool is_new = static_cast<int32_t>(ToFlussCode(code)) >= 64;
    const bool is_of_a_new_request =
        code == ErrorCode::kInvalidServerConfig || code == ErrorCode::kInvalidScan ||
        code == ErrorCode::kUnknownScanner || code == ErrorCode::kExpiredScanner ||
        code == ErrorCode::kTooManyScanners;
    EXPECT_EQ(is_new, is_of_a_new_request) << i;
  }
}

TEST(FlussCodes, LetWritersTryAgainWhenTheDiskFails) {
  EXPECT_EQ(static_cast<int32_t>(ToFlussCode(ErrorCode::kNoSpace)), 10);
  EXPECT_EQ(static_cast<int32_t>(ToFlussCode(ErrorCode::kIo)), 10);
}

TEST(FlussCodes, AreFinalWhereAWriterCannotSucceedByTryingAgain) {
  EXPECT_EQ(static_cast<int32_t>(ToFlussCode(ErrorCode::kInvalidTargetColumn)), 35);
  EXPECT_EQ(static_cast<int32_t>(ToFlussCode(ErrorCode::kDeletionDisabled)), 57);
  EXPECT_EQ(static_cast<int32_t>(ToFlussCode(ErrorCode::kInvalidValue)), -1);
}

}  // namespace
}  // namespace weir::fluss
