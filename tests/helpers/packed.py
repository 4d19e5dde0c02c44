"""Files by name, brought onto a disk in the ways people have them."""

import gzip
import hashlib
import io
import tarfile
import zipfile


def known(contents):
    """Sizes and checksums of `contents`, as the readers have those of the originals."""
    return {
        name: (len(content), hashlib.sha256(content).hexdigest())
        for name, content in contents.items()
    }


def put(folder, contents):
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def named(contents, change):
    return {change(name): content for name, content in contents.items()}


def gzipped(contents, level=6, end=".gz"):
    return {f"{name}{end}": gzip.compress(c, level) for name, c in contents.items()}


def zipped(contents, name="archive.zip", method=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for inner, content in contents.items():
            archive.writestr(inner, content)
    return {name: file.getvalue()}


def tarred(contents, name="all.tar.gz", mode="w:gz"):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:
        for inner, content in contents.items():
            info = tarfile.TarInfo(inner)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return {name: file.getvalue()}
