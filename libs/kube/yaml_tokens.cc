#include "libs/kube/yaml_tokens.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <istream>
#include <map>
#include <streambuf>
#include <utility>
#include <vector>

#include "libs/base/text.h"
#include "libs/kube/json_tokens.h"
#include "libs/kube/time_text.h"

namespace splitlet::kube {
namespace {

/// Meaning of an explicit tag. kNone: the scalar's text decides; kText: a string, as with quotes.
enum class Tag : uint8_t { kText, kNone, kInt, kFloat, kBool, kNull, kTimestamp, kBinary };

struct Event {
  enum class Kind : uint8_t { kScalar, kAlias, kBeginMap, kEndMap, kBeginList, kEndList };
  Kind kind = Kind::kScalar;
  Tag tag = Tag::kText;
  uint32_t line = 0;    // line, from 0
  uint32_t target = 0;  // alias: index of its anchored event; begin: index of its end
  std::string text;
};

/// Aborts the parse from inside of yaml-cpp; caught in OpenYaml.
struct Refused {
  std::string reason;
  size_t line;
};

class Collector final : public YAML::EventHandler {
 public:
  std::vector<Event> events;

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(Event::Kind::kScalar, mark, anchor).tag = Tag::kNone;
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto target = anchors_.find(anchor);
    if (target == anchors_.end()) throw Refused{"unknown alias", LineOf(mark)};
    const size_t at = target->second;
    Add(Event::Kind::kAlias, mark, 0).target = static_cast<uint32_t>(at);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Event& event = Add(Event::Kind::kScalar, mark, anchor);
    event.text = value;
    event.tag = TagOf(tag);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Begin(Event::Kind::kBeginList, mark, anchor);
  }
  void OnSequenceEnd() override { End(Event::Kind::kEndList); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Begin(Event::Kind::kBeginMap, mark, anchor);
  }
  void OnMapEnd() override { End(Event::Kind::kEndMap); }

 private:
  static size_t LineOf(const YAML::Mark& mark) {
    return mark.line < 0 ? 0 : static_cast<size_t>(mark.line);
  }
  static Tag TagOf(std::string_view tag) {
    static constexpr std::pair<std::string_view, Tag> kTags[] = {
        {"int", Tag::kInt},   {"float", Tag::kFloat},         {"bool", Tag::kBool},
        {"null", Tag::kNull}, {"timestamp", Tag::kTimestamp}, {"binary", Tag::kBinary}};
    static constexpr std::string_view kCore = "tag:yaml.org,2002:";
    if (tag == "?") return Tag::kNone;
    if (!tag.starts_with(kCore)) return Tag::kText;
    tag.remove_prefix(kCore.size());
    const auto* found = std::ranges::find(kTags, tag, &std::pair<std::string_view, Tag>::first);
    return found == std::end(kTags) ? Tag::kText : found->second;
  }
  Event& Add(Event::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (events.size() >= kMaxTokens) throw Refused{"too many values", LineOf(mark)};
    if (anchor != 0) anchors_[anchor] = events.size();
    Event& event = events.emplace_back();
    event.kind = kind;
    event.line = static_cast<uint32_t>(LineOf(mark));
    return event;
  }
  void Begin(Event::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (open_.size() >= static_cast<size_t>(kMaxNesting))
      throw Refused{fmt::format("nested more than {} levels deep", kMaxNesting), LineOf(mark)};
    open_.push_back(events.size());
    Add(kind, mark, anchor);
  }
  void End(Event::Kind kind) {
    const size_t begin = open_.back();
    open_.pop_back();
    events[begin].target = static_cast<uint32_t>(events.size());
    Event& event = events.emplace_back();
    event.kind = kind;
    event.line = events[begin].line;
  }

  std::map<YAML::anchor_t, size_t> anchors_;
  std::vector<size_t> open_;
};

/// A scalar with a tag, or without quotes.
StatusOr<ResolvedScalar> Resolve(Tag tag, const std::string& text);

/// Walks the events for one sink; expands aliases and merge keys within the limits.
class Walker {
 public:
  Walker(const std::vector<Event>& events, TokenSink& sink) : events_(events), sink_(sink) {}

