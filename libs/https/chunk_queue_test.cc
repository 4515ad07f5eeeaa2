#include "libs/https/chunk_queue.h"

#include <gtest/gtest.h>

namespace splitlet::https {
namespace {

/// The bytes as a client gets them.
std::string ChunkOf(ChunkQueue& queue, std::string& buffer, bool last = false) {
  EXPECT_EQ(queue.Take(buffer), last);
  if (buffer.empty()) return "";
  const size_t begin = ChunkQueue::MakeChunk(buffer);
  return buffer.substr(begin);
}

TEST(ChunkQueue, WhatWasWrittenUntilThenIsOneChunk) {
  ChunkQueue queue;
  std::string buffer = "of an earlier answer";
  EXPECT_EQ(ChunkOf(queue, buffer), "") << "nothing waits";
  EXPECT_EQ(queue.Add("one\n", false), ChunkQueue::Put::kWakes);
  EXPECT_EQ(queue.Add("", false), ChunkQueue::Put::kQueued) << "an empty chunk would be the end";
  EXPECT_EQ(queue.Add("two\n", false), ChunkQueue::Put::kQueued) << "it knows already";
  EXPECT_EQ(ChunkOf(queue, buffer), "8\r\none\ntwo\n\r\n");
  EXPECT_EQ(queue.Add(std::string(300, 'x'), false), ChunkQueue::Put::kWakes);
  EXPECT_EQ(ChunkOf(queue, buffer), "12c\r\n" + std::string(300, 'x') + "\r\n");
  EXPECT_EQ(queue.Add("", true), ChunkQueue::Put::kWakes);
  EXPECT_EQ(queue.Add("late", false), ChunkQueue::Put::kGone);
  EXPECT_EQ(ChunkOf(queue, buffer, /*last=*/true), "");
}

TEST(ChunkQueue, ALongStreamMakesNoMemoryAnew) {
  ChunkQueue queue;
  std::string buffer;
  const std::string piece(32 << 10, 'x');
  queue.Add(piece, false);
  queue.Take(buffer);
  queue.Add(piece, false);
  queue.Take(buffer);
  const void* const second = buffer.data();
  queue.Add(piece, false);
  queue.Take(buffer);
  queue.Add(piece, false);
  queue.Take(buffer);
  EXPECT_EQ(buffer.data(), second) << "two buffers change hands";
}

TEST(ChunkQueue, WhoeverWritesIsHeldUpNoLongerThanTheClientIsThere) {
  ChunkQueue queue;
  queue.Add("some", false);
  queue.SetGone();
  EXPECT_FALSE(queue.WaitForRoom(1));
  EXPECT_TRUE(queue.gone());
  EXPECT_EQ(queue.Add("x", false), ChunkQueue::Put::kGone);
}

}  // namespace
}  // namespace splitlet::https
