#include "libs/daemon/log_sink.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <chrono>
#include <ctime>

namespace splitlet::daemon {
namespace {

char Letter(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return 'D';
    case LogLevel::kInfo: return 'I';
    case LogLevel::kWarn: return 'W';
    case LogLevel::kError: return 'E';
  }
  UNREACHABLE();
}

/// Length of the UTF-8 sequence at the front of `text`; 0 when it is none.
size_t SequenceLength(std::string_view text) {
  const auto at = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xC2 && first < 0xE0 ? 2
                        : first >= 0xE0 && first < 0xF0 ? 3
                        : first >= 0xF0 && first < 0xF5 ? 4
                                                        : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((at(i) & 0xC0) != 0x80) return 0;
  const bool overlong = (first == 0xE0 && at(1) < 0xA0) || (first == 0xF0 && at(1) < 0x90);
  const bool outside = (first == 0xED && at(1) >= 0xA0) || (first == 0xF4 && at(1) >= 0x90);
  return overlong || outside ? 0 : length;
}

std::string Escaped(char c) {
  switch (c) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: return fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
  }
}

std::string TextOf(const LogLine& line) {
  std::string text = Quoted(line.message);
  for (const LogField& field : line.fields)
    text += fmt::format(" {}={}", field.key, Quoted(field.value));
  return text;
}

}  // namespace

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    const char first = text.front();
    const bool plain = length > 1 || (length == 1 && first != '"' && first != '\\' &&
                                      static_cast<unsigned char>(first) >= 0x20 && first != 0x7f);
    if (plain)
      out += text.substr(0, length);
    else if (length == 0)
      out += "\xEF\xBF\xBD";  // U+FFFD
    else
      out += Escaped(first);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + "\"";
}

std::string FormatText(const LogLine& line, const LogOrigin& origin, WallTime at) {
  const auto micros = std::chrono::floor<std::chrono::microseconds>(at);
  const std::time_t seconds =
      std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{}{:02}{:02} {:02}:{:02}:{:02}.{:06} {:7} {}] {}", Letter(line.level),
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     micros.time_since_epoch().count() % 1'000'000, origin.pid, origin.process,
                     TextOf(line));
}

std::string FormatJson(const LogLine& line, const LogOrigin& origin, WallTime at) {
  const int64_t micros =
      std::chrono::floor<std::chrono::microseconds>(at).time_since_epoch().count();
  std::string out = fmt::format("{{\"ts\":{}.{:03},\"logger\":{},\"msg\":{}", micros / 1000,
                                micros % 1000, Quoted(origin.process), Quoted(line.message));
  if (line.level == LogLevel::kWarn) out += ",\"severity\":\"warn\"";
  if (line.level != LogLevel::kError)
    out += fmt::format(",\"v\":{}", line.level == LogLevel::kDebug ? 4 : 0);
  for (const LogField& field : line.fields)
    out += fmt::format(",{}:{}", Quoted(field.key), Quoted(field.value));
  return out + "}";
}

LogLevel LevelOf(std::string_view name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "warn") return LogLevel::kWarn;
  return name == "error" ? LogLevel::kError : LogLevel::kInfo;
}

struct StderrSink::Output {
  spdlog::logger logger{"stderr", std::make_shared<spdlog::sinks::stderr_sink_mt>()};
};

StderrSink::StderrSink(const Clock& clock, Options options)
    : clock_(clock), options_(std::move(options)), output_(std::make_unique<Output>()) {
  output_->logger.set_pattern("%v");
  output_->logger.set_level(spdlog::level::trace);
}

StderrSink::~StderrSink() = default;

void StderrSink::Write(LogLevel level, std::string_view message,
                       const std::vector<LogField>& fields) {
  ++written_[static_cast<size_t>(level)];
  const LogLine line{level, message, fields};
  const WallTime now = clock_.WallNow();
  const std::string text = options_.json ? FormatJson(line, options_.origin, now)
                                         : FormatText(line, options_.origin, now);
  output_->logger.info(spdlog::string_view_t(text.data(), text.size()));
  if (level != LogLevel::kError) return;
  const std::lock_guard lock(mutex_);
  last_error_ = {TextOf(line), now};
}

StderrSink::LastError StderrSink::last_error() const {
  const std::lock_guard lock(mutex_);
  return last_error_;
}

}  // namespace splitlet::daemon
