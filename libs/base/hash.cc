#include "libs/base/hash.h"

#include <fmt/format.h>

namespace splitlet {

uint64_t Fnv1a64(std::string_view text) {
  uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

uint32_t Fnv1a32(std::string_view text) {
  uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

std::string HexHash(std::string_view text) { return fmt::format("{:016x}", Fnv1a64(text)); }

}  // namespace splitlet
