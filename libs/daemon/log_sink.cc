#include "libs/daemon/log_sink.h"

#include <spdlog/async.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <chrono>
#include <condition_variable>
#include <ctime>
#include <system_error>
#include <utility>

namespace splitlet::daemon {
namespace {

constexpr size_t kSlots = 256;  // waiting lines; each takes a kilobyte
constexpr size_t kMaxValue = 4096;
constexpr Duration kEndPatience = std::chrono::seconds{1};

/// Writes to stderr and counts the written lines.
class CountingSink final : public spdlog::sinks::sink {
 public:
  void log(const spdlog::details::log_msg& line) override {
    to_.log(line);
    {
      const std::lock_guard lock(mutex_);
      ++written_;
    }
    changed_.notify_all();
  }
  void flush() override { to_.flush(); }
  void set_pattern(const std::string& pattern) override { to_.set_pattern(pattern); }
  void set_formatter(std::unique_ptr<spdlog::formatter> formatter) override {
    to_.set_formatter(std::move(formatter));
  }

  uint64_t written() const {
    const std::lock_guard lock(mutex_);
    return written_;
  }
  /// Waits until so many lines are written or `dropped`, for a limited time.
  template <class Dropped>
  bool WaitFor(uint64_t lines, Duration patience, const Dropped& dropped) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return written_ + dropped() >= lines; });
  }

 private:
  spdlog::sinks::stderr_sink_mt to_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t written_ = 0;
};

/// Threads of stuck writers whose sink ended: nothing can end them.
std::vector<std::shared_ptr<spdlog::details::thread_pool>>& LeftBehind() {
  static std::vector<std::shared_ptr<spdlog::details::thread_pool>> pools;
  return pools;
}

std::string_view Bounded(std::string_view text) { return text.substr(0, kMaxValue); }

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
  std::string text = Quoted(Bounded(line.message));
  for (const LogField& field : line.fields)
    text += fmt::format(" {}={}", field.key, Quoted(Bounded(field.value)));
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
  std::string out =
      fmt::format("{{\"ts\":{}.{:03},\"logger\":{},\"msg\":{}", micros / 1000, micros % 1000,
                  Quoted(origin.process), Quoted(Bounded(line.message)));
  if (line.level == LogLevel::kWarn) out += ",\"severity\":\"warn\"";
  if (line.level != LogLevel::kError)
    out += fmt::format(",\"v\":{}", line.level == LogLevel::kDebug ? kDebugVerbosity : 0);
  for (const LogField& field : line.fields)
    out += fmt::format(",{}:{}", Quoted(field.key), Quoted(Bounded(field.value)));
  return out + "}";
}

class StderrSink::Output {
 public:
  explicit Output(Duration patience) : patience_(patience) {
    try {
      pool_ = std::make_shared<spdlog::details::thread_pool>(kSlots, 1);
      logger_ = std::make_shared<spdlog::async_logger>(
          "stderr", sink_, pool_, spdlog::async_overflow_policy::overrun_oldest);
    } catch (const std::system_error&) {  // no thread to be had: lines are written as they come
      pool_ = nullptr;
      logger_ = std::make_shared<spdlog::logger>("stderr", sink_);
    }
    logger_->set_pattern("%v");
    logger_->set_level(spdlog::level::trace);
  }
  ~Output() {
    if (pool_ == nullptr || Wait(put_, kEndPatience)) return;
    LeftBehind().push_back(pool_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void Put(const std::string& text, bool urgent) {
    const std::lock_guard lock(mutex_);
    logger_->info(spdlog::string_view_t(text.data(), text.size()));
    ++put_;
    if (!urgent || pool_ == nullptr) return;
    if (stands_still_ && sink_->written() + dropped() + 1 < put_) return;
    stands_still_ = !Wait(put_, patience_);
  }
  uint64_t dropped() const { return pool_ == nullptr ? 0 : pool_->overrun_counter(); }

 private:
  bool Wait(uint64_t lines, Duration patience) {
    return sink_->WaitFor(lines, patience, [this] { return dropped(); });
  }

  const Duration patience_;
  const std::shared_ptr<CountingSink> sink_ = std::make_shared<CountingSink>();
  std::shared_ptr<spdlog::details::thread_pool> pool_;
  std::shared_ptr<spdlog::logger> logger_;
  std::mutex mutex_;
  uint64_t put_ = 0;  // guarded by mutex_
  bool stands_still_ =
      false;  // guarded by mutex_: a wait failed, and lines of that time still wait
};

StderrSink::StderrSink(const Clock& clock, Options options)
    : clock_(clock),
      options_(std::move(options)),
      level_(options_.level),
      output_(std::make_unique<Output>(options_.patience)) {}

StderrSink::~StderrSink() = default;

void StderrSink::Write(LogLevel level, std::string_view message,
                       const std::vector<LogField>& fields) {
  ++written_[static_cast<size_t>(level)];
  const LogLine line{level, message, fields};
  const WallTime now = clock_.WallNow();
  const std::string text = options_.json ? FormatJson(line, options_.origin, now)
                                         : FormatText(line, options_.origin, now);
  if (level == LogLevel::kError) {
    const std::lock_guard lock(mutex_);
    last_error_ = {TextOf(line), now};
  }
  output_->Put(text, level >= LogLevel::kWarn);
}

uint64_t StderrSink::dropped() const { return output_->dropped(); }

StderrSink::LastError StderrSink::last_error() const {
  const std::lock_guard lock(mutex_);
  return last_error_;
}

}  // namespace splitlet::daemon
