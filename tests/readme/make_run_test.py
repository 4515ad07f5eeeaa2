#!/usr/bin/env python3
"""`make run` hands its variables to deploy/local/run.sh, and no page gives it one that it does not have."""

import os
import re
import shlex
import subprocess
import unittest

import blocks

GIVEN = {"STATE_DIR": "/s", "MANIFESTS": "/m", "RUNTIME_ENDPOINT": "unix:///r.sock", "KUBELET_CONFIG": "/k.yaml",
         "NODE_NAME": "node-a", "KUBECONFIG": "/api/node.kubeconfig", "NODE_IP": "192.0.2.1", "DEMO": "0", "PRESET": "dev"}


def environment_of_run(**given):
    """The arguments and variables for run.sh; builds nothing and runs nothing."""
    outside = {name: value for name, value in os.environ.items() if name not in GIVEN and not name.startswith("MAKE")}
    made = subprocess.run(
        ["make", "-n", "--no-print-directory", "--old-file=build", "run", *(f"{k}={v}" for k, v in given.items())],
        cwd=blocks.TREE, env=outside | {"KUBECONFIG": "/of/kubectl"}, capture_output=True, text=True, check=True)
    *variables, program = shlex.split(made.stdout)
    return program, dict(word.split("=", 1) for word in variables)


class MakeRun(unittest.TestCase):
    def test_each_variable_reaches_the_script(self):
        want = {"NODE_KUBECONFIG" if name == "KUBECONFIG" else name: value for name, value in GIVEN.items()}
        self.assertEqual(environment_of_run(**GIVEN), ("deploy/local/run.sh", want))

    def test_the_kubeconfig_of_kubectl_makes_no_node(self):
        _, variables = environment_of_run()
        self.assertEqual(variables["NODE_KUBECONFIG"], "")
        self.assertEqual(variables["DEMO"], "1")

    def test_the_pages_name_variables_that_there_are(self):
        typed = [line for page in blocks.pages() for line in re.findall(r"make run((?: [A-Z_]+=[^ `\n]+)+)", page.read_text())]
        self.assertGreater(len(typed), 1)
        for line in typed:
            self.assertLessEqual({word.split("=")[0] for word in line.split()}, set(GIVEN), line)


if __name__ == "__main__":
    unittest.main()
