#include "services/node-api/logs/log_query.h"

#include <charconv>
#include <string>

#include "libs/kube/time_text.h"
#include "services/node-api/http/replies.h"

namespace splitlet::node_api {
namespace {

struct Number {
  bool broken = false;
  std::optional<int64_t> value;  // nullopt: not given
};

Number NumberOf(const std::optional<std::string>& text) {
  if (!text || text->empty()) return {};
  int64_t value = 0;
  const auto [end, wrong] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (wrong != std::errc{} || end != text->data() + text->size())
    return {.broken = true, .value = {}};
  return {.broken = false, .value = value};
}

LogQuery Undecodable() {
  return {.refusal = JsonReply(R"({"message": "Unable to decode query."})", 400),
          .options = {},
          .previous = false};
}

LogQuery Invalid() {
  return {.refusal = JsonReply(R"({"message": "Invalid request."})", 422),
          .options = {},
          .previous = false};
}

}  // namespace

LogQuery ReadLogQuery(const Query& query, WallTime now) {
  auto tail_text = query.Find("tailLines");
  if (const std::string tail = query.Get("tail"); !tail.empty())
    tail_text = tail == "all" ? std::nullopt : std::optional(tail);
  const Number tail = NumberOf(tail_text), limit = NumberOf(query.Find("limitBytes")),
               since = NumberOf(query.Find("sinceSeconds"));
  const std::string since_time = query.Get("sinceTime");
  const auto parsed = kube::ParseTime(since_time);
  if (tail.broken || limit.broken || since.broken || (!since_time.empty() && !parsed.ok()))
    return Undecodable();
  if (tail.value.value_or(0) < 0 || limit.value.value_or(1) < 1 || since.value.value_or(1) < 1 ||
      (since.value && !since_time.empty()))
    return Invalid();
  // stdout and stderr are not separated, because the kubelet's gate for that is off by default.
  if (const std::string stream = query.Get("stream"); !stream.empty() && stream != "All")
    return {.refusal = TextReply(400, "stream: only All is supported"),
            .options = {},
            .previous = false};
  LogQuery read{
      .refusal = std::nullopt,
      .options = {.follow = query.IsSet("follow"), .timestamps = query.IsSet("timestamps")},
      .previous = query.IsSet("previous")};
  if (tail.value) read.options.tail_lines = static_cast<uint64_t>(*tail.value);
  if (limit.value) read.options.limit_bytes = static_cast<uint64_t>(*limit.value);
  // a larger value would leave the clock's range
  constexpr int64_t kMostSeconds = 100LL * 366 * 24 * 3600;
  if (since.value)
    read.options.since = now - std::chrono::seconds{std::min(*since.value, kMostSeconds)};
  if (!since_time.empty())
    read.options.since = WallFromNanos(parsed->seconds * 1'000'000'000 + parsed->nanos);
  return read;
}

}  // namespace splitlet::node_api
