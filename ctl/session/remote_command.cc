#include "ctl/session/remote_command.h"

#include <rapidjson/document.h>

#include <charconv>
#include <optional>

#include "libs/base/one_line.h"

namespace splitlet::ctl {
namespace {

template <class Integer>
std::optional<Integer> ToNumber(std::string_view text) {
  Integer number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The string member of this name; empty if absent.
std::string_view StringOf(const rapidjson::Value& object, const char* name) {
  if (!object.IsObject()) return {};
  const auto found = object.FindMember(name);
  if (found == object.MemberEnd() || !found->value.IsString()) return {};
  return {found->value.GetString(), found->value.GetStringLength()};
}

/// The exit code in the status's details.
std::optional<int> ExitCodeOf(const rapidjson::Value& status) {
  const auto details = status.FindMember("details");
  if (details == status.MemberEnd() || !details->value.IsObject()) return std::nullopt;
  const auto causes = details->value.FindMember("causes");
  if (causes == details->value.MemberEnd() || !causes->value.IsArray()) return std::nullopt;
  for (const auto& cause : causes->value.GetArray())
    if (StringOf(cause, "reason") == "ExitCode") return ToNumber<int>(StringOf(cause, "message"));
  return std::nullopt;
}

}  // namespace

std::string ResizeMessage(const TerminalSize& size) {
  return fmt::format("{{\"Width\":{},\"Height\":{}}}\n", size.columns, size.rows);
}

StatusOr<int> ParseExit(std::string_view status_json) {
  rapidjson::Document status;
  status.Parse<rapidjson::kParseIterativeFlag>(status_json.data(), status_json.size());
  if (status.HasParseError() || !status.IsObject())
    return Unknown("cannot parse the runtime's answer: {}", OneLine(status_json.substr(0, 500)));
  if (StringOf(status, "status") == "Success") return 0;
  const auto code = ExitCodeOf(status);
  if (StringOf(status, "reason") == "NonZeroExitCode" && code && *code > 0 && *code < 256)
    return *code;
  return Unknown("{}", OneLine(StringOf(status, "message")));
}

StatusOr<StreamUrl> ParseStreamUrl(std::string_view url) {
  static constexpr std::string_view kScheme = "http://";
  const auto bad = [url] {
    return InvalidArgument("cannot parse the runtime's URL \"{}\"", OneLine(url));
  };
  if (url.starts_with("https://"))
    return Unimplemented("the runtime serves streams over TLS, which is not supported");
  if (!url.starts_with(kScheme)) return bad();
  url.remove_prefix(kScheme.size());
  const size_t slash = url.find('/');
  std::string_view authority = url.substr(0, slash);
  StreamUrl parsed{.target =
                       slash == std::string_view::npos ? "/" : std::string(url.substr(slash))};
  const size_t colon = authority.rfind(':');
  if (colon == std::string_view::npos) return bad();
  const auto port = ToNumber<uint16_t>(authority.substr(colon + 1));
  std::string_view host = authority.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  if (!port || *port == 0 || host.empty() ||
      parsed.target.find_first_of(" \r\n") != std::string::npos)
    return bad();
  parsed.host = host == "localhost" ? "127.0.0.1" : std::string(host);
  parsed.port = *port;
  return parsed;
}

}  // namespace splitlet::ctl
