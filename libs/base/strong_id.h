#pragma once

/// A string type that does not mix with others: struct PodUidTag; using PodUid =
/// StrongId<PodUidTag>.
/// Threads: values, any; nothing fails.

#include <fmt/format.h>

#include <compare>
#include <functional>
#include <string>
#include <utility>

namespace splitlet {

template <class Tag>
class StrongId {
 public:
  StrongId() = default;
  explicit StrongId(std::string value) : value_(std::move(value)) {}
  const std::string& str() const { return value_; }
  bool empty() const { return value_.empty(); }
  auto operator<=>(const StrongId&) const = default;

 private:
  std::string value_;
};

}  // namespace splitlet

template <class Tag>
struct std::hash<splitlet::StrongId<Tag>> {
  size_t operator()(const splitlet::StrongId<Tag>& id) const noexcept {
    return std::hash<std::string>{}(id.str());
  }
};

template <class Tag>
struct fmt::formatter<splitlet::StrongId<Tag>> : fmt::formatter<std::string> {
  template <class Context>
  auto format(const splitlet::StrongId<Tag>& id, Context& context) const {
    return fmt::formatter<std::string>::format(id.str(), context);
  }
};