  const std::string& refusal() const { return refusal_; }
  size_t refused_at() const { return refused_at_; }

  /// Walks the value that starts at `at`; false if the sink or a limit stopped it.
  bool Value(size_t at, int depth) {
    at = Follow(at);
    const Event& event = events_[at];
    if (++tokens_ > kMaxTokens) return Refuse("aliases expand to too many values", event.line);
    if (depth > kMaxNesting)
      return Refuse(fmt::format("nested more than {} levels deep", kMaxNesting), event.line);
    if (event.kind == Event::Kind::kScalar) return EmitScalar(event);
    if (event.kind == Event::Kind::kBeginMap) {
      return sink_.OnBeginMap(event.line) && Entries(at, {}, depth) && sink_.OnEndMap();
    }
    if (!sink_.OnBeginList(event.line)) return false;
    for (size_t item = at + 1; item < event.target; item = After(item))
      if (!Value(item, depth + 1)) return false;
    return sink_.OnEndList();
  }

 private:
  bool Refuse(std::string reason, size_t line) {
    refusal_ = std::move(reason);
    refused_at_ = line;
    return false;
  }
  /// An alias is never the target of an anchor, so one step is enough.
  size_t Follow(size_t at) const {
    return events_[at].kind == Event::Kind::kAlias ? events_[at].target : at;
  }
  size_t After(size_t at) const {
    const Event& event = events_[at];
    const bool opens =
        event.kind == Event::Kind::kBeginMap || event.kind == Event::Kind::kBeginList;
    return (opens ? event.target : at) + 1;
  }
  bool EmitScalar(const Event& event) {
    if (event.tag == Tag::kText)
      return sink_.OnScalar({Scalar::Kind::kString, event.text}, event.line);
    const auto resolved = Resolve(event.tag, event.text);
    if (!resolved.ok()) return Refuse(splitlet::Message(resolved.status()), event.line);
    if (resolved->number == ResolvedScalar::Number::kNotFinite)
      return Refuse(fmt::format("{} is not a number in JSON; quote it", event.text), event.line);
    return sink_.OnScalar({resolved->kind, resolved->text, event.text}, event.line);
  }
  static bool IsMerge(const Event& key) { return key.tag == Tag::kNone && key.text == "<<"; }

  /// The text of a key; nullopt for a null or a collection.
  bool KeyText(size_t at, std::string& text) {
    const Event& key = events_[Follow(at)];
    if (key.kind != Event::Kind::kScalar) return Refuse("a key is not a plain value", key.line);
    text = key.text;
    if (key.tag == Tag::kText) return true;
    auto resolved = Resolve(key.tag, key.text);
    if (!resolved.ok()) return Refuse(splitlet::Message(resolved.status()), key.line);
    if (resolved->kind == Scalar::Kind::kNull) return Refuse("a key is empty", key.line);
    text = std::move(resolved->text);
    return true;
  }

