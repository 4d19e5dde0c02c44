"""Write an sdist again so that it depends on its files alone: same_sdist.py SDIST SECONDS

What a build leaves in it besides, the owner and the rights of each file and the times of files and
of the build, differs between two clones of one commit. SECONDS since 1970 stands for all times.
"""

import gzip
import io
import sys
import tarfile
from pathlib import Path


def main(path: Path, seconds: int) -> None:
    """Replace the archive."""
    content = io.BytesIO()
    with (
        tarfile.open(path) as built,
        gzip.GzipFile("", "wb", fileobj=content, mtime=seconds) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as same,
    ):
        for entry in sorted(built.getmembers(), key=lambda member: member.name):
            plain = tarfile.TarInfo(entry.name)
            plain.type, plain.size, plain.mtime = entry.type, entry.size, seconds
            plain.mode = 0o755 if entry.isdir() else 0o644
            same.addfile(plain, built.extractfile(entry))
    path.write_bytes(content.getvalue())


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
