#include "libs/logs/log_line.h"

#include <rapidjson/document.h>

#include <algorithm>

#include "libs/kube/time_text.h"

namespace splitlet::logs {
namespace {

constexpr size_t kSecondsEnd = 19;  // "2026-01-02T03:04:05"
constexpr int64_t kNanosPerSecond = 1'000'000'000;

std::optional<Stream> ParseStream(std::string_view text) {
  if (text == "stdout") return Stream::kStdout;
  if (text == "stderr") return Stream::kStderr;
  return std::nullopt;
}

/// Cuts off the text before the next space, with the space; nullopt without a space.
std::optional<std::string_view> NextField(std::string_view& line) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::string_view field = line.substr(0, space);
  line.remove_prefix(space + 1);
  return field;
}

/// The string member `name`; nullopt if it is missing or not a string.
std::optional<std::string_view> StringOf(const rapidjson::Document& document, const char* name) {
  const auto found = document.FindMember(name);
  if (found == document.MemberEnd() || !found->value.IsString()) return std::nullopt;
  return std::string_view(found->value.GetString(), found->value.GetStringLength());
}

}  // namespace

std::optional<WallTime> LineParser::InLastSecond(std::string_view text) const {
  constexpr size_t kMostDigits = 9;
  if (last_second_.empty() || !text.starts_with(last_second_)) return std::nullopt;
  text.remove_prefix(kSecondsEnd);
  if (!text.starts_with('.') || !text.ends_with('Z')) return std::nullopt;
  const std::string_view digits = text.substr(1, text.size() - 2);
  if (digits.empty() || digits.size() > kMostDigits) return std::nullopt;
  int64_t nanos = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '9') return std::nullopt;
    nanos = nanos * 10 + (digit - '0');
  }
  for (size_t i = digits.size(); i < kMostDigits; ++i) nanos *= 10;
  return WallFromNanos(last_seconds_ * kNanosPerSecond + nanos);
}

bool LineParser::SetTime(std::string_view text, LogLine& line) {
  constexpr int64_t kMostSeconds = 9'000'000'000;
  line.time_text = text;
  if (const auto time = InLastSecond(text)) {
    line.time = *time;
    return true;
  }
  const auto time = kube::ParseTime(text);
  if (!time.ok() || time->seconds < -kMostSeconds || time->seconds > kMostSeconds) return false;
  line.time = WallFromNanos(time->seconds * kNanosPerSecond + time->nanos);
  if (text.ends_with('Z')) {
    last_second_ = text.substr(0, kSecondsEnd);
    last_seconds_ = time->seconds;
  }
  return true;
}

std::optional<LogLine> LineParser::Cri(std::string_view line) {
  LogLine parsed;
  const auto time = NextField(line);
  if (!time || !SetTime(*time, parsed)) return std::nullopt;
  const auto stream_text = NextField(line);
  const auto stream = stream_text ? ParseStream(*stream_text) : std::nullopt;
  if (!stream) return std::nullopt;
  parsed.stream = *stream;
  const auto tags = NextField(line);
  if (!tags) return std::nullopt;
  const std::string_view tag = tags->substr(0, tags->find(':'));
  if (tag != "F" && tag != "P") return std::nullopt;
  parsed.text = line;
  parsed.ends = tag == "F";
  return parsed;
}

std::optional<LogLine> LineParser::Docker(std::string_view line) {
  if (!line.starts_with('{')) return std::nullopt;
  rapidjson::Document document;
  // Iterative, because deep nesting must not exhaust the stack.
  document.Parse<rapidjson::kParseIterativeFlag>(line.data(), line.size());
  if (document.HasParseError() || !document.IsObject()) return std::nullopt;
  const auto text = StringOf(document, "log"), stream_text = StringOf(document, "stream"),
             time = StringOf(document, "time");
  const auto stream = stream_text ? ParseStream(*stream_text) : std::nullopt;
  if (!text || !stream || !time) return std::nullopt;
  decoded_.assign(*time).append(*text);  // copied, because the document is destroyed
  const std::string_view kept = decoded_;
  LogLine parsed{.time = {}, .time_text = {}, .stream = *stream, .text = kept.substr(time->size())};
  if (!SetTime(kept.substr(0, time->size()), parsed)) return std::nullopt;
  parsed.ends = parsed.text.ends_with('\n');
  if (parsed.ends) parsed.text.remove_suffix(1);
  return parsed;
}

std::optional<LogLine> LineParser::Parse(Format format, std::string_view line) {
  switch (format) {
    case Format::kCri: return Cri(line);
    case Format::kDocker: return Docker(line);
    case Format::kUnknown:
    case Format::kRaw: return std::nullopt;
  }
  UNREACHABLE();
}

Format FormatOf(std::string_view first_line) {
  LineParser parser;
  if (parser.Cri(first_line)) return Format::kCri;
  if (parser.Docker(first_line)) return Format::kDocker;
  return Format::kUnknown;
}

std::string FixedTime(std::string_view time_text) {
  constexpr size_t kDigits = 9;
  std::string out(time_text.substr(0, kSecondsEnd));
  std::string_view rest = time_text.substr(std::min(kSecondsEnd, time_text.size()));
  std::string digits;
  if (rest.starts_with('.') || rest.starts_with(',')) {
    const size_t end = std::min(rest.find_first_not_of("0123456789", 1), rest.size());
    digits = rest.substr(1, std::min(end - 1, kDigits));
    rest.remove_prefix(end);
  }
  digits.resize(kDigits, '0');
  return out.append(".").append(digits).append(rest);
}

}  // namespace splitlet::logs