  /// Walks the entries of a map except names in `hidden`, then those of its merge keys.
  bool Entries(size_t map, const std::vector<std::string>& hidden, int depth) {
    std::vector<size_t> merges;
    std::vector<std::string> names = hidden;
    const bool has_merge = HasMerge(map);
    for (size_t key = map + 1; key < events_[map].target;) {
      const size_t value = After(key);
      const size_t next = After(value);
      if (IsMerge(events_[key])) {
        merges.push_back(value);
      } else if (!Entry({key, value}, hidden, has_merge ? &names : nullptr, depth)) {
        return false;
      }
      key = next;
    }
    return std::all_of(merges.begin(), merges.end(),
                       [&](size_t value) { return Merge(value, names, depth); });
  }
  struct Pair {
    size_t key, value;
  };
  bool Entry(Pair pair, const std::vector<std::string>& hidden, std::vector<std::string>* names,
             int depth) {
    std::string text;
    if (!KeyText(pair.key, text)) return false;
    if (++tokens_ > kMaxTokens) return Refuse("too many values", events_[pair.key].line);
    if (std::find(hidden.begin(), hidden.end(), text) != hidden.end()) return true;
    if (!sink_.OnKey(text, events_[pair.key].line) || !Value(pair.value, depth + 1)) return false;
    if (names != nullptr) names->push_back(std::move(text));
    return true;
  }
  bool HasMerge(size_t map) const {
    for (size_t key = map + 1; key < events_[map].target; key = After(After(key)))
      if (IsMerge(events_[key])) return true;
    return false;
  }
  /// Handles `<<: *a` and `<<: [*a, *b]`; the earlier entry wins.
  bool Merge(size_t value, std::vector<std::string>& names, int depth) {
    if (depth > kMaxNesting) return Refuse("merge keys expand too deep", events_[value].line);
    const size_t at = Follow(value);
    if (events_[at].kind == Event::Kind::kBeginMap) return MergeMap(at, names, depth);
    if (events_[at].kind != Event::Kind::kBeginList)
      return Refuse("a merge key needs a map or a list of maps", events_[value].line);
    for (size_t item = at + 1; item < events_[at].target; item = After(item)) {
      if (events_[Follow(item)].kind != Event::Kind::kBeginMap)
        return Refuse("a merge key needs a map or a list of maps", events_[item].line);
      if (!MergeMap(Follow(item), names, depth)) return false;
    }
    return true;
  }
  bool MergeMap(size_t map, std::vector<std::string>& names, int depth) {
    if (++merged_ > kMaxMerged || names.size() > kMaxMergedNames)
      return Refuse("merge keys expand to too many values", events_[map].line);
    if (!Entries(map, names, depth + 1)) return false;
    for (size_t key = map + 1; key < events_[map].target; key = After(After(key))) {
      std::string text;
      if (!IsMerge(events_[key]) && KeyText(key, text)) names.push_back(std::move(text));
    }
    return true;
  }

  static constexpr size_t kMaxMerged = 1000, kMaxMergedNames = 1000;

  const std::vector<Event>& events_;
  TokenSink& sink_;
  size_t tokens_ = 0;
  size_t merged_ = 0;
  std::string refusal_;
  size_t refused_at_ = 0;
};

class YamlSource final : public TokenSource {
 public:
  explicit YamlSource(std::vector<Event> events) : events_(std::move(events)) {}

  Status Replay(TokenSink& sink) override {
    if (events_.empty()) {
      sink.OnScalar({}, 0);
      return OkStatus();
    }
    Walker walker(events_, sink);
    if (walker.Value(0, 1) || walker.refusal().empty()) return OkStatus();
    return InvalidArgument("{} (line {})", walker.refusal(), walker.refused_at() + 1);
  }
  size_t LineOf(size_t position) const override { return position + 1; }

 private:
  std::vector<Event> events_;
};

/// Reads a view without a copy.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // the stream buffer never writes to its get area
    setg(begin, begin, begin + text.size());
  }
};

bool AllDigits(std::string_view text, std::string_view digits) {
  return !text.empty() && text.find_first_not_of(digits) == std::string_view::npos;
}

/// Converts a whole number of YAML 1.1 (hex, octal, binary, underscores) to decimal; empty for
/// other text.
std::string ResolveInteger(std::string_view text) {
  const bool negative = text[0] == '-';
  if (negative || text[0] == '+') text.remove_prefix(1);
  const std::string sign = negative ? "-" : "";
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) base = 16;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'b' || text[1] == 'B')) base = 2;
  const bool marked_octal = text.size() > 2 && text[0] == '0' && (text[1] == 'o' || text[1] == 'O');
  if (marked_octal) base = 8;
  const bool bare_octal = base == 10 && text.size() > 1 && text[0] == '0';
  if (base != 10) text.remove_prefix(2);
  if (bare_octal) base = 8;
  static constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
  const size_t allowed = base == 16 ? kDigits.size() : static_cast<size_t>(base);
  if (!AllDigits(text, kDigits.substr(0, allowed))) return {};
  if (base == 10) return sign + std::string(text);
  uint64_t value = 0;
  for (const char c : text) {
    if (value >> 58U != 0) return {};  // too long for a number, so it is a string
    const auto digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    value = value * static_cast<uint64_t>(base) + static_cast<uint64_t>(digit);
  }
  return sign + std::to_string(value);
}

