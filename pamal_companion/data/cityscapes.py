"""CityScapes, sections 5.3 and C1: what is in each pixel of a street scene, and how far away.

The data lie on a disk in one of several forms, and each becomes the same arrays.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float32, Int8, Num, UInt8, UInt16
from PIL import Image

from pamal_companion.data.files import LITTER, cached, entries, expect, reading, shown
from pamal_companion.data.images import DepthScaling, Images, zoom_and_flip
from pamal_companion.data.samples import streets
from pamal_companion.data.splits import Home, Splits, fingerprint, full_folder, splits
from pamal_core.errors import InputError

FULL_SIZE, SAMPLE_SIZE = (128, 256), (32, 64)
VALIDATION = 500  # of the 2,975 training scenes
SAMPLE_SCENES, SAMPLE_VALIDATION, SAMPLE_TEST = 300, 60, 60
CLASSES = ("flat", "construction", "object", "nature", "sky", "human", "vehicle")
# Labels 0 to 33 of the official table in its order: 7 void ones, then those of each category.
CLASS_OF_ID = np.repeat(np.arange(-1, 7), [7, 4, 6, 4, 2, 1, 2, 8]).astype(np.int8)
OFFICIAL = {
    "leftImg8bit": "_leftImg8bit.png",
    "gtFine": "_gtFine_labelIds.png",
    "disparity": "_disparity.png",
}
# Labels of 19 classes, the official "trainId"; the last, 19 or -1, is to be ignored.
CLASS_OF_TRAIN_ID = np.repeat([*range(7), -1], [2, 3, 3, 2, 1, 2, 6, 1]).astype(np.int8)
SPLITS = ("train", "val")
LABELS = ("label_7", "label_19", "label", "labels", "seg")
IGNORED = 255  # -1 as a byte
HEADERS = Lock()  # the header of an array is parsed, which Python may refuse two threads at once
MODES = {"RGB": "8-bit colour", "L": "8-bit grey", "I;16": "16-bit grey"}  # by Pillow's name
HOW_TO_GET = """\
The data need an account at https://www.cityscapes-dataset.com. Fetch \
leftImg8bit_trainvaltest.zip, gtFine_trainvaltest.zip and disparity_trainvaltest.zip and unpack \
them in that folder, so that it holds
    leftImg8bit/train/aachen/aachen_000000_000019_leftImg8bit.png
    gtFine/train/aachen/aachen_000000_000019_gtFine_labelIds.png
    disparity/train/aachen/aachen_000000_000019_disparity.png
and so on, the same for val; or the 128x256 version that https://github.com/lorenmt/mtan links to \
(cityscapes2.zip), so that it holds
    train/image/0.npy
    train/label_7/0.npy
    train/depth/0.npy
