#include "libs/csi/aws_id.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace splitlet::csi {
namespace {

constexpr std::string_view kScheme = "aws://";

/// Where a percent-escape stands: Go allows fewer of them in a host.
enum class Part { kHost, kOther };

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

bool IsHostCharacter(unsigned char c) {
  return c >= 0x80 || std::isalnum(c) != 0 ||
         std::string_view("-_.~!$&'()*+,;=:[]<>\"").find(static_cast<char>(c)) !=
             std::string_view::npos;
}

bool IsEscape(std::string_view text, size_t at) {
  return at + 2 < text.size() && std::isxdigit(static_cast<unsigned char>(text[at + 1])) != 0 &&
         std::isxdigit(static_cast<unsigned char>(text[at + 2])) != 0;
}

StatusOr<std::string> Unescape(std::string_view text, Part part) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c != '%') {
      if (part == Part::kHost && !IsHostCharacter(c))
        return InvalidArgument("invalid character {} in host name", Quoted(text.substr(i, 1)));
      out += text[i];
      continue;
    }
    const bool escaped = IsEscape(text, i);
    const int value = escaped ? std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16) : 0;
    if (!escaped || (part == Part::kHost && value < 0x80 && value != '%'))
      return InvalidArgument("invalid URL escape {}", Quoted(text.substr(i, 3)));
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

Status CheckAuthority(std::string_view authority) {
  const size_t at = authority.rfind('@');
  if (at != std::string_view::npos) {
    const auto is_valid = [](unsigned char c) {
      return std::isalnum(c) != 0 ||
             std::string_view("-._:~!$&'()*+,;=%@").find(static_cast<char>(c)) !=
                 std::string_view::npos;
    };
    if (!std::all_of(authority.begin(), authority.begin() + static_cast<ptrdiff_t>(at), is_valid))
      return InvalidArgument("net/url: invalid userinfo");
    authority.remove_prefix(at + 1);
  }
  const size_t colon = authority.rfind(':');
  if (colon != std::string_view::npos && !authority.starts_with('[')) {
    const std::string_view port = authority.substr(colon);
    const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
    if (!std::all_of(port.begin() + 1, port.end(), is_digit))
      return InvalidArgument("invalid port {} after host", Quoted(port));
  }
  return Unescape(authority, Part::kHost).status();
}

/// The decoded path of "aws://zone/path?query#fragment".
StatusOr<std::string> PathOf(std::string_view url) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::any_of(url.begin(), url.end(), is_control))
    return InvalidArgument("net/url: invalid control character in URL");
  std::string_view rest = url.substr(kScheme.size());
  rest = rest.substr(0, rest.find('?'));
  const size_t slash = std::min(rest.find('/'), rest.size());
  if (const Status wrong = CheckAuthority(rest.substr(0, slash)); !wrong.ok()) return wrong;
  return Unescape(rest.substr(slash), Part::kOther);
}

std::string TrimSlashes(const std::string& path) {
  const size_t begin = path.find_first_not_of('/');
  if (begin == std::string::npos) return "";
  return path.substr(begin, path.find_last_not_of('/') - begin + 1);
}

}  // namespace

StatusOr<std::string> EbsVolumeId(const std::string& kubernetes_id) {
  const std::string_view id = kubernetes_id;
  if (!id.starts_with(kScheme)) return kubernetes_id;
  const size_t hash = std::min(id.find('#'), id.size());
  auto path = PathOf(id.substr(0, hash));
  std::string_view failed = id.substr(0, hash);
  if (path.ok() && hash < id.size()) {
    const Status fragment = Unescape(id.substr(hash + 1), Part::kOther).status();
    if (!fragment.ok()) {
      path = fragment;
      failed = id;
    }
  }
  if (!path.ok())
    return InvalidArgument("Invalid disk name ({}): parse {}: {}", id, Quoted(failed),
                           Message(path.status()));
  std::string volume = TrimSlashes(*path);
  if (!volume.starts_with("vol-") || volume.find('/') != std::string::npos)
    return InvalidArgument("Invalid format for AWS volume ({})", id);
  return volume;
}

}  // namespace splitlet::csi