constexpr size_t kSurelyInRange = 300;  // number of digits that a double always holds

/// Cuts the digits off the start of `text`, and returns them.
std::string_view TakeDecimals(std::string_view& text) {
  const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  return digits;
}

/// `number` in JSON's form, from its whole part and fraction. Empty if it is too large for a
/// double; 0 if it is too small.
std::string InRange(std::string number, std::string_view whole, std::string_view fraction,
                    std::string_view exponent) {
  const bool zero = whole.empty() && fraction.find_first_not_of('0') == std::string_view::npos;
  double value = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
  if (zero || (read.ec == std::errc() && std::isfinite(value) && value != 0)) return number;
  constexpr int64_t kHuge = 1'000'000;
  int64_t power = 0;
  const bool down = exponent.starts_with('-');
  if (down || exponent.starts_with('+')) exponent.remove_prefix(1);
  const char* exponent_end = exponent.data() + exponent.size();
  if (std::from_chars(exponent.data(), exponent_end, power).ec != std::errc()) power = kHuge;
  if (down) power = -power;
  const auto zeros =
      static_cast<int64_t>(std::min(fraction.find_first_not_of('0'), fraction.size()));
  power += whole.empty() ? -zeros : static_cast<int64_t>(whole.size());
  return power > 0 ? std::string() : "0";
}

/// Converts [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? to JSON's form; empty for other
/// text.
std::string ResolveFloat(std::string_view text) {
  std::string out = text[0] == '-' ? "-" : "";
  if (text[0] == '-' || text[0] == '+') text.remove_prefix(1);
  std::string_view whole = TakeDecimals(text), fraction;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = TakeDecimals(text);
  }
  if (whole.empty() && fraction.empty()) return {};
  whole.remove_prefix(std::min(whole.find_first_not_of('0'), whole.size()));
  out += whole.empty() ? "0" : whole;
  if (!fraction.empty()) out.append(".").append(fraction);
  if (text.empty()) return InRange(std::move(out), whole, fraction, "0");
  if (text[0] != 'e' && text[0] != 'E') return {};
  text.remove_prefix(1);
  const std::string_view exponent = text;
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (TakeDecimals(text).empty() || !text.empty()) return {};
  out.append("e").append(exponent);
  return InRange(std::move(out), whole, fraction, exponent);
}

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

