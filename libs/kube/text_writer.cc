#include "libs/kube/text_writer.h"

#include <algorithm>

#include "libs/kube/json_text.h"
#include "libs/kube/letters.h"
#include "libs/kube/tokens.h"
#include "libs/kube/yaml_tokens.h"

namespace splitlet::kube {
namespace {

/// Skips up to `most` digits at the front; false if there is none.
bool SkipDigits(std::string_view& text, size_t most) {
  size_t n = 0;
  while (n < text.size() && n < most && IsDigit(text[n])) ++n;
  text.remove_prefix(n);
  return n > 0;
}

bool SkipChar(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

/// 2026-01-02, alone or followed by a time, is a date in YAML 1.1.
bool LooksLikeTime(std::string_view text) {
  if (text.size() < 8 || !std::all_of(text.begin(), text.begin() + 4, IsDigit)) return false;
  text.remove_prefix(4);
  if (!SkipChar(text, '-') || !SkipDigits(text, 2) || !SkipChar(text, '-') || !SkipDigits(text, 2))
    return false;
  if (text.empty()) return true;
  return std::string_view("Tt ").find(text[0]) != std::string_view::npos && text.size() > 1 &&
         IsDigit(text[1]);
}

/// Old YAML parsers read 8080:80 as a number of base 60.
bool LooksLikeBase60(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  if (text.empty() || !IsDigit(text[0]) || text.find(':') == std::string_view::npos) return false;
  return text.find_first_not_of("0123456789_:.") == std::string_view::npos;
}

bool IsPlainString(std::string_view text) {
  return ResolveYamlScalar(text).kind == Scalar::Kind::kString && !LooksLikeTime(text) &&
         !LooksLikeBase60(text) && text != "<<" && text != "=" && text != ".inf" && text != ".nan";
}

bool HasSpecial(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n') || byte == 0x7F;
  });
}

/// True if the text needs no quotes in block style.
bool PlainAllowed(std::string_view text) {
  static constexpr std::string_view kNeverFirst = "#,[]{}&*!|>'\"%@`";
  if (text.empty() || text.front() == ' ' || text.back() == ' ') return false;
  if (kNeverFirst.find(text.front()) != std::string_view::npos) return false;
  if (text.substr(0, 3) == "---" || text.substr(0, 3) == "...") return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool space_follows = i + 1 == text.size() || text[i + 1] == ' ';
    if (text[i] == ':' && space_follows) return false;
    if (text[i] == '#' && text[i - 1] == ' ') return false;
    if (i == 0 && (text[i] == '-' || text[i] == '?') && space_follows) return false;
  }
  return true;
}

std::string SingleQuoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out += c;
    if (c == '\'') out += c;
  }
  return out + "'";
}

std::string DoubleQuoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.append("\\").append(1, c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02X}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string QuotedWhereNeeded(std::string_view text) {
  if (!IsPlainString(text) || HasSpecial(text) || text.find('\n') != std::string_view::npos)
    return DoubleQuoted(text);
  return PlainAllowed(text) ? std::string(text) : SingleQuoted(text);
}

/// True if a multi-line text may be a block: it has no invisible blanks.
bool BlockAllowed(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || HasSpecial(text)) return false;
  return text.back() != ' ' && text.find(" \n") == std::string_view::npos &&
         text.find_first_not_of('\n') != std::string_view::npos;
}

}  // namespace

void AppendJsonString(std::string& out, std::string_view text) {
  out += '"';
  size_t written = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool separator = byte == 0xE2 && (text.substr(i, 3) == "\xE2\x80\xA8" ||
                                            text.substr(i, 3) == "\xE2\x80\xA9");
    if (byte >= 0x20 && byte != '"' && byte != '\\' && byte != '<' && byte != '>' && byte != '&' &&
        !separator)
      continue;
    out.append(text.substr(written, i - written));
    switch (text[i]) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (separator) {
          out += text[i + 2] == '\xA8' ? "\\u2028" : "\\u2029";
          i += 2;
        } else {
          out += fmt::format("\\u{:04x}", byte);
        }
    }
    written = i + 1;
  }
  out.append(text.substr(written));
  out += '"';
}

void JsonWriter::NewLine() {
  if (indent_ == 0) return;
  out_ += '\n';
  out_.append(counts_.size() * indent_, ' ');
}

void JsonWriter::Separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (counts_.empty()) return;
  if (counts_.back()++ > 0) out_ += ',';
  NewLine();
}

void JsonWriter::Open(char c) {
  Separate();
  out_ += c;
  counts_.push_back(0);
}

void JsonWriter::Close(char c) {
  const bool empty = counts_.back() == 0;
  counts_.pop_back();
  if (!empty) NewLine();
  out_ += c;
}

void JsonWriter::Key(std::string_view key) {
  Separate();
  AppendJsonString(out_, key);
  out_ += indent_ == 0 ? ":" : ": ";
  after_key_ = true;
}

void JsonWriter::String(std::string_view text) {
  Separate();
  AppendJsonString(out_, text);
}

void JsonWriter::Plain(std::string_view text) {
  Separate();
  out_ += text;
}

void YamlWriter::BeginEntry() {
  Frame& frame = frames_.back();
  const bool behind_dash = frame.count++ == 0 && frame.opened_after == After::kDash;
  if (!behind_dash) out_.append(frame.indent, ' ');
}

void YamlWriter::BeginValue() {
  if (frames_.empty() || !frames_.back().list) return;
  if (frames_.back().count == 0 && frames_.back().opened_after == After::kKey) out_ += '\n';
  BeginEntry();
  out_ += "- ";
  after_ = After::kDash;
}

void YamlWriter::Key(std::string_view key) {
  const Frame& frame = frames_.back();
  if (frame.count == 0 && frame.opened_after == After::kKey) out_ += '\n';
  BeginEntry();
  out_ += QuotedWhereNeeded(key);
  out_ += ':';
  after_ = After::kKey;
}

void YamlWriter::Open(bool list) {
  BeginValue();
  Frame frame{.list = list, .opened_after = after_};
  if (!frames_.empty()) {
    const Frame& parent = frames_.back();
    const bool same = list && !parent.list;  // a list under a key is not indented
    frame.indent = parent.indent + (same ? 0 : 2);
  }
  frames_.push_back(frame);
  after_ = After::kNothing;
}

void YamlWriter::Close(std::string_view empty) {
  const Frame frame = frames_.back();
  frames_.pop_back();
  after_ = After::kNothing;
  if (frame.count > 0) return;
  if (frame.opened_after == After::kKey) out_ += ' ';
  out_.append(empty).append("\n");
}

void YamlWriter::Value(std::string_view text) {
  if (after_ == After::kKey) out_ += ' ';
  out_.append(text).append("\n");
  after_ = After::kNothing;
}

void YamlWriter::Plain(std::string_view text) {
  BeginValue();
  Value(text);
}

void YamlWriter::String(std::string_view text) {
  BeginValue();
  if (BlockAllowed(text)) {
    Block(text);
  } else {
    Value(QuotedWhereNeeded(text));
  }
}

void YamlWriter::Block(std::string_view text) {
  std::string header = "|";
  if (text.front() == ' ' || text.front() == '\n') header += "2";
  if (text.back() != '\n') {
    header += "-";
  } else if (text.size() > 1 && text[text.size() - 2] == '\n') {
    header += "+";
  }
  const size_t indent = frames_.empty() ? 0 : frames_.back().indent + 2;
  Value(header);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) out_.append(indent, ' ').append(text.substr(0, end));
    out_ += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace splitlet::kube
