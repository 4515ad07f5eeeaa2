#include "libs/fs/path.h"

#include <gtest/gtest.h>

namespace splitlet::fs {
namespace {

TEST(Path, ParentAndName) {
  const struct {
    const char *path, *parent, *name;
  } kCases[] = {
      {"/a/b", "/a", "b"}, {"/a", "/", "a"}, {"/", "/", ""}, {"/a/b/", "/a", "b"}, {"a", ".", "a"}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.path);
    EXPECT_EQ(ParentOf(c.path), c.parent);
    EXPECT_EQ(NameOf(c.path), c.name);
  }
  EXPECT_EQ(NewContentPath("/a/b"), "/a/.b.new");
  EXPECT_EQ(NameOfNewContent(".b.new"), "b");
  for (const char* other : {"b", "b.new", ".b", ".new", "..new.", ""})
    EXPECT_EQ(NameOfNewContent(other), "") << other;
}

TEST(Path, WhatIsBelowARoot) {
  const struct {
    const char* path;
    bool below;
  } kCases[] = {{"/logs/a", true},
                {"/logs/a/b.log", true},
                {"/logs//a", true},
                {"/logs/..a", true},
                {"/logs/a/.../b", true},
                {"/logs", false},
                {"/logs/", false},
                {"/logs/.", false},
                {"/logs2/a", false},
                {"/log", false},
                {"", false},
                {"logs/a", false},
                {"/logs/../etc/x", false},
                {"/logs/../../etc/x", false},
                {"/logs/a/..", false},
                {"/logs/a/../../x", false},
                {"/etc/logs/a", false}};
  for (const auto& c : kCases) EXPECT_EQ(IsBelow(c.path, "/logs"), c.below) << c.path;
}

}  // namespace
}  // namespace splitlet::fs