/// ".inf", "-.inf" or ".nan"; empty for other scalars.
std::string ResolveNotFinite(std::string_view plain) {
  if (IsOneOf(plain, {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"})) return ".inf";
  if (IsOneOf(plain, {"-.inf", "-.Inf", "-.INF"})) return "-.inf";
  return IsOneOf(plain, {".nan", ".NaN", ".NAN"}) ? ".nan" : "";
}

bool IsOfTag(Tag tag, const ResolvedScalar& resolved) {
  const bool number = resolved.kind == Scalar::Kind::kNumber;
  switch (tag) {
    case Tag::kInt: return number && resolved.number == ResolvedScalar::Number::kWhole;
    case Tag::kFloat: return number;
    case Tag::kBool: return resolved.kind == Scalar::Kind::kBool;
    case Tag::kNull: return resolved.kind == Scalar::Kind::kNull;
    case Tag::kText:
    case Tag::kNone:
    case Tag::kTimestamp:
    case Tag::kBinary: return true;
  }
  UNREACHABLE();
}

const char* NameOf(Tag tag) {
  switch (tag) {
    case Tag::kInt: return "!!int";
    case Tag::kFloat: return "!!float";
    case Tag::kBool: return "!!bool";
    case Tag::kNull: return "!!null";
    case Tag::kTimestamp: return "!!timestamp";
    case Tag::kBinary: return "!!binary";
    case Tag::kText:
    case Tag::kNone: break;
  }
  UNREACHABLE();
}

StatusOr<ResolvedScalar> Resolve(Tag tag, const std::string& text) {
  if (tag == Tag::kTimestamp) return ResolvedScalar{Scalar::Kind::kString, text};
  if (tag == Tag::kBinary) {
    const auto bytes = DecodeBase64(text);
    if (!bytes.ok()) return InvalidArgument("!!binary value contains invalid base64 data");
    // The sink refuses NUL.
    const bool nul = bytes->find('\0') != std::string::npos;
    return ResolvedScalar{Scalar::Kind::kString, nul ? *bytes : ToText(*bytes, bytes->size() * 3)};
  }
  ResolvedScalar resolved = ResolveYamlScalar(text);
  if (!IsOfTag(tag, resolved))
    return InvalidArgument("\"{}\" is no {}", ToText(text, 40), NameOf(tag));
  return resolved;
}

}  // namespace

ResolvedScalar ResolveYamlScalar(std::string_view plain) {
  using enum ResolvedScalar::Number;
  if (IsOneOf(plain, {"", "~", "null", "Null", "NULL"})) return {Scalar::Kind::kNull, {}};
  if (IsOneOf(plain, {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}))
    return {Scalar::Kind::kBool, "true"};
  if (IsOneOf(plain, {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}))
    return {Scalar::Kind::kBool, "false"};
  const bool numeric = std::string_view("0123456789+-.").find(plain[0]) != std::string_view::npos;
  if (!numeric || plain.size() > 400) return {Scalar::Kind::kString, std::string(plain)};
  if (std::string special = ResolveNotFinite(plain); !special.empty())
    return {Scalar::Kind::kNumber, std::move(special), kNotFinite};
  std::string bare(plain);
  if (bare.find_first_of("0123456789") != std::string::npos)
    bare.erase(std::remove(bare.begin(), bare.end(), '_'), bare.end());
  std::string number = ResolveInteger(bare);
  const bool whole = !number.empty();
  if (!whole || number.size() > kSurelyInRange) number = ResolveFloat(bare);
  if (number.empty()) return {Scalar::Kind::kString, std::string(plain)};
  return {Scalar::Kind::kNumber, std::move(number), whole ? kWhole : kReal};
}

StatusOr<std::unique_ptr<TokenSource>> OpenYaml(std::string_view text) {
  Collector collector;
  try {
    ViewBuffer buffer(text);
    std::istream in(&buffer);
    YAML::Parser parser(in);
    parser.HandleNextDocument(collector);
  } catch (const Refused& refused) {
    return InvalidArgument("{} (line {})", refused.reason, refused.line + 1);
  } catch (const YAML::Exception& error) {
    return InvalidArgument("not YAML: {} (line {})", error.msg, error.mark.line + 1);
  } catch (const std::exception& error) {
    return InvalidArgument("not YAML: {}", error.what());
  }
  return std::make_unique<YamlSource>(std::move(collector.events));
}

StatusOr<std::unique_ptr<TokenSource>> OpenTokens(std::string_view text) {
  if (text.size() >= kMaxDocumentBytes)
    return InvalidArgument("the read limit is reached: {} bytes", text.size());
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  const auto line_of = [&](size_t at) {
    return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  };
  const size_t invalid = FindInvalidUtf8(text);
  if (invalid != std::string_view::npos)
    return InvalidArgument("not UTF-8 (line {})", line_of(invalid));
  const auto control = std::find_if(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r';
  });
  if (control != text.end())
    return InvalidArgument("a control character, so not text (line {})",
                           line_of(static_cast<size_t>(control - text.begin())));
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') return OpenJson(text);
  return OpenYaml(text);
}

}  // namespace splitlet::kube
