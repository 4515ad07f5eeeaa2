#include "services/node-api/logs/node_logs.h"

#include <cctype>

#include "services/node-api/http/replies.h"

namespace splitlet::node_api {
namespace {

constexpr std::string_view kTop = "/logs";

std::string Html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&#34;";
    else
      out += c;
  }
  return out;
}

/// The name, escaped for a link on the folder's page.
std::string LinkTo(std::string_view name) {
  std::string out;
  for (const unsigned char c : name) {
    const bool plain =
        std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '~' || c == '/';
    out += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return out;
}

https::Answer Listing(fs::FileSystem& files, const std::string& path) {
  const auto entries = files.List(path);
  if (!entries.ok()) return TextReply(404, "404 page not found");
  std::string body = "<!doctype html>\n<pre>\n";
  for (const auto& entry : *entries) {
    const std::string name = entry.name + (entry.kind == fs::FileInfo::Kind::kDirectory ? "/" : "");
    body += fmt::format("<a href=\"./{}\">{}</a>\n", LinkTo(name), Html(name));
  }
  return {.code = 200,
          .headers = {{"Content-Type", "text/html; charset=utf-8"}},
          .body = body + "</pre>\n"};
}

}  // namespace

NodeLog FindNodeLog(fs::FileSystem& files, const PathHolder& hold, const std::string& folder,
                    std::string_view path) {
  path.remove_prefix(kTop.size());
  const auto refused = [](const Status& status) {
    return NodeLog{.answer = status.code() == StatusCode::kPermissionDenied
                                 ? TextReply(403, "403 Forbidden")
                                 : TextReply(404, "404 page not found"),
                   .file = {}};
  };
  const auto held = hold(folder, std::string(path));
  if (!held.ok()) return refused(held.status());
  const auto info = files.Stat(held->path, /*follow=*/true);
  if (!info.ok()) return refused(info.status());
  if (info->kind == fs::FileInfo::Kind::kDirectory)
    return {.answer = Listing(files, held->path), .file = {}};
  if (info->kind != fs::FileInfo::Kind::kFile)
    return {.answer = TextReply(403, "403 Forbidden"), .file = {}};
  return {.answer = std::nullopt, .file = *held};
}

}  // namespace splitlet::node_api
