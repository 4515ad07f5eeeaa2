#include "libs/logs/log_reader.h"

#include <algorithm>
#include <utility>

#include "libs/base/one_line.h"

namespace splitlet::logs {
namespace {

constexpr size_t kChunk = 64 << 10;
constexpr size_t kShownOfBadLine = 100;

/// Decides which lines are printed.
class LinePrinter {
 public:
  LinePrinter(const LogOptions& options, const LogSink& sink)
      : options_(options), sink_(sink), format_(options.format) {
    if (options.limit_bytes) room_ = *options.limit_bytes;
  }

  /// The line break after a physical line, if any.
  enum class After { kNothing, kBreakBeside, kBreakElsewhere };
  /// Prints one physical line without its line break.
  Status Print(std::string_view line, After after) {
    if (format_ == Format::kRaw) {
      return after == After::kNothing ? Put(Stream::kStdout, line)
                                      : PutLine(Stream::kStdout, line, after);
    }
    if (format_ == Format::kUnknown) format_ = FormatOf(line);
    if (format_ == Format::kUnknown)
      return InvalidArgument("unsupported log format: \"{}\"",
                             OneLine(line.substr(0, kShownOfBadLine)));
    const auto parsed = parser_.Parse(format_, line);
    if (!parsed) {
      ++unreadable_;
      return OkStatus();
    }
    ++lines_;
    if (options_.since && parsed->time < *options_.since) return OkStatus();
    const bool begins = at_line_start_;
    if (parsed->ends || !parsed->text.empty()) at_line_start_ = parsed->ends;
    if (options_.timestamps && begins) {
      const Status put = Put(parsed->stream, FixedTime(parsed->time_text) + " ");
      if (!put.ok()) return put;
    }
    if (!parsed->ends) return Put(parsed->stream, parsed->text);
    const bool is_last_of_line =
        parsed->text.data() + parsed->text.size() == line.data() + line.size();
    return PutLine(parsed->stream, parsed->text, is_last_of_line ? after : After::kBreakElsewhere);
  }

  /// True when the requested number of bytes is printed.
  bool done() const {
    return (options_.limit_bytes && room_ == 0) ||
           (!options_.follow && options_.tail_lines && lines_ >= *options_.tail_lines);
  }
  uint64_t unreadable() const { return unreadable_; }

 private:
  /// Prints a text with its line break, in one write if both are adjacent.
  Status PutLine(Stream stream, std::string_view text, After after) {
    if (after == After::kBreakBeside) return Put(stream, {text.data(), text.size() + 1});
    const Status put = Put(stream, text);
    return put.ok() ? Put(stream, "\n") : put;
  }
  Status Put(Stream stream, std::string_view bytes) {
    if (options_.limit_bytes) {
      bytes = bytes.substr(0, room_);
      room_ -= bytes.size();
    }
    return bytes.empty() ? OkStatus() : sink_(stream, bytes);
  }

  const LogOptions& options_;
  const LogSink& sink_;
  Format format_;
  LineParser parser_;
  bool at_line_start_ = true;
  uint64_t room_ = 0, lines_ = 0, unreadable_ = 0;
};

class LogReader {
 public:
  LogReader(const LogSource& source, std::string path, const LogOptions& options,
            const LogSink& sink)
      : source_(source), path_(std::move(path)), options_(options), printer_(options, sink) {}

  StatusOr<LogResult> Run() {
    RETURN_IF_ERROR(Open(), "open {}", path_);
    if (options_.tail_lines) {
      ASSIGN_OR_RETURN(offset_, FindTail(*file_, *options_.tail_lines), "find the end of {}",
                       path_);
    }
    RETURN_IF_ERROR(options_.follow ? Follow() : ReadRest(), "read {}", path_);
    return LogResult{.unreadable_lines = printer_.unreadable(), .cancelled = cancelled_};
  }

