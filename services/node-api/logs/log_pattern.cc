#include "services/node-api/logs/log_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <vector>

namespace splitlet::node_api {
namespace {

constexpr size_t kMaxPatternBytes = 1024, kMaxDepth = 32;
constexpr uint64_t kMaxRepeats = 1000;  // nested counts multiply; as in Go

/// Cost of an expression that may be repeated.
struct Cost {
  uint64_t repeats = 1;    // the highest count inside
  bool unbounded = false;  // '*', '+' or "{2,}" is inside
  void Add(const Cost& other) {
    repeats = std::max(repeats, other.repeats);
    unbounded = unbounded || other.unbounded;
  }
};

struct Repeat {
  uint64_t count = 1;
  bool unbounded = false;
};

class PatternReader {
 public:
  explicit PatternReader(std::string_view pattern) : rest_(pattern) {}

  PatternProblem Read() {
    while (!rest_.empty() && problem_.why.empty()) ReadOne();
    if (problem_.why.empty() && groups_.size() > 1) Broken("a ( has no )");
    return problem_;
  }

 private:
  void Broken(std::string why) { problem_ = {.costly = false, .why = std::move(why)}; }
  void Costly(std::string why) { problem_ = {.costly = true, .why = std::move(why)}; }

  char Next() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  bool Skip(std::string_view what) {
    if (!rest_.starts_with(what)) return false;
    rest_.remove_prefix(what.size());
    return true;
  }

  void ReadOne() {
    switch (const char c = Next(); c) {
      case '(': return OpenGroup();
      case ')': return CloseGroup();
      case '[': return ReadClass();
      case '\\': return ReadEscape();
      case '|':
      case '^': last_.reset(); return;
      case '*':
      case '+':
      case '?': return Apply({.count = 1, .unbounded = c != '?'});
      case '{':
        if (const auto repeat = ReadCounts()) return Apply(*repeat);
        last_ = Cost();
        return;
      default: last_ = Cost();
    }
    Settle();
  }

  /// Capturing groups, non-capturing groups, and groups with flags. RE2 also has named groups.
  void OpenGroup() {
    if (groups_.size() > kMaxDepth) return Costly("groups are nested too deeply");
    if (Skip("*")) return Costly("(* is not supported");
    if (Skip("?")) {
      const size_t flags = std::min(rest_.find_first_not_of("imsU-"), rest_.size());
      const std::string_view after = rest_.substr(flags);
      if (!after.starts_with(':') && !after.starts_with(')'))
        return Costly("only groups (...), (?:...) and flags like (?i) are supported");
      rest_.remove_prefix(flags);
      if (Skip(")")) return last_.reset();
      Skip(":");
    }
    groups_.emplace_back();
    last_.reset();
  }

  void CloseGroup() {
    if (groups_.size() == 1) return Broken("a ) has no (");
    const Cost inside = groups_.back();
    groups_.pop_back();
    last_ = inside;
    Settle();
  }

  /// A leading bracket belongs to the class: "[]a]", "[^]a]", "[[:alpha:]]".
  void ReadClass() {
    Skip("^");
    bool first = true;
    while (!rest_.empty()) {
      if (Skip("[:")) {
        const size_t end = rest_.find(":]");
        if (end != std::string_view::npos) rest_.remove_prefix(end + 2);
      } else if (const char c = Next(); c == '\\' && !rest_.empty()) {
        Next();
      } else if (c == ']' && !first) {
        last_ = Cost();
        return Settle();
      }
      first = false;
    }
    Broken("a [ has no ]");
  }

  void ReadEscape() {
    if (rest_.empty()) return Broken("it ends with a \\");
    const char c = Next();
    if ((c >= '1' && c <= '9') || c == 'g' || c == 'k')
      return Costly("references to groups are not supported");
    if (c == 'Q') {  // literal text up to \E
      const size_t end = rest_.find("\\E");
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 2);
    }
    last_ = Cost();
    Settle();
  }

  /// Parses "2}", "2,}", "2,5}" or ",5}" after a brace; nullopt: the brace is literal.
  std::optional<Repeat> ReadCounts() {
    const size_t end = rest_.find('}');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inside = rest_.substr(0, end);
    const size_t comma = inside.find(',');
    const std::string_view low = inside.substr(0, comma);
    const std::string_view high = comma == std::string_view::npos ? low : inside.substr(comma + 1);
    if ((low.empty() && high.empty()) || !IsNumber(low) || !IsNumber(high)) return std::nullopt;
    rest_.remove_prefix(end + 1);
    return Repeat{.count = std::max({ValueOf(low), ValueOf(high), uint64_t{1}}),
                  .unbounded = comma != std::string_view::npos && high.empty()};
  }
  static bool IsNumber(std::string_view text) {
    return std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
  }
  /// Stops at one above the limit.
  static uint64_t ValueOf(std::string_view digits) {
    uint64_t value = 0;
    for (const char c : digits)
      value = std::min(value * 10 + static_cast<uint64_t>(c - '0'), kMaxRepeats + 1);
    return value;
  }

  void Apply(const Repeat& repeat) {
    if (!last_) return Broken("a repeat has nothing before it");
    Cost cost = *last_;
    if (repeat.unbounded && cost.unbounded)
      return Costly("an unbounded repeat inside another one takes too long");
    cost.repeats *= repeat.count;
    if (cost.repeats > kMaxRepeats)
      return Costly(fmt::format("nested counts multiply to more than {}", kMaxRepeats));
    cost.unbounded = cost.unbounded || repeat.unbounded;
    groups_.back().Add(cost);
    last_.reset();
    if (!Skip("?")) Skip("+");  // non-greedy or possessive
  }

  void Settle() {
    if (last_) groups_.back().Add(*last_);
  }

  std::string_view rest_;
  std::vector<Cost> groups_ = std::vector<Cost>(1);  // open groups; the first is the whole pattern
  std::optional<Cost> last_;                         // the expression that a repeat would apply to
  PatternProblem problem_;
};

}  // namespace

PatternProblem FindPatternProblem(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes)
    return {.costly = true, .why = fmt::format("it is longer than {} bytes", kMaxPatternBytes)};
  if (pattern.find('\0') != std::string_view::npos)
    return {.costly = false, .why = "contains a NUL"};
  return PatternReader(pattern).Read();
}

}  // namespace splitlet::node_api
