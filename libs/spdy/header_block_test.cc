#include "libs/spdy/header_block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "libs/spdy/dictionary.h"
#include "libs/spdy/frames.h"

namespace splitlet::spdy {
namespace {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace): bytes with a NUL

TEST(SpdyHeaders, TheDictionaryIsTheProtocols) {
  const std::string& dictionary = HeaderDictionary();
  EXPECT_EQ(dictionary.size(), 1423u);
  const uLong sum = adler32(1, reinterpret_cast<const Bytef*>(dictionary.data()),
                            static_cast<uInt>(dictionary.size()));
  EXPECT_EQ(sum, 0xe3c6a7c2u) << "each zlib stream of SPDY/3 names it so";
}

TEST(SpdyHeaders, AStreamOfZlibBeginsWithTheDictionaryAndEachBlockIsFlushed) {
  HeaderWriter writer;
  const std::string first = writer.Write({{"streamtype", "stdin"}});
  EXPECT_TRUE(first.starts_with("\x78\xf9\xe3\xc6\xa7\xc2"s));
  EXPECT_TRUE(first.ends_with("\0\0\xff\xff"s));
  const std::string second = writer.Write({{"streamtype", "stdin"}});
  EXPECT_TRUE(second.ends_with("\0\0\xff\xff"s));
  EXPECT_LT(second.size(), first.size()) << "it builds on the first";
}

TEST(SpdyHeaders, WhatIsWrittenIsRead) {
  HeaderWriter writer;
  HeaderReader reader;
  const Headers cases[] = {{},
                           {{"streamtype", "error"}},
                           {{"a", ""}, {"b", std::string(40000, 'x')}},
                           {{"a",
                             "1\0"
                             "2"s}}};
  for (const Headers& headers : cases) {
    const auto read = reader.Read(writer.Write(headers));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, headers);
  }
}

/// A block of these bytes, in the form of HeaderWriter.
std::string Packed(const std::string& plain, const std::string& dictionary = HeaderDictionary()) {
  z_stream zlib{};
  EXPECT_EQ(deflateInit(&zlib, Z_BEST_COMPRESSION), Z_OK);
  const auto bytes = [](const std::string& text) {
    return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  };
  if (!dictionary.empty())
    EXPECT_EQ(deflateSetDictionary(&zlib, bytes(dictionary), static_cast<uInt>(dictionary.size())),
              Z_OK);
  std::string block(1 << 20, '\0');
  zlib.next_in = bytes(plain);
  zlib.avail_in = static_cast<uInt>(plain.size());
  zlib.next_out = bytes(block);
  zlib.avail_out = static_cast<uInt>(block.size());
  EXPECT_EQ(deflate(&zlib, Z_SYNC_FLUSH), Z_OK);
  block.resize(block.size() - zlib.avail_out);
  deflateEnd(&zlib);
  return block;
}

TEST(SpdyHeaders, ABlockThatIsNoneIsRefused) {
  const struct {
    const char* name;
    std::string block;
    StatusCode want;
  } kCases[] = {
      {"nothing", "", StatusCode::kInvalidArgument},
      {"no zlib", "hello", StatusCode::kInvalidArgument},
      {"another dictionary", Packed("\0\0\0\0"s, "other"), StatusCode::kInvalidArgument},
      {"no count", Packed("\0\0"s), StatusCode::kInvalidArgument},
      {"more than there are", Packed("\xff\xff\xff\xff"s), StatusCode::kInvalidArgument},
      {"a name that is cut",
       Packed("\0\0\0\x01\0\0\0\x05"
              "ab"s),
       StatusCode::kInvalidArgument},
      {"no name", Packed("\0\0\0\x01\0\0\0\0\0\0\0\0"s), StatusCode::kInvalidArgument},
      {"bytes behind", Packed("\0\0\0\0x"s), StatusCode::kInvalidArgument},
      {"a megabyte in a kilobyte", Packed(std::string(1 << 20, '\0')),
       StatusCode::kResourceExhausted},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    HeaderReader reader;
    EXPECT_EQ(reader.Read(c.block).status().code(), c.want);
  }
  HeaderReader reader;
  EXPECT_TRUE(reader.Read(Packed("\0\0\0\0"s, "")).ok()) << "a peer may do without";
}

}  // namespace
}  // namespace splitlet::spdy
