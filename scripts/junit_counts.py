"""Prints how many test cases of the given JUnit reports passed and how many did not."""
import sys
import xml.etree.ElementTree as ElementTree

passed = failed = 0
for path in sys.argv[1:]:
    try:
        cases = list(ElementTree.parse(path).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        continue
    for case in cases:
        if any(case.find(kind) is not None for kind in ("failure", "error", "skipped")):
            failed += 1
        else:
            passed += 1
print(passed, failed)
