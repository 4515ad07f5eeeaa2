#include "libs/spdy/header_block.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "libs/spdy/dictionary.h"
#include "libs/spdy/frames.h"

namespace splitlet::spdy {
namespace {

constexpr size_t kLengthBytes = 4;

/// zlib declares its input without const, but does not change it.
Bytef* Bytes(std::string_view bytes) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
}

void AppendText(std::string& to, std::string_view text) {
  AppendNumber(to, static_cast<uint32_t>(text.size()));
  to.append(text);
}

/// Cuts a number off the front of `from`.
StatusOr<std::string> TakeText(std::string_view& from) {
  if (from.size() < kLengthBytes) return InvalidArgument("headers are truncated");
  const size_t size = NumberAt(from);
  from.remove_prefix(kLengthBytes);
  if (from.size() < size) return InvalidArgument("headers are truncated");
  std::string text(from.substr(0, size));
  from.remove_prefix(size);
  return text;
}

StatusOr<Headers> ParseHeaders(std::string_view plain) {
  if (plain.size() < kLengthBytes) return InvalidArgument("headers are truncated");
  const uint32_t count = NumberAt(plain);
  plain.remove_prefix(kLengthBytes);
  Headers headers;
  for (uint32_t i = 0; i < count; ++i) {  // each header needs at least eight bytes of `plain`
    auto name = TakeText(plain);
    if (!name.ok()) return name.status();
    auto value = TakeText(plain);
    if (!value.ok()) return value.status();
    if (name->empty()) return InvalidArgument("a header without a name");
    headers.emplace_back(*std::move(name), *std::move(value));
  }
  if (!plain.empty()) return InvalidArgument("{} bytes after the headers", plain.size());
  return headers;
}

}  // namespace

HeaderWriter::HeaderWriter() : zlib_(std::make_unique<z_stream>()) {
  const std::string& dictionary = HeaderDictionary();
  CHECK(deflateInit(zlib_.get(), Z_BEST_COMPRESSION) == Z_OK);
  CHECK(deflateSetDictionary(zlib_.get(), Bytes(dictionary),
                             static_cast<uInt>(dictionary.size())) == Z_OK);
}

HeaderWriter::~HeaderWriter() { static_cast<void>(deflateEnd(zlib_.get())); }

std::string HeaderWriter::Write(const Headers& headers) {
  std::string plain;
  AppendNumber(plain, static_cast<uint32_t>(headers.size()));
  for (const auto& [name, value] : headers) {
    AppendText(plain, name);
    AppendText(plain, value);
  }
  std::string block;
  std::array<char, 1024> chunk;
  zlib_->next_in = Bytes(plain);
  zlib_->avail_in = static_cast<uInt>(plain.size());
  do {
    zlib_->next_out = reinterpret_cast<Bytef*>(chunk.data());
    zlib_->avail_out = static_cast<uInt>(chunk.size());
    const int result = deflate(zlib_.get(), Z_SYNC_FLUSH);
    CHECK(result == Z_OK || result == Z_BUF_ERROR, "zlib: {}", result);
    block.append(chunk.data(), chunk.size() - zlib_->avail_out);
  } while (zlib_->avail_out == 0);
  return block;
}

HeaderReader::HeaderReader() : zlib_(std::make_unique<z_stream>()) {
  CHECK(inflateInit(zlib_.get()) == Z_OK);
}

HeaderReader::~HeaderReader() { static_cast<void>(inflateEnd(zlib_.get())); }

StatusOr<Headers> HeaderReader::Read(std::string_view block) {
  const auto plain = Unpack(block);
  if (!plain.ok()) return plain.status();
  return ParseHeaders(*plain);
}

StatusOr<std::string> HeaderReader::Unpack(std::string_view block) {
  std::string plain;
  std::array<char, 4096> chunk;
  zlib_->next_in = Bytes(block);
  zlib_->avail_in = static_cast<uInt>(block.size());
  do {
    zlib_->next_out = reinterpret_cast<Bytef*>(chunk.data());
    zlib_->avail_out = static_cast<uInt>(chunk.size());
    int result = inflate(zlib_.get(), Z_SYNC_FLUSH);
    if (result == Z_NEED_DICT) {
      const std::string& dictionary = HeaderDictionary();
      result = inflateSetDictionary(zlib_.get(), Bytes(dictionary),
                                    static_cast<uInt>(dictionary.size()));
      if (result != Z_OK) return InvalidArgument("headers are compressed with another dictionary");
      result = inflate(zlib_.get(), Z_SYNC_FLUSH);
    }
    if (result != Z_OK && result != Z_BUF_ERROR)
      return InvalidArgument("cannot decompress headers: zlib error {}", result);
    plain.append(chunk.data(), chunk.size() - zlib_->avail_out);
    if (plain.size() > kMaxHeaderBytes)
      return ResourceExhausted("headers of more than {} bytes", kMaxHeaderBytes);
  } while (zlib_->avail_out == 0);
  return plain;
}

}  // namespace splitlet::spdy