and so on, the same for val. Another data root is named by "data_root" or $PAMAL_DATA"""

Size = tuple[int, int]
Scenes = Sequence[np.ndarray]  # images, labels and depth of several
# The image, labels, -1 where ignored, and inverse depth, 0 where not known, of one scene.
Maps = tuple[UInt8[np.ndarray, "3 H W"], Int8[np.ndarray, "H W"], Float32[np.ndarray, "1 H W"]]


class Scene(NamedTuple):
    """The three files of one scene."""

    image: Path
    label: Path
    depth: Path


class Source(NamedTuple):
    """What was found: its form in words, the scenes of the official splits, and what reads one at a
    size, with labels that `seven_classes` makes classes of."""

    form: str
    train: list[Scene]
    val: list[Scene]
    read: Callable[[Scene, Size], Maps]


def load(
    data: str = "auto",
    root: str | Path | None = None,
    *,
    setting: Literal["I", "II"] = "II",
    augment: bool | None = None,
    depth_scaling: DepthScaling = "multiply",
    size: Size | None = None,
    validation: int | None = None,
    limit: int | None = None,
    seed: int = 0,
) -> Splits:
    """Return images float32 [n, 3, H, W] in [0, 1], classes int64 [n, H, W] and inverse depth
    float32 [n, 1, H, W].

    Classes are those of `CLASSES`, -1 where a pixel is to be ignored; inverse depth is in the unit
    of `inverse_depth`, 0 where it was not measured. The official validation scenes are for test, as
    there are no others whose labels are public. In setting "I" all 2,975 training scenes are for
    training and, as in the authors' code, the test scenes are also those for validation; in setting
    "II" `validation` of them, drawn by `seed`, are held out: 500 as in the text (475 in the code),
    of the sample 60.

    Training batches are augmented by `zoom_and_flip` with `depth_scaling` if `augment`, by default
    those of the full data (the sample is trained on for too few steps to gain from it), the others
    never.

    The full data are in `cityscapes/` under `root`, in one of the forms that `find` knows, which
    give the same tensors; the sample is drawn streets. `size` is the height and width, by default
    128 x 256, of the sample 32 x 64. Decoded scenes are kept under $PAMAL_CACHE (1 GB; the first
    time takes minutes). `limit` keeps at most so many scenes of each part.
    """
    folder = full_folder(data, root, HOME)
    is_sample = folder is None
    size = size or (SAMPLE_SIZE if is_sample else FULL_SIZE)
    if folder is None:  # the same scenes for every seed
        drawn = streets.scenes(SAMPLE_SCENES + SAMPLE_TEST, size, 0)
        train, test = zip(*(np.split(values, [SAMPLE_SCENES]) for values in drawn), strict=True)
        digest = _digest((train, test))
    else:
        train, test, digest = _full(folder, size)
    augment = not is_sample if augment is None else augment
    held_out = np.zeros(len(train[0]), bool)
    if setting == "II":
        num = validation or (SAMPLE_VALIDATION if is_sample else VALIDATION)
        left = f"`validation` to leave some of the {len(held_out)} training scenes"
        expect(num < len(held_out), left, num)
        held_out[np.random.default_rng(seed).permutation(len(held_out))[:num]] = True
    each = np.flatnonzero(~held_out), np.flatnonzero(held_out), np.arange(len(test[0]))
    rows = [some[:limit] for some in each]
    parts = [
        Images(*(torch.from_numpy(values[chosen]) for values in maps))
        for maps, chosen in zip((train, train, test), rows, strict=True)
    ]
    parts[0].augment = partial(zoom_and_flip, depth_scaling=depth_scaling) if augment else None
    if setting == "I":
        parts[1] = Images(*parts[2].tensors)  # another one, so that it is not said to come again
    content = "".join([digest, *(repr(chosen.tolist()) for chosen in rows)]).encode()
    shape = "x".join(map(str, train[1].shape[1:]))
    drawn_by = [f"seed={seed}"] if setting == "II" else []
    options = ["cityscapes", setting, *drawn_by, shape, depth_scaling if augment else "plain"]
    source = "a small sample of made-up street scenes" if is_sample else "CityScapes"
    of = f"Classes and inverse depth of pixels from {source} at {shape}"
    return splits(parts, is_sample, options, content, of)


def _full(folder: Path, size: Size) -> tuple[Scenes, Scenes, str]:
    """Return the scenes for training and for test, and a digest of them."""
    source = find(folder)
    parts = {"train": source.train, "test": source.val}
    shapes = {"image": ("u1", (3, *size)), "label": ("i1", size), "depth": ("f4", (1, *size))}
    kind = np.dtype([(name, *shape) for name, shape in shapes.items()])

    def decoded(scenes: Sequence[Scene]) -> np.ndarray:
        with ThreadPoolExecutor() as pool:  # unpacking takes long, and leaves Python's lock alone
            found = pool.map(lambda scene: source.read(scene, size), scenes)
            return np.fromiter(found, kind, len(scenes))

    def make() -> dict[str, np.ndarray]:
        arrays = {part: decoded(scenes) for part, scenes in parts.items()}
        seven_classes([array["label"] for array in arrays.values()])
        digest = _digest([array[name] for name in shapes] for array in arrays.values())
        return arrays | {"digest": np.array(digest)}

    found = hashlib.sha256()  # changes when a file is added, taken away or written again
    for path in (path for scene in source.train + source.val for path in scene):
        status = path.stat()
        name = path.relative_to(folder).as_posix()
        found.update(repr((name, status.st_size, status.st_mtime_ns)).encode())
    identity = f"{found.hexdigest()} at {size}, decoded in way 2"  # count up when it changes
    arrays = cached("cityscapes", identity, make)
    train, test = ([arrays[part][name] for name in shapes] for part in parts)
    return train, test, str(arrays["digest"])


def _digest(parts: Iterable[Scenes]) -> str:
    """Return a SHA-256 over all pixels; depth in the steps of the files, because the last bits of
    drawn depth may depend on the processor."""
    return "".join(
        fingerprint(images, labels, np.rint(depth * 65535).astype("<u4"))
        for images, labels, depth in parts
    )


def find(folder: Path) -> Source:
    """Return the scenes in `folder` or up to two folders deeper: `train` and `val` with images,
    labels and depth, as MTAN's arrays, their copy on Kaggle with labels of 19 classes, or the PNG
    files of Auto-lambda; else the official trees, with all cities or some.

    Scenes are in the order of their numbers or, cities in order, of their names. Raises InputError
    where `folder` holds no form, a split is empty or one of three files is missing.
    """
    below = [path for path in entries(folder) if path.is_dir()]
    bases = [folder, *below, *(p for one in below for p in entries(one) if p.is_dir())]
    trees = [[base / part for base in bases if (base / part).is_dir()] for part in OFFICIAL]
    split = [base for base in bases if any((base / name).is_dir() for name in SPLITS)]
    if folder not in split and any(trees):
        form, read = "the official files", read_official
        each = [where[0] if where else folder / p for p, where in zip(OFFICIAL, trees, strict=True)]
        places = [
            [(tree / s, end) for tree, end in zip(each, OFFICIAL.values(), strict=True)]
            for s in SPLITS
        ]
    else:
        expect(split, f"CityScapes in {folder}", f"{shown(folder)}. {HOW_TO_GET}")
        train = split[0] / "train"
        label = next((name for name in LABELS if (train / name).is_dir()), LABELS[0])
        is_png = any((train / "image").glob("*.png"))
        words = "MTAN's arrays" if label == "label_7" else "arrays"
        form, read = ("PNG files", read_png) if is_png else (words, read_mtan)
        end = ".png" if is_png else ".npy"
        places = [
            [(split[0] / s / part, end) for part in ("image", label, "depth")] for s in SPLITS
        ]
    for_training, for_test = map(_scenes, places)
    return Source(form, for_training, for_test, read)


def _first_scene(folder: Path) -> Maps:
    """Read one scene: NYUv2's folders have the same names, and other shapes."""
    source = find(folder)
    return source.read(source.train[0], FULL_SIZE)


