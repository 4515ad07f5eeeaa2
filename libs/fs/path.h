#pragma once

/// Paths as text: absolute, with '/' between names. Any thread; nothing fails.

#include <string>
#include <string_view>

namespace splitlet::fs {

/// "/a/b" for "/a/b/c", "/" for "/a" and "/".
inline std::string ParentOf(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

/// "c" for "/a/b/c" and "/a/b/c/"; "" for "/".
inline std::string NameOf(std::string_view path) {
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

/// The name beside `path` under which new content is written before it is renamed; starts with a
/// dot.
inline std::string NewContentPath(const std::string& path) {
  const std::string parent = ParentOf(path);
  return parent + (parent == "/" ? "" : "/") + "." + NameOf(path) + ".new";
}

}  // namespace splitlet::fs
