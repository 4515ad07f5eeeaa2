#include "services/node-api/streaming/stream_query.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "services/node-api/http/bearer_token.h"
#include "services/node-api/http/replies.h"

namespace splitlet::node_api {
namespace {

using Request = v1::OpenStreamRequest;

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

bool IsWebSocket(const https::Request& request) {
  return Lower(request.Header("Upgrade")).find("websocket") != std::string::npos;
}

StreamQuery Refused(const std::string& text) {
  return {.refusal = TextReply(400, text), .request = {}};
}

std::optional<int32_t> PortOf(std::string_view text) {
  int32_t port = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool whole = wrong == std::errc{} && end == text.data() + text.size();
  return whole && port >= 1 && port <= 65535 ? std::optional(port) : std::nullopt;
}

/// A WebSocket names its ports in the query; SPDY names them later, in its streams.
StreamQuery ReadPorts(const Query& query, const https::Request& request) {
  StreamQuery read;
  read.request.set_kind(Request::PORT_FORWARD);
  if (!IsWebSocket(request)) return read;
  if (Lower(request.Header("Sec-WebSocket-Protocol")).find("spdy/3.1+") != std::string::npos)
    return Refused("unable to upgrade: no tunneling spdy protocols provided");
  const auto lists = query.All("port");
  if (lists.empty()) return Refused("query parameter \"port\" is required");
  for (std::string_view list : lists) {
    while (true) {
      const auto comma = list.find(',');
      const auto port = PortOf(list.substr(0, comma));
      if (!port) return Refused(fmt::format("unable to parse \"{}\" as a port", list));
      read.request.add_ports(*port);
      if (comma == std::string_view::npos) break;
      list.remove_prefix(comma + 1);
    }
  }
  return read;
}

/// Hop-by-hop headers, and headers that identify the client.
bool IsDropped(const std::string& name) {
  return name == "authorization" || name == "host" || name == "content-length" ||
         name == "transfer-encoding" || name == "x-forwarded-for" || name == "expect";
}

std::string HeadFor(const https::Request& request, const std::string& target) {
  std::string head = fmt::format("{} {} HTTP/1.1\r\n", request.method, target);
  const std::string host(request.Header("Host"));
  head += fmt::format("Host: {}\r\n", host.empty() ? "localhost" : host);
  for (const auto& [name, value] : request.headers) {
    const std::string lower = Lower(name);
    if (IsDropped(lower)) continue;
    if (lower != "sec-websocket-protocol") {
      head += fmt::format("{}: {}\r\n", name, value);
      continue;
    }
    if (const std::string kept = WithoutTokens(value); !kept.empty())
      head += fmt::format("{}: {}\r\n", name, kept);
  }
  const std::string via(request.Header("X-Forwarded-For"));
  head += fmt::format("X-Forwarded-For: {}{}\r\n", via.empty() ? "" : via + ", ", request.peer);
  if (request.method != "GET") head += "Content-Length: 0\r\n";
  return head + "\r\n";
}

}  // namespace

std::optional<StreamPath> ReadStreamPath(Route route, std::string_view path) {
  const auto steps = StepsOf(path);  // the first component is the route's name
  if (route == Route::kPortForward) {
    if (steps.size() == 3) return StreamPath{steps[1], steps[2], "", ""};
    if (steps.size() == 4) return StreamPath{steps[1], steps[2], steps[3], ""};
    return std::nullopt;
  }
  if (steps.size() == 4) return StreamPath{steps[1], steps[2], "", steps[3]};
  if (steps.size() == 5) return StreamPath{steps[1], steps[2], steps[3], steps[4]};
  return std::nullopt;
}

bool IsUpgrade(const https::Request& request) {
  return Lower(request.Header("Connection")).find("upgrade") != std::string::npos &&
         !request.Header("Upgrade").empty();
}

StreamQuery ReadStreamQuery(Route route, const Query& query, const https::Request& request) {
  if (route == Route::kPortForward) return ReadPorts(query, request);
  StreamQuery read;
  read.request.set_kind(route == Route::kExec ? Request::EXEC : Request::ATTACH);
  for (const auto& word : query.All("command")) read.request.add_command(word);
  const bool tty = query.Get("tty") == "1";
  read.request.set_tty(tty);
  read.request.set_send_stdin(query.Get("input") == "1");
  read.request.set_want_stdout(query.Get("output") == "1");
  read.request.set_want_stderr(!tty && query.Get("error") == "1");
  if (!read.request.send_stdin() && !read.request.want_stdout() && !read.request.want_stderr())
    return Refused("you must specify at least 1 of stdin, stdout, stderr");
  return read;
}

StatusOr<https::Backend> BackendFor(const https::Request& request, const std::string& url) {
  std::string_view rest = url;
  if (rest.starts_with("https://"))
    return InvalidArgument(
        "the runtime's streaming server requires TLS, which is not supported: {}", url);
  if (rest.starts_with("http://")) rest.remove_prefix(7);
  const auto slash = rest.find('/');
  const std::string_view place = rest.substr(0, slash);
  const auto colon = place.rfind(':');
  const auto port =
      colon == std::string_view::npos ? std::nullopt : PortOf(place.substr(colon + 1));
  if (!port) return InvalidArgument("the runtime's streaming server has no port: {}", url);
  std::string address(place.substr(0, colon));
  if (address.starts_with('[') && address.ends_with(']'))
    address = address.substr(1, address.size() - 2);
  if (address == "localhost" || address.empty()) address = "127.0.0.1";
  const std::string target(slash == std::string_view::npos ? "/" : rest.substr(slash));
  return https::Backend{
      .address = address, .port = static_cast<uint16_t>(*port), .head = HeadFor(request, target)};
}

}  // namespace splitlet::node_api