HOME = Home("cityscapes", ("train", "leftimg8bit*"), _first_scene)


def _scenes(places: list[tuple[Path, str]]) -> list[Scene]:
    """Return the scenes of a split, from the folders of its three files and the ends of their
    names."""
    found = [
        {
            name.as_posix().removesuffix(end)
            for name in (path.relative_to(folder) for path in folder.rglob(f"*{end}"))
            if not LITTER.search(name.as_posix())
        }
        for folder, end in places
    ]
    # Numbers by their length first, so that 10 comes after 9.
    names = sorted(set.union(*found), key=lambda name: (name.isdigit() and len(name), name))
    if not names:
        first, end = places[0]
        near = next(path for path in (first, *first.parents) if path.is_dir())
        what = f"scenes in {first}, each a {end}"
        raise InputError(f"Expected {what}. {near} has {shown(near)}. {HOW_TO_GET}")
    for (folder, end), there in zip(places, found, strict=True):
        if missing := [name for name in names if name not in there]:
            city, *rest = missing[0].split("/")
            if not there:
                to_do = f"{folder.parent} has {shown(folder.parent)}. Put the others there."
            elif rest and not any(name.startswith(f"{city}/") for name in there):
                to_do = f"Unpack {city} there, or take it away from the other folders."
            else:
                to_do = "Unpack the data again, or take away what is too much."
            raise InputError(
                f"Expected an image, a label map and a depth map of every scene. {folder} has no "
                f"{missing[0]}{end} (found {', '.join(str(len(each)) for each in found)} files). "
                f"{to_do}"
            )
    return [Scene(*(folder / f"{name}{end}" for folder, end in places)) for name in names]


def seven_classes(labels: Sequence[Int8[np.ndarray, "_ H W"]]) -> None:
    """Make `CLASSES` of the `labels` of all scenes, in place.

    The highest of them says what they are: these already, the 19 classes that are trained on, of
    which 19 is to be ignored, or the ids of the official table.
    """
    highest = max(label.max() for label in labels)
    right = highest != len(CLASSES)  # one more than there are, as a void class would have
    expect(right, "labels of 7 or 19 classes, or ids up to 33", "7 as the highest")
    if highest > len(CLASSES):
        table = CLASS_OF_TRAIN_ID if highest < len(CLASS_OF_TRAIN_ID) else CLASS_OF_ID
        for label in labels:
            label[:] = np.where(label < 0, -1, table[label])


