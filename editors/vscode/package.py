"""Packs the extension: `package.py SORTIE OUTPUT.vsix`. Expects the npm packages in node_modules. The same input gives the same bytes."""

import json
import pathlib
import subprocess
import sys
import zipfile
from xml.sax.saxutils import escape, quoteattr

HERE = pathlib.Path(__file__).parent
SCHEMAS = ["document", "evaluator", "pattern", "fixtures", "suite", "settings"]
OWN = ["package.json", "extension.js", "README.md", "LICENSE", "syntaxes/*.json"]

TYPES = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension=".json" ContentType="application/json"/><Default Extension=".js" ContentType="application/javascript"/><Default Extension=".md" ContentType="text/markdown"/><Default Extension=".vsixmanifest" ContentType="text/xml"/></Types>
"""


def manifest(package):
    identity = f'Language="en-US" Id={quoteattr(package["name"])} Version={quoteattr(package["version"])} Publisher={quoteattr(package["publisher"])}'
    return f"""<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity {identity}/>
    <DisplayName>{escape(package["displayName"])}</DisplayName>
    <Description xml:space="preserve">{escape(package["description"])}</Description>
    <Categories>{escape(",".join(package["categories"]))}</Categories>
    <License>extension/LICENSE</License>
    <Properties><Property Id="Microsoft.VisualStudio.Code.Engine" Value={quoteattr(package["engines"]["vscode"])}/></Properties>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE" Addressable="true"/>
  </Assets>
</PackageManifest>
"""


def files(sortie):
    package = json.loads((HERE / "package.json").read_text())
    yield "extension.vsixmanifest", manifest(package).encode()
    yield "[Content_Types].xml", TYPES.encode()
    for pattern in OWN:
        for path in sorted(HERE.glob(pattern)):
            yield f"extension/{path.relative_to(HERE).as_posix()}", path.read_bytes()
    for name in SCHEMAS:
        schema = subprocess.run([sortie, "schema", name], check=True, capture_output=True).stdout
        yield f"extension/schemas/{name}.schema.json", schema
    modules = HERE / "node_modules"
    if not (modules / "vscode-languageclient").is_dir():
        sys.exit("node_modules is missing: `cargo xtask vscode` installs it")
    for path in sorted(modules.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(modules).parts)
        if path.is_file() and not hidden and path.suffix in (".js", ".json", ".md", ".txt", ""):
            yield f"extension/{path.relative_to(HERE).as_posix()}", path.read_bytes()


def main(sortie, output):
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files(sortie):
            # No date and no user: the archive says what is in it, not when it was made.
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)


if __name__ == "__main__":
    main(*sys.argv[1:])
