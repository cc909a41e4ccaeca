# SPDX-License-Identifier: Apache-2.0
"""Downloads the source archive of a package, without building it, from the index that pip uses:
python get_source.py NAME VERSION SHA256 OUT.

The index follows PEP 691: `{index}/{name}/` in JSON.
"""

import json
import os
import subprocess
import sys
import urllib.request
from hashlib import sha256
from pathlib import Path
from urllib.parse import urljoin

JSON = "application/vnd.pypi.simple.v1+json"


def index() -> str:
    if given := os.environ.get("PIP_INDEX_URL"):
        return given.rstrip("/") + "/"
    asked = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    index = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    return (index or "https://pypi.org/simple").rstrip("/") + "/"


def main(name: str, version: str, digest: str, out: str) -> None:
    page = urllib.request.Request(urljoin(index(), f"{name}/"), headers={"Accept": JSON})
    with urllib.request.urlopen(page, timeout=60) as answer:
        files, base = json.load(answer)["files"], answer.url
    (wanted,) = (file["url"] for file in files if file["filename"] == f"{name}-{version}.tar.gz")
    with urllib.request.urlopen(urljoin(base, wanted), timeout=600) as answer:
        content = answer.read()
    if (found := sha256(content).hexdigest()) != digest:
        sys.exit(f"{name} {version}: the index gave an archive with the digest {found}, and {digest} is wanted")
    Path(out).write_bytes(content)


if __name__ == "__main__":
    main(*sys.argv[1:])
