#pragma once

/// Paths as text: absolute, with '/' between names. Any thread; nothing fails.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace splitlet::fs {

/// Returns "/a/b" for "/a/b/c", "/" for "/a" and "/".
inline std::string ParentOf(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

/// Returns "c" for "/a/b/c" and "/a/b/c/"; "" for "/".
inline std::string NameOf(std::string_view path) {
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

/// Returns {"b", "c"} for "b/c", "/b//c" and "./b/c/"; ".." is an ordinary name.
inline std::vector<std::string> NamesOf(std::string_view path) {
  std::vector<std::string> names;
  while (!path.empty()) {
    const size_t end = path.find('/');
    const std::string_view name = path.substr(0, end);
    if (!name.empty() && name != ".") names.emplace_back(name);
    path.remove_prefix(end == std::string_view::npos ? path.size() : end + 1);
  }
  return names;
}

/// Whether `path` names something below the folder `root`, as text: a path with ".." after the root
/// does not. `root` has no slash at its end.
inline bool IsBelow(std::string_view path, std::string_view root) {
  if (!path.starts_with(root) || !path.substr(root.size()).starts_with('/')) return false;
  const auto names = NamesOf(path.substr(root.size()));
  return !names.empty() && std::ranges::find(names, "..") == names.end();
}

/// The temporary name, in the same folder, for new content before it is renamed; starts with a dot.
inline std::string NewContentPath(const std::string& path) {
  const std::string parent = ParentOf(path);
  return parent + (parent == "/" ? "" : "/") + "." + NameOf(path) + ".new";
}

/// The reverse of NewContentPath: "b" for ".b.new"; "" for any other name.
inline std::string_view NameOfNewContent(std::string_view name) {
  constexpr std::string_view kDot = ".", kNew = ".new";
  if (!name.starts_with(kDot) || !name.ends_with(kNew)) return "";
  if (name.size() <= kDot.size() + kNew.size()) return "";
  return name.substr(kDot.size(), name.size() - kDot.size() - kNew.size());
}

}  // namespace splitlet::fs
