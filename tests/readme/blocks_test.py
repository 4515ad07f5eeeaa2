#!/usr/bin/env python3
"""Tests of blocks.py, also on the pages of this tree."""

import unittest

import blocks

PAGE = """text
<!-- run: local -->
```
one   # said of it
# only said

two
```

```yaml
not: a command
```
```
nobody says
```
<!-- not run: it takes a day -->

```
three
```
<!-- run: elsewhere -->
```
four
```
<!-- not run: no -->
```
five
```
"""


class Blocks(unittest.TestCase):
    def test_commands_of_a_group(self):
        self.assertEqual(list(blocks.commands("local", PAGE)), ["one   # said of it", "two"])
        self.assertEqual(list(blocks.commands("elsewhere,local", PAGE)), ["one   # said of it", "two", "four"])

    def test_what_is_not_marked_is_named_with_its_line(self):
        found = list(blocks.problems("page.md", PAGE))
        self.assertEqual([line.split(": ")[0] for line in found], ["page.md:13", "page.md:22", "page.md:26"])

    def test_the_pages_of_the_tree(self):
        self.assertGreater(len(blocks.pages()), 5)
        self.assertEqual(blocks.check(), 0)


if __name__ == "__main__":
    unittest.main()