 private:
  bool IsOver() {
    cancelled_ = cancelled_ || source_.is_cancelled();
    return cancelled_ || printer_.done();
  }

  Status Open() {
    auto file = source_.files.Open(path_);
    if (!file.ok()) return file.status();
    file_ = *std::move(file);
    offset_ = 0;
    rest_.clear();
    return OkStatus();
  }

  /// Prints every complete line; an unfinished line stays in `rest_`.
  Status ReadLines() {
    while (!IsOver()) {
      if (Status read = file_->ReadAt(offset_, kChunk, chunk_); !read.ok()) return read;
      if (chunk_.empty()) return OkStatus();
      offset_ += chunk_.size();
      if (Status printed = Split(chunk_); !printed.ok()) return printed;
    }
    return OkStatus();
  }

  /// Splits one piece; cancellation is checked between pieces.
  Status Split(std::string_view bytes) {
    using enum LinePrinter::After;
    while (!printer_.done()) {
      const size_t end = bytes.find('\n');
      const std::string_view piece = bytes.substr(0, end);
      if (end == std::string_view::npos || !rest_.empty()) Keep(piece);
      if (end == std::string_view::npos) return OkStatus();
      // Fast path: most lines are complete in the read bytes.
      const Status printed = rest_.empty() ? printer_.Print(piece, kBreakBeside)
                                           : printer_.Print(rest_, kBreakElsewhere);
      if (!printed.ok()) return printed;
      rest_.clear();
      bytes.remove_prefix(end + 1);
    }
    return OkStatus();
  }

  void Keep(std::string_view piece) {
    rest_.append(piece.substr(0, kMaxLineBytes - std::min(rest_.size(), kMaxLineBytes)));
  }

  /// Reads to the end of this file, including an unfinished last line.
  Status ReadRest() {
    if (Status read = ReadLines(); !read.ok()) return read;
    const std::string line = std::exchange(rest_, {});
    return line.empty() || IsOver() ? OkStatus()
                                    : printer_.Print(line, LinePrinter::After::kNothing);
  }

  /// Opens the next file of this name, once the runtime has created it, after reading the rest of
  /// the old one.
  Status TakeReplacement() {
    if (Status read = ReadRest(); !read.ok()) return read;
    const Status opened = Open();
    // it was replaced once more
    return opened.code() == StatusCode::kNotFound ? OkStatus() : opened;
  }

  /// Starts again at the beginning of a truncated file.
  Status NoticeTruncation() {
    const auto size = file_->Size();
    if (!size.ok()) return size.status();
    if (*size >= offset_) return OkStatus();
    offset_ = 0;
    rest_.clear();
    return OkStatus();
  }

  Status Follow() {
    while (!IsOver()) {
      if (Status same = NoticeTruncation(); !same.ok()) return same;
      if (Status read = ReadLines(); !read.ok()) return read;
      if (file_->IsReplacedAt(path_)) {
        if (Status taken = TakeReplacement(); !taken.ok()) return taken;
        continue;
      }
      if (IsOver() || source_.watch.Wait() || source_.is_writing()) continue;
      // The writer ended before this check, so all its output is in this file, or in one more.
      if (file_->IsReplacedAt(path_))
        if (Status taken = TakeReplacement(); !taken.ok()) return taken;
      return ReadRest();
    }
    return OkStatus();
  }

  const LogSource& source_;
  const std::string path_;
  const LogOptions& options_;
  LinePrinter printer_;
  std::unique_ptr<LogFile> file_;
  uint64_t offset_ = 0;
  std::string chunk_;  // bytes read from the file
  std::string rest_;   // start of an unfinished line
  bool cancelled_ = false;
};

}  // namespace

StatusOr<LogResult> ReadLog(const LogSource& source, const std::string& path,
                            const LogOptions& options, const LogSink& sink) {
  return LogReader(source, path, options, sink).Run();
}

}  // namespace splitlet::logs
