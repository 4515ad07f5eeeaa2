#pragma once

/// Names of subjects, owners and keys.
/// Threads: pure functions, any; nothing fails.

#include <string>
#include <string_view>

namespace splitlet::bus {

/// Key of the record about the node itself, in tables of pods.
inline constexpr const char* kNodeKey = "node";

/// "splitlet.<hex hash of node>.<rest>".
std::string Subject(std::string_view node, std::string_view rest);

/// Owner of each table, for makers of views and the check of producers: {"desired",
/// "config-source"}, ...
std::string OwnerOf(std::string_view table);

/// [A-Za-z0-9-], 1 to 64 characters, so that a key may be part of a path.
bool IsKey(std::string_view text);

/// A UID that is a valid key; any other text becomes its hex hash.
std::string KeyOf(std::string_view uid);

}  // namespace splitlet::bus