def read_mtan(scene: Scene, size: Size) -> Maps:
    """Return a scene from MTAN's arrays or the like, whose images are rounded to bytes again, from
    which they came.

    Raises InputError for an array that cannot be read, of another shape than `size` or another
    type, or with values outside those of its kind.
    """
    image = _array(scene.image, (*size, 3), "f")
    label = _array(scene.label, size, "fiu")
    depth = _array(scene.depth, (*size, 1), "f")
    # A resize of floats may overshoot by their last bits. Depth may not: -1e-9 would be measured.
    for path, values, slack in ((scene.image, image, 1e-6), (scene.depth, depth, 0)):
        low, high = values.min(), values.max()
        inside = -slack <= low and high <= 1 + slack  # nor where one is NaN
        expect(inside, f"numbers from 0 to 1 in {path}", f"{low:g} to {high:g}")
    pixels = np.rint(image * 255).astype(np.uint8)
    return _maps(scene, pixels, _known(scene, label), depth[..., 0].astype(np.float32))


def _known(scene: Scene, label: Num[np.ndarray, "H W"]) -> Int8[np.ndarray, "H W"]:
    """Return the labels as bytes, -1 where ignored; InputError for one that its folder has not."""
    label = np.where(label == IGNORED, -1.0, label)  # a byte would hold no -1
    highest = len(CLASSES) - 1 if scene.label.parent.name == LABELS[0] else len(CLASS_OF_ID) - 1
    other = np.setdiff1d(label, np.arange(-1, highest + 1))
    what = f"labels -1 to {highest} in {scene.label}"
    expect(not len(other), what, ", ".join(f"{x:g}" for x in other[:8]))
    return label.astype(np.int8)


def read_png(scene: Scene, size: Size) -> Maps:
    """Return a scene from PNG files, brought to `size` = (height, width).

    Pillow resizes them: the image bilinearly, which smooths; of labels and disparity the pixel
    nearest to the middle of the new one is taken. Raises InputError for a file that cannot be read,
    is of another kind or of another size than the image, and for an unknown label.
    """
    pictures = [_picture(path, mode) for path, mode in zip(scene, MODES, strict=True)]
    whole = pictures[0].size
    for path, one in zip(scene, pictures, strict=True):
        expect(one.size == whole, f"{whole} pixels in {path}, as in its image", one.size)
    label = _known(scene, np.asarray(pictures[1]))
    pictures[1] = Image.fromarray(label.view(np.uint8))
    ways = zip(pictures, [Image.Resampling.BILINEAR, *[Image.Resampling.NEAREST] * 2], strict=True)
    pixels, ids, steps = (np.asarray(picture.resize(size[::-1], way)) for picture, way in ways)
    return _maps(scene, pixels, ids.view(np.int8), inverse_depth(steps))


def read_official(scene: Scene, size: Size) -> Maps:
    """Return a scene from the official files, as `read_png`, with classes for label ids."""
    image, ids, depth = read_png(scene, size)
    expect((ids >= 0).all(), f"label ids from 0 to 33 in {scene.label}", IGNORED)
    return image, CLASS_OF_ID[ids], depth


def inverse_depth(disparity: UInt16[np.ndarray, "*size"]) -> Float32[np.ndarray, "*size"]:
    """Return pixels of an official disparity map in MTAN's unit: p / 65535.

    The disparity is (p - 1) / 256 pixels of the original image, so this is 1/256 of it up to
    3.1e-5; 0 means not measured. How MTAN's files were made was never published. Their largest
    value, 0.4922 for p = 32257, fits this and (p - 1) / 65536; but only this keeps points
    infinitely far away, p = 1, as measured, and the paper's relative errors of 30 to 130 speak for
    values that small.
    """
    return np.divide(disparity, 65535, dtype=np.float32)


def _maps(scene: Scene, image: Any, label: Any, depth: Any) -> Maps:
    """Return the maps with channels first; InputError where there is no depth to learn from or to
    be measured by."""
    expect(depth.any(), f"some depth in {scene.depth}", "0, not measured, throughout")
    return image.transpose(2, 0, 1), label, depth[None]


def _array(path: Path, shape: tuple[int, ...], kinds: str) -> Num[np.ndarray, "..."]:
    # Mapped, since a header may speak of more than there is.
    with reading("an array", path), HEADERS:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    is_array = isinstance(array, np.ndarray)  # not an archive of arrays under the name of one
    found = f"{array.dtype} of shape {array.shape}" if is_array else "an archive"
    right = is_array and array.shape == shape and array.dtype.kind in kinds
    what = "floats" if kinds == "f" else "numbers"
    expect(right, f"{what} of shape {shape} in {path}, `size` first", found)
    return array


def _picture(path: Path, mode: str) -> Image.Image:
    with reading("an image", path), Image.open(path) as picture:
        picture.load()
    found = MODES.get(picture.mode, picture.mode)
    expect(picture.mode == mode, f"{MODES[mode]} pixels in {path}", found)
    return picture
