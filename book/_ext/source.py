"""The project itself as a file of the book: who has the book has the code and every record."""

from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
NAME = "pamal_companion"
FOLDERS = (
    *("book", "notebooks", "pamal_core", "pamal_companion", "tests", "results", "workflow"),
    *("benchmarks", ".ci", ".github"),
)
FILES = (
    *("*.md", "_*.yml", "environment.yml", "pyproject.toml", "constraints.txt", "CITATION.cff"),
    *("LICENSE", "MANIFEST.in", "Makefile", ".gitattributes", ".gitignore"),
    ".pre-commit-config.yaml",
)
CODE = {".py", ".pyi", ".ipynb", ".js", ".css", ".toml", ".yml", ".yaml"}
KINDS = CODE | {".md", ".bib", ".png", ".svg", ".csv", ".json", ".txt"}
NAMES = {"Snakefile", "run", "HASHES", "py.typed"}
MADE = {"__pycache__", "fresh", ".snakemake", ".ipynb_checkpoints"}


def sources() -> list[Path]:
    """Return the files of the project, without what is made from them."""
    top = (path for pattern in FILES for path in ROOT.glob(pattern))
    inside = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))
    known = (path for path in inside if path.suffix in KINDS or path.name in NAMES)
    given = (path for path in known if not MADE & {*path.relative_to(ROOT).parts})
    return sorted([*top, *(path for path in given if path.is_file())])


def put_source_in(app: Sphinx, exception: Exception | None) -> None:
    """Write `NAME`.zip beside the first page."""
    if exception is None and app.builder.format == "html":
        with ZipFile(Path(app.outdir, f"{NAME}.zip"), "w", ZIP_DEFLATED) as archive:
            for path in sources():
                archive.write(path, Path(NAME, path.relative_to(ROOT)))
