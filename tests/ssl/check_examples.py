#!/usr/bin/env python3
"""Runs the examples of a page: check_examples.py PAGE SSL_TEST SSLC COUNT.

Each ```ssl block is a file of ssl-test, which says itself what must come out; one marked `reject CODE` must be refused with
that code. COUNT is the number of examples, so that none is lost."""

import pathlib
import re
import subprocess
import sys
import tempfile


def main():
    page, ssl_test, sslc, count = sys.argv[1:]
    examples = re.findall(r"^```ssl(?: reject (S\d{4}))?\n(.*?)^```", pathlib.Path(page).read_text(), re.MULTILINE | re.DOTALL)
    if len(examples) != int(count):
        sys.exit(f"{page}: {len(examples)} examples, expected {count}")
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (code, text) in enumerate(examples):
            path = pathlib.Path(folder) / f"example_{number + 1}.ssl"
            path.write_text(text)
            command = [sslc, "check", str(path)] if code else [ssl_test, str(path)]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            output = run.stdout + run.stderr
            if (run.returncode == 0) == bool(code) or (code and f"[{code}]" not in output):
                print(output)
                failures += 1
    sys.exit(1 if failures else 0)


main()
