#!/usr/bin/env python3
"""The parts of others in a build's program and Python extension, as an SBOM in CycloneDX.

    tools/sbom.py BUILD_FOLDER            prints a line a part: name, version, licence
    tools/sbom.py BUILD_FOLDER FILE       writes FILE; needs cyclonedx-python-lib (tools/sbom.sh)

A part is a Debian package, or a Python package, whose headers the compiler read or whose library
the linker took. THIRD_PARTY.md has the same parts. The machine must have what it was built with.
"""

import importlib.metadata
import os
import re
import subprocess
import sys
from typing import NamedTuple

# Debian's source package: (name in THIRD_PARTY.md, or None for parts of the system, SPDX licence).
PARTS = {
    "highway": ("Highway", "Apache-2.0 OR BSD-3-Clause"),
    "librandom123": ("Random123", "BSD-3-Clause"),
    "fmtlib": ("fmt", "MIT"),
    "nlohmann-json3": ("JSON for Modern C++", "MIT"),
    "tomlplusplus": ("toml++", "MIT"),
    "cli11": ("CLI11", "BSD-3-Clause"),
    "xxhash": ("xxHash", "BSD-2-Clause"),
    "sqlite3": ("SQLite", "blessing"),
    "node-chart.js": ("Chart.js", "MIT"),
    "nanobind": ("nanobind", "BSD-3-Clause"),
    "glibc": (None, "LGPL-2.1-or-later"),
    "gcc-12": (None, "GPL-3.0-or-later WITH GCC-exception-3.1"),
    "openmpi": (None, "BSD-3-Clause"),
}
UNLINKED = {"linux", "python3.11", "python3.12", "python3.13"}  # headers of interfaces alone
# Parts inside others, which no package tells.
INSIDE = {
    "Chart.js": [("@kurkle/color", "MIT")],
    "nanobind": [("robin-map", "MIT")],
}


class Part(NamedTuple):
    name: str
    version: str
    licence: str
    url: tuple = ()  # type and names of its package URL; none: it is inside another part

    def is_of_system(self):
        return bool(self.url) and PARTS[self.url[-1]][0] is None


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout


def files_read(build):
    """Files outside the repository that objects of library, program and extension read."""
    files, wanted = set(), False
    for line in output_of("ninja", "-C", build, "-t", "deps").splitlines():
        if line and not line.startswith(" "):
            wanted = not re.match(r"(tests|bench|examples|cuda)/", line)
        elif wanted and line.startswith("    /"):
            files.add(os.path.realpath(line.strip()))
    with open(os.path.join(build, "CMakeCache.txt")) as cache:
        chart = re.search(r"^BROADLOOM_CHART_JS:\w+=(.+)$", cache.read(), re.M)
    if chart:
        files.add(os.path.realpath(chart[1]))
    return files


def programs(build):
    paths = [os.path.join(build, "cli/broadloom")]
    folder = os.path.join(build, "python/broadloom")
    if os.path.isdir(folder):
        paths += [os.path.join(folder, n) for n in os.listdir(folder) if n.startswith("_core.")]
    return [path for path in paths if os.path.exists(path) and not path.endswith(".pyi")]


def libraries(build):
    """Libraries that the program and the extension name themselves."""
    found = set()
    for program in programs(build):
        named = re.findall(r"NEEDED +(\S+)", output_of("objdump", "-p", program))
        for name, path in re.findall(r"(\S+) => (/\S+)", output_of("ldd", program)):
            if name in named:
                found.add(os.path.realpath(path))
    return found


def debian_packages(files):
    """{source package: version} of those files; others are left out."""
    lines = output_of("dpkg", "-S", *sorted(files)).splitlines()
    names = {name for line in lines for name in line.split(": ")[0].split(", ")}
    shown = output_of("dpkg-query", "-W", "-f=${source:Package} ${source:Version}\n", *names)
    return dict(line.split() for line in shown.splitlines())


def parts_of(build):
    files = files_read(build) | libraries(build)
    if not files:
        sys.exit(f"sbom.py: '{build}' is no build by Ninja, or has built nothing")
    sources = debian_packages(files)
    if any("/nanobind/" in path for path in files):
        sources["nanobind"] = python_version("nanobind", files)
    parts = []
    for source, version in sorted(sources.items()):
        if source in UNLINKED:
            continue
        if source not in PARTS:
            sys.exit(
                f"sbom.py: the build reads files of '{source}' {version}; add it to PARTS and "
                "to THIRD_PARTY.md"
            )
        name, licence = PARTS[source]
        url = ("pypi", source) if source == "nanobind" else ("deb", "debian", source)
        parts.append(Part(name or source, version, licence, url))
        for inner, inner_licence in INSIDE.get(name, []):
            parts.append(Part(inner, f"in {name} {version}", inner_licence))
    return parts


def python_version(package, files):
    """The version of the package that these files are of, wherever it is installed."""
    marker = f"/{package}/"
    folder = next(path.split(marker)[0] for path in files if marker in path)
    for found in importlib.metadata.distributions(name=package, path=[folder]):
        return found.version
    return "unknown"


def write(parts, path):
    from cyclonedx.contrib.license.factories import LicenseFactory
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.output import make_outputter
    from cyclonedx.schema import OutputFormat, SchemaVersion
    from packageurl import PackageURL

    def component(part, kind):
        url = part.url and PackageURL(
            type=part.url[0],
            namespace="/".join(part.url[1:-1]) or None,
            name=part.url[-1],
            version=part.version,
        )
        return Component(
            name=part.name,
            version=part.version,
            type=kind,
            purl=url or None,
            licenses=[LicenseFactory().make_from_string(part.licence)],
        )

    bom = Bom()
    revision = output_of("git", "describe", "--always", "--dirty").strip()
    program = component(Part("broadloom", revision, "Apache-2.0"), ComponentType.APPLICATION)
    bom.metadata.component = program
    components = [component(part, ComponentType.LIBRARY) for part in parts]
    bom.components.update(components)
    bom.register_dependency(program, components)
    outputter = make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6)
    outputter.output_to_file(path, allow_overwrite=True, indent=2)
    print(f"{path}: {len(parts)} parts")


def main(arguments):
    if len(arguments) not in (1, 2):
        sys.exit(__doc__)
    parts = parts_of(arguments[0])
    if len(arguments) == 2:
        write(parts, arguments[1])
    else:
        for part in parts:
            print(f"{part.name}\t{part.version}\t{part.licence}")


if __name__ == "__main__":
    main(sys.argv[1:])
