"""Random zooms and flips of street scenes, with their labels and depth."""

import torch
from torch.nn import functional as F

from pamal_core.data.images import Tensors

SCALES = (1.0, 1.2, 1.5)


def zoom_and_flip(batch: Tensors, depth_scaling: str = "multiply") -> Tensors:
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
