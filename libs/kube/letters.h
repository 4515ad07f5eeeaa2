#pragma once

/// Classes of ASCII characters, whatever the locale. Any thread; nothing fails.

namespace splitlet::kube {

inline bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
inline bool IsLetter(char c) { return IsLower(c) || (c >= 'A' && c <= 'Z'); }
inline bool IsLowerAlnum(char c) { return IsLower(c) || IsDigit(c); }
inline bool IsAlnum(char c) { return IsLetter(c) || IsDigit(c); }

}  // namespace splitlet::kube
