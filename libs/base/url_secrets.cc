#include "libs/base/url_secrets.h"

namespace splitlet {
namespace {

constexpr std::string_view kHidden = "xxxxx";

}  // namespace

std::string WithoutSecrets(std::string_view url) {
  const size_t scheme = url.find("://");
  const size_t begin = scheme == std::string_view::npos ? 0 : scheme + 3;
  std::string text(url.substr(0, begin));
  url =
      url.substr(begin, url.find('#') == std::string_view::npos ? url.npos : url.find('#') - begin);
  const size_t at = url.substr(0, url.find_first_of("/?")).rfind('@');
  if (at != std::string_view::npos) {
    text.append(kHidden);
    url.remove_prefix(at);
  }
  const size_t query = url.find('?');
  text += url.substr(0, query);
  if (query == std::string_view::npos) return text;
  url.remove_prefix(query);
  while (!url.empty()) {  // each part starts with its '?' or '&'
    const std::string_view part = url.substr(0, url.find('&', 1));
    const size_t equals = part.find('=');
    text += equals == std::string_view::npos ? part.substr(0, 1) : part.substr(0, equals + 1);
    text += kHidden;
    url.remove_prefix(part.size());
  }
  return text;
}

}  // namespace splitlet
