"""The software bill of materials of this environment, as CycloneDX 1.5: what `pip install sumwise` brings, by name,
version and licence, without times or paths, so that the same packages give the same file."""

from __future__ import annotations

import json
import re
import sys
from importlib import metadata

ROOT = "sumwise"


def requirements(name: str) -> set[str]:
    """Names of the installed packages that one needs, extras apart."""
    needed = set()
    for line in metadata.requires(name) or ():
        text, _, marker = line.partition(";")
        found = re.match(r"[A-Za-z0-9._-]+", text.strip())
        if found and "extra" not in marker:
            needed.add(found[0])
    return {n for n in needed if installed(n)}


def installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def licence(facts: metadata.PackageMetadata) -> str:
    classifiers = [c.rpartition(" :: ")[2] for c in facts.get_all("Classifier") or () if c.startswith("License ::")]
    text = facts.get("License-Expression") or next(iter(classifiers), None) or facts.get("License") or "unknown"
    return text.splitlines()[0][:100] if text else "unknown"


def component(name: str) -> dict:
    facts = metadata.metadata(name)
    own, version = facts["Name"], facts["Version"]
    link = f"pkg:pypi/{re.sub(r'[-_.]+', '-', own).lower()}@{version}"
    return {
        "type": "library",
        "bom-ref": link,
        "name": own,
        "version": version,
        "purl": link,
        "licenses": [{"license": {"name": licence(facts)}}],
    }


def main() -> None:
    tree: dict[str, set[str]] = {}
    waiting = [ROOT]
    while waiting:
        name = waiting.pop()
        if name not in tree:
            tree[name] = requirements(name)
            waiting += tree[name]
    parts = {name: component(name) for name in tree}
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {**parts[ROOT], "type": "application"}},
        "components": sorted((p for n, p in parts.items() if n != ROOT), key=lambda p: p["purl"]),
        "dependencies": sorted(
            (
                {"ref": parts[n]["bom-ref"], "dependsOn": sorted(parts[m]["bom-ref"] for m in needed)}
                for n, needed in tree.items()
            ),
            key=lambda d: d["ref"],
        ),
    }
    json.dump(document, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
