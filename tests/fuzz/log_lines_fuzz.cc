// A fuzz target over a container's log, whose bytes the container chooses and whose lines a full
// disk may cut. For any bytes no more is printed than was written, and the last lines are a suffix
// of all lines.

#include <algorithm>

#include "libs/logs/fake_log_files.h"
#include "libs/logs/log_line.h"
#include "libs/logs/log_reader.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace splitlet;        // NOLINT(google-build-using-namespace): one target
using namespace splitlet::logs;  // NOLINT(google-build-using-namespace): one target

/// A watch without further events.
class NoWatch final : public LogWatch {
 public:
  bool Wait() override { return false; }
};

std::string Printed(const std::string& bytes, const LogOptions& options) {
  FakeLogFiles files;
  files.Make("/log", bytes);
  NoWatch watch;
  std::string text;
  const LogSource source{files, watch, [] { return false; }, [] { return false; }};
  const auto read = ReadLog(source, "/log", options, [&text](Stream, std::string_view piece) {
    text += piece;
    return OkStatus();
  });
  CHECK(read.ok() || read.status().code() == StatusCode::kInvalidArgument, "{}", read.status());
  return text;
}

void CheckLine(std::string_view line) {
  LineParser parser;
  for (const Format format : {Format::kCri, Format::kDocker}) {
    const auto parsed = parser.Parse(format, line);
    if (!parsed) continue;
    CHECK(parsed->text.size() <= line.size());
    CHECK(FixedTime(parsed->time_text).size() >= 29, "{}", parsed->time_text);
    const auto again = parser.Parse(format, line);
    CHECK(again && again->time == parsed->time, "in the second that it knows");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  CheckLine(std::string_view(bytes).substr(0, bytes.find('\n')));
  const std::string all = Printed(bytes, {.format = Format::kCri});
  CHECK(all.size() <= bytes.size() + 1);
  CHECK(Printed(bytes, {.follow = true, .format = Format::kCri}) == all);
  CHECK(Printed(bytes, {.limit_bytes = 7, .format = Format::kCri}) == all.substr(0, 7));
  const std::string last =
      Printed(bytes, {.follow = true, .tail_lines = 2, .format = Format::kCri});
  CHECK(all.ends_with(last), "{}", last);
  Printed(bytes, {.timestamps = true});
  return Printed(bytes, {}).empty() ? -1 : 0;
}

FuzzCorpus MakeFuzzCorpus() {
  FuzzCorpus corpus;
  std::string log;
  for (int i = 0; i < 20; ++i)
    log += "2026-01-02T03:04:05.6Z " + std::string(i % 5 == 0 ? "stderr" : "stdout") +
           (i % 3 == 0 ? " P" : " F") + " line\u20ac\n";
  corpus.inputs = {log, log.substr(0, log.size() - 3),
                   "{\"log\":\"a\\n\",\"stream\":\"stdout\",\"time\":\"2026-01-02T03:04:05Z\"}\n",
                   "2026-01-02T03:04:05+01:00 stdout F:x \n"};
  corpus.tokens = {"\n",     " F ",        " P ",   "stdout", "2026-01-02T03:04:05Z",
                   "+01:00", R"("log":")", "\\n\"", "\xFF",   ".123456789123"};
  return corpus;
}
