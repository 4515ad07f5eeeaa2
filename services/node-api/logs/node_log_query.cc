#include "services/node-api/logs/node_log_query.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "libs/kube/time_text.h"
#include "services/node-api/http/replies.h"
#include "services/node-api/logs/log_pattern.h"

namespace splitlet::node_api {
namespace {

constexpr size_t kMaxServices = 4, kMaxServiceName = 256;
constexpr int64_t kMaxTailLines = 100'000;
constexpr const char* kJournal = "journalctl";

bool IsFile(std::string_view what) { return what.find_first_of("/\\") != std::string_view::npos; }

bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

bool IsServiceName(std::string_view name) {
  return name.size() <= kMaxServiceName && std::ranges::all_of(name, [](unsigned char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  std::string_view("-_.:@").find(static_cast<char>(c)) != std::string_view::npos;
         });
}

/// False: the value is not a whole number.
bool ReadNumber(const Query& query, const char* key, std::optional<int64_t>& number) {
  const auto text = query.Find(key);
  if (!text) return true;
  int64_t value = 0;
  const auto [end, wrong] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (wrong != std::errc{} || end != text->data() + text->size()) return false;
  number = value;
  return true;
}

bool ReadTime(const Query& query, const char* key, std::optional<int64_t>& time) {
  const auto text = query.Find(key);
  if (!text) return true;
  const auto parsed = kube::ParseTime(*text);
  if (!parsed.ok()) return false;
  time = parsed->seconds * 1'000'000'000 + parsed->nanos;
  return true;
}

/// The problem of a parsed query; empty: none.
std::string ProblemOf(const NodeLogQuery& query) {
  if (query.services.empty() && query.files.empty())
    return "query cannot be empty when options are specified";
  if (!query.services.empty() && !query.files.empty()) return "cannot specify a file and service";
  if (query.files.size() > 1) return "cannot specify more than one file";
  if (!query.files.empty() && query.has_options()) return "cannot specify file with options";
  if (query.services.size() > kMaxServices)
    return fmt::format("cannot specify more than {} services", kMaxServices);
  for (const std::string& service : query.services)
    if (!IsServiceName(service)) return fmt::format("invalid service name {}", service);
  if (query.since_ns && query.until_ns && *query.since_ns > *query.until_ns)
    return "until must be after since";
  if (query.tail_lines && (*query.tail_lines < 0 || *query.tail_lines > kMaxTailLines))
    return fmt::format("tailLines must be between 0 and {}", kMaxTailLines);
  if (query.boot.value_or(0) > 0) return "boot must be less than 1";
  return "";
}

/// "2026-1-2 3:4:5", as journalctl parses it.
std::string JournalTime(int64_t ns) {
  const std::tm t = fmt::gmtime(static_cast<std::time_t>(ns / 1'000'000'000));
  return fmt::format("{}-{}-{} {}:{}:{}", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour,
                     t.tm_min, t.tm_sec);
}

/// The answer contains both outputs, whatever the exit code; or a line with the reason of the
/// failure.
std::string AskJournal(const NodeLogSources& from, std::vector<std::string> argv) {
  auto printed = from.run({.argv = std::move(argv),
                           .env = {},
                           .input = "",
                           .limit = kNodeLogLimit,
                           .max_output_bytes = kNodeLogBytes});
  if (printed.ok()) return *std::move(printed);
  const auto code = printed.status().code();
  if (code == StatusCode::kUnavailable) return Message(printed.status()) + "\n";
  if (code == StatusCode::kResourceExhausted)
    return fmt::format("error: more than {} bytes; ask for fewer with tailLines\n", kNodeLogBytes);
  return "error: journal output not available\n";
}

std::set<std::string> UnitsOfJournal(const NodeLogSources& from) {
  std::set<std::string> units;
  std::istringstream lines(AskJournal(from, {kJournal, "--field", "_SYSTEMD_UNIT"}));
  for (std::string line; std::getline(lines, line);) units.insert(line);
  return units;
}

std::string LogInFiles(const NodeLogSources& from, const NodeLogQuery& query,
                       const std::string& service) {
  if (query.has_options())
    return fmt::format("options present but cannot be used with logs of {} in files\n", service);
  for (const std::string& path : {service, service + ".log", fmt::format("{0}/{0}.log", service)}) {
    auto text = from.read(from.folder, path, kNodeLogBytes);
    if (text.ok()) return *std::move(text);
    if (text.status().code() == StatusCode::kResourceExhausted)
      return fmt::format("log of {} is longer than {} bytes; it is at /logs/{}\n", service,
                         kNodeLogBytes, path);
  }
  return fmt::format("log not found for {}\n", service);
}

https::Answer LogReply(std::string text) {
  return {.code = 200,
          .headers = {{"Content-Type", "text/plain;charset=UTF-8"}},
          .body = std::move(text)};
}

https::Answer FileReply(const NodeLogSources& from, const std::string& path) {
  auto text = from.read(from.folder, path, kNodeLogBytes);
  if (text.ok()) return LogReply(*std::move(text));
  if (text.status().code() == StatusCode::kResourceExhausted)
    return TextReply(
        406, fmt::format("{} is longer than {} bytes; it is below /logs/", path, kNodeLogBytes));
  return TextReply(406, fmt::format("{} does not exist or cannot be read", path));
}

}  // namespace

bool NodeLogQuery::has_options() const {
  return since_ns || until_ns || tail_lines || boot || !pattern.empty();
}

NodeLogAsked ReadNodeLogQuery(const Query& query) {
  constexpr const char* kKeys[] = {"query",     "sinceTime", "untilTime",
                                   "tailLines", "boot",      "pattern"};
  NodeLogAsked asked;
  asked.any = std::ranges::any_of(kKeys, [&query](const char* key) { return query.Has(key); });
  if (!asked.any) return asked;
  const auto refuse = [&asked](int code, const std::string& why) {
    asked.refusal = TextReply(code, why);
    return asked;
  };
  for (const std::string& what : query.All("query")) {
    if (IsBlank(what)) continue;
    (IsFile(what) ? asked.query.files : asked.query.services).push_back(what);
  }
  if (query.Has("query") && asked.query.files.empty() && asked.query.services.empty())
    return refuse(400, "query cannot be empty");
  if (!ReadTime(query, "sinceTime", asked.query.since_ns)) return refuse(400, "invalid sinceTime");
  if (!ReadTime(query, "untilTime", asked.query.until_ns)) return refuse(400, "invalid untilTime");
  if (!ReadNumber(query, "tailLines", asked.query.tail_lines))
    return refuse(400, "invalid tailLines");
  if (!ReadNumber(query, "boot", asked.query.boot)) return refuse(400, "invalid boot");
  asked.query.pattern = query.Get("pattern");
  if (const std::string problem = ProblemOf(asked.query); !problem.empty())
    return refuse(406, problem);
  if (const auto [costly, why] = FindPatternProblem(asked.query.pattern); !why.empty())
    return refuse(costly ? 400 : 406,
                  fmt::format("pattern is {}: {}", costly ? "too costly" : "invalid", why));
  return asked;
}

std::vector<std::string> JournalArguments(const NodeLogQuery& query,
                                          const std::vector<std::string>& services) {
  std::vector<std::string> argv = {kJournal, "--utc", "--no-pager", "--output=short-precise"};
  if (query.since_ns) argv.push_back("--since=" + JournalTime(*query.since_ns));
  if (query.until_ns) argv.push_back("--until=" + JournalTime(*query.until_ns));
  if (query.tail_lines) {
    argv.emplace_back("--pager-end");
    argv.push_back(fmt::format("--lines={}", *query.tail_lines));
  }
  for (const std::string& service : services) argv.push_back("--unit=" + service);
  if (!query.pattern.empty()) argv.push_back("--grep=" + query.pattern);
  if (query.boot) {
    argv.emplace_back("--boot");
    argv.push_back(std::to_string(*query.boot));
  }
  return argv;
}

https::Answer RunNodeLogQuery(const NodeLogSources& from, const NodeLogQuery& query) {
  if (!query.files.empty()) return FileReply(from, query.files.front());
  const std::set<std::string> units = UnitsOfJournal(from);
  std::vector<std::string> native, others;
  for (const std::string& service : query.services)
    (units.contains(service + ".service") ? native : others).push_back(service);
  std::string text;
  if (!native.empty()) text += AskJournal(from, JournalArguments(query, native));
  for (const std::string& service : others) text += LogInFiles(from, query, service);
  return LogReply(std::move(text));
}

}  // namespace splitlet::node_api
