#pragma once

/// Answers that several endpoints give.
/// Threads: any; nothing fails.

#include <string>
#include <utility>

#include "libs/https/server.h"

namespace splitlet::node_api {

inline constexpr const char* kPlainText = "text/plain; charset=utf-8";

/// A line of text, in the format of Go's http.Error.
inline https::Answer TextReply(int code, const std::string& text) {
  return {.code = code,
          .headers = {{"Content-Type", kPlainText}, {"X-Content-Type-Options", "nosniff"}},
          .body = text + "\n"};
}

inline https::Answer JsonReply(std::string body, int code = 200) {
  return {.code = code, .headers = {{"Content-Type", "application/json"}}, .body = std::move(body)};
}

inline https::Answer MetricsReply(std::string body) {
  return {.code = 200,
          .headers = {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
          .body = std::move(body)};
}

}  // namespace splitlet::node_api
