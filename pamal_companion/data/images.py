"""Images that are kept as bytes and handed out as floats; random zooms and flips of them."""

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.data import TensorDataset

Tensors = tuple[Tensor, ...]
DepthScaling = Literal["multiply", "divide"]
SCALES = (1.0, 1.2, 1.5)


class Images(TensorDataset):
    """Examples (image, target_1, ..., target_T) that take a quarter of the memory of floats.

    `images` [n, c, h, w] are uint8 and come out as float32 in [0, 1]; targets that are int8 (label
    maps) come out as int64, others as they are. `augment(batch)`, where it is set, changes what
    comes out, examples along the first dimension, by draws from torch's global generator.
    """

    augment: Callable[[Tensors], Tensors] | None = None

    def __getitem__(self, index: Any) -> Tensors:
        """Return the examples of a slice or of a list of indices, or a single one (never
        augmented)."""
        images, *targets = (tensor[index] for tensor in self.tensors)
        labels = (t.long() if t.dtype == torch.int8 else t for t in targets)
        batch = (images.float() / 255, *labels)
        return batch if self.augment is None or isinstance(index, int) else self.augment(batch)


def zoom_and_flip(batch: Tensors, depth_scaling: DepthScaling = "multiply") -> Tensors:
    """Zooms into each example of a batch and mirrors half of them, as MTAN's users do.

    Takes and returns (images [n, 3, H, W], labels int64 [n, H, W], inverse depth [n, 1, H, W]). For
    each example a scale is drawn from `SCALES`, and a window of int(H / scale) x int(W / scale)
    pixels, anywhere in the image, is blown up to H x W: the image bilinearly with its corners kept,
    labels and depth by the pixel up left of where the new one falls. Then left and right change
    places with probability 1/2. All draws are from torch's global generator.

    What is seen larger is nearer, so inverse depth is multiplied by the scale; the authors' code
    divides it (`depth_scaling="divide"`), which is right for depth in metres. 0, no measurement,
    stays 0.
    """
    n, height, width = batch[1].shape
    scales = torch.randint(len(SCALES), (n,)).tolist()
    corners, flips = torch.rand(n, 2).tolist(), (torch.rand(n) < 0.5).tolist()
    out = tuple(torch.empty_like(part) for part in batch)
    for i, (k, (down, right), flip) in enumerate(zip(scales, corners, flips, strict=True)):
        image, label, depth = (part[i] for part in batch)
        h, w = int(height / SCALES[k]), int(width / SCALES[k])
        top, left = int(down * (height - h + 1)), int(right * (width - w + 1))
        rows = top + torch.arange(height, device=label.device) * h // height
        columns = left + torch.arange(width, device=label.device) * w // width
        window = image[None, :, top : top + h, left : left + w]
        zoomed = F.interpolate(window, (height, width), mode="bilinear", align_corners=True)[0]
        factor = SCALES[k] if depth_scaling == "multiply" else 1 / SCALES[k]
        new = zoomed, label[rows][:, columns], depth[:, rows][..., columns] * factor
        for part, one in zip(out, new, strict=True):
            part[i] = one.flip(-1) if flip else one
    return out
