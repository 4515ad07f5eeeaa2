#pragma once

/// How subjects, owners and keys are called.
/// Threads: pure functions, any; nothing fails.

#include <string>
#include <string_view>

namespace splitlet::bus {

/// Of the record about the node itself, in tables that have pods else.
inline constexpr const char* kNodeKey = "node";

/// "splitlet.<hex hash of node>.<rest>".
std::string Subject(std::string_view node, std::string_view rest);

/// Owner of each table, for view authors and the producer check: {"desired","config-source"}, ...
std::string OwnerOf(std::string_view table);

/// [A-Za-z0-9-], 1 to 64 characters: what may be a key, and part of a path.
bool IsKey(std::string_view text);

/// UIDs that are keys stay as they are, anything else becomes its hex hash.
std::string KeyOf(std::string_view uid);

}  // namespace splitlet::bus
