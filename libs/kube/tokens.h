#pragma once

/// A document as a stream of tokens, the same for JSON and YAML. Limits: 10 MB of text, 100 levels,
/// a million tokens after expanding aliases. A source belongs to one thread.
/// Errors: INVALID_ARGUMENT with "(line n)"; the reason only.
/// Source: docs/behaviour/manifests.md, "Decoding".

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "libs/base/status.h"

namespace splitlet::kube {

inline constexpr size_t kMaxDocumentBytes = 10u << 20;
inline constexpr int kMaxNesting = 100;
inline constexpr size_t kMaxTokens = 1'000'000;

struct Scalar {
  enum class Kind { kNull, kBool, kNumber, kString };
  Kind kind = Kind::kNull;
  /// A string's value; a number in JSON's form; "true" or "false"; otherwise empty.
  std::string_view text;
  /// The spelling in the document, if YAML gives it another value ("0o17", "yes"); empty: equal to
  /// `text`.
  std::string_view written = {};
};

/// Views are valid during the call only. `position` is for TokenSource::LineOf. A sink returns
/// false to stop the stream.
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  virtual bool OnScalar(const Scalar& scalar, size_t position) = 0;
  virtual bool OnBeginMap(size_t position) = 0;
  virtual bool OnKey(std::string_view key, size_t position) = 0;
  virtual bool OnEndMap() = 0;
  virtual bool OnBeginList(size_t position) = 0;
  virtual bool OnEndList() = 0;
};

class TokenSource {
 public:
  virtual ~TokenSource() = default;
  /// Sends all tokens, or fewer if the sink stops, which is no error.
  virtual Status Replay(TokenSink& sink) = 0;
  /// The first line is 1.
  virtual size_t LineOf(size_t position) const = 0;
};

}  // namespace splitlet::kube
