#include "libs/logs/log_line.h"

#include <rapidjson/document.h>

#include <utility>

#include "libs/kube/time_text.h"

namespace splitlet::logs {
namespace {

constexpr size_t kSecondsEnd = 19;  // "2026-01-02T03:04:05"

std::optional<Stream> ParseStream(std::string_view text) {
  if (text == "stdout") return Stream::kStdout;
  if (text == "stderr") return Stream::kStderr;
  return std::nullopt;
}

/// False when it is no time, or none that nanoseconds since the epoch can say.
bool SetTime(std::string_view text, LogLine& line) {
  constexpr int64_t kMostSeconds = 9'000'000'000;
  const auto time = kube::ParseTime(text);
  if (!time.ok() || time->seconds < -kMostSeconds || time->seconds > kMostSeconds) return false;
  line.time = WallFromNanos(time->seconds * 1'000'000'000 + time->nanos);
  line.time_text = text;
  return true;
}

/// The text before the next space, which is taken away with it; nullopt without a space.
std::optional<std::string_view> NextField(std::string_view& line) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::string_view field = line.substr(0, space);
  line.remove_prefix(space + 1);
  return field;
}

/// nullopt when there is no such string.
std::optional<std::string_view> StringOf(const rapidjson::Document& document, const char* name) {
  const auto found = document.FindMember(name);
  if (found == document.MemberEnd() || !found->value.IsString()) return std::nullopt;
  return std::string_view(found->value.GetString(), found->value.GetStringLength());
}

bool ParseCri(std::string_view line, LogLine& parsed) {
  const auto time = NextField(line);
  if (!time || !SetTime(*time, parsed)) return false;
  const auto stream_text = NextField(line);
  const auto stream = stream_text ? ParseStream(*stream_text) : std::nullopt;
  if (!stream) return false;
  parsed.stream = *stream;
  const auto tags = NextField(line);
  if (!tags) return false;
  const std::string_view tag = tags->substr(0, tags->find(':'));
  if (tag != "F" && tag != "P") return false;
  parsed.text = line;
  if (tag == "F") parsed.text += '\n';
  return true;
}

bool ParseDocker(std::string_view line, LogLine& parsed) {
  if (!line.starts_with('{')) return false;
  rapidjson::Document document;
  // Iterative: what is nested deep must not take the stack.
  document.Parse<rapidjson::kParseIterativeFlag>(line.data(), line.size());
  if (document.HasParseError() || !document.IsObject()) return false;
  const auto text = StringOf(document, "log"), stream_text = StringOf(document, "stream"),
             time = StringOf(document, "time");
  const auto stream = stream_text ? ParseStream(*stream_text) : std::nullopt;
  if (!text || !stream || !time || !SetTime(*time, parsed)) return false;
  parsed.stream = *stream;
  parsed.text = *text;
  return true;
}

}  // namespace

std::optional<LogLine> ParseCriLine(std::string_view line) {
  LogLine parsed;
  return ParseCri(line, parsed) ? std::optional(std::move(parsed)) : std::nullopt;
}

std::optional<LogLine> ParseDockerLine(std::string_view line) {
  LogLine parsed;
  return ParseDocker(line, parsed) ? std::optional(std::move(parsed)) : std::nullopt;
}

bool ParseLine(Format format, std::string_view line, LogLine& parsed) {
  switch (format) {
    case Format::kCri: return ParseCri(line, parsed);
    case Format::kDocker: return ParseDocker(line, parsed);
    case Format::kUnknown:
    case Format::kRaw: return false;
  }
  UNREACHABLE();
}

Format FormatOf(std::string_view first_line) {
  if (ParseCriLine(first_line)) return Format::kCri;
  if (ParseDockerLine(first_line)) return Format::kDocker;
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
