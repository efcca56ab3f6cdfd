// Result<T>: a value, or why there is none. Shaped after std::expected, so that it can become it.
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "weir/base/check.h"
#include "weir/base/error.h"

namespace weir {

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return WEIR_CHECK(ok()), std::get<0>(state_); }
  const T& value() const& { return WEIR_CHECK(ok()), std::get<0>(state_); }
  T&& value() && { return WEIR_CHECK(ok()), std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  Error& error() & { return WEIR_CHECK(!ok()), std::get<1>(state_); }
  const Error& error() const& { return WEIR_CHECK(!ok()), std::get<1>(state_); }
  Error&& error() && { return WEIR_CHECK(!ok()), std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  Error& error() & { return WEIR_CHECK(!ok()), *error_; }
  const Error& error() const& { return WEIR_CHECK(!ok()), *error_; }
  Error&& error() && { return WEIR_CHECK(!ok()), *std::move(error_); }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

inline Status Ok() {
  return {};
}

}  // namespace weir

#define WEIR_CONCAT_INNER(a, b) a##b
#define WEIR_CONCAT(a, b) WEIR_CONCAT_INNER(a, b)

/// Returns from the function with the error of `expression`, if it has one.
#define WEIR_TRY(expression)                                  \
  do {                                                        \
    if (auto weir_status = (expression); !weir_status.ok()) { \
      return std::move(weir_status).error();                  \
    }                                                         \
  } while (false)

/// `declaration = value of expression`, or returns with its error.
#define WEIR_ASSIGN(declaration, expression) \
  WEIR_ASSIGN_INNER(WEIR_CONCAT(weir_result_, __LINE__), declaration, (expression), return)

/// The same inside of a coroutine.
#define WEIR_CO_TRY(expression)                               \
  do {                                                        \
    if (auto weir_status = (expression); !weir_status.ok()) { \
      co_return std::move(weir_status).error();               \
    }                                                         \
  } while (false)

#define WEIR_CO_ASSIGN(declaration, expression) \
  WEIR_ASSIGN_INNER(WEIR_CONCAT(weir_result_, __LINE__), declaration, (expression), co_return)

#define WEIR_ASSIGN_INNER(result, declaration, expression, leave) \
  auto result = expression;                                       \
  if (!result.ok()) leave std::move(result).error();              \
  declaration = *std::move(result)
