"""Random zooms and flips of street scenes, with their labels and depth."""

from dataclasses import dataclass

import torch
from torch.nn import functional as F

from pamal_core.data.images import Tensors
from pamal_core.errors import check_choice

SCALES = (1.0, 1.2, 1.5)


@dataclass(frozen=True)
class ZoomAndFlip:
    """Zooms into each example of a batch and mirrors half of them, as MTAN's users do.

    A call takes and returns (images [n, 3, H, W], labels int64 [n, H, W], inverse depth
    [n, 1, H, W]). For each example a scale is drawn from `SCALES`, and a window of
    int(H / scale) x int(W / scale) pixels, anywhere in the image, is blown up to H x W: the image
    bilinearly with its corners kept, labels and depth by the pixel up left of where the new one
    falls. Then left and right change places with probability 1/2. All draws are from torch's global
    generator.

    What is seen larger is nearer, so inverse depth is multiplied by the scale; the authors' code
    divides it (`depth_scaling="divide"`), which is right for depth in metres. 0, no measurement,
    stays 0.
    """

    depth_scaling: str = "multiply"

    def __post_init__(self) -> None:
        check_choice("depth_scaling", self.depth_scaling, ("multiply", "divide"))

    def __call__(self, batch: Tensors) -> Tensors:
        """Another batch of the same shapes and types."""
        images, labels, depth = batch
        n = len(images)
        scales = [SCALES[k] for k in torch.randint(len(SCALES), (n,)).tolist()]
        corners = torch.rand(n, 2).tolist()
        flips = (torch.rand(n) < 0.5).tolist()
        out = tuple(torch.empty_like(part) for part in batch)
        height, width = labels.shape[1:]
        for i, (scale, (down, right), flip) in enumerate(zip(scales, corners, flips, strict=True)):
            h, w = int(height / scale), int(width / scale)
            top, left = int(down * (height - h + 1)), int(right * (width - w + 1))
            rows = top + torch.arange(height, device=labels.device) * h // height
            columns = left + torch.arange(width, device=labels.device) * w // width
            window = images[i, None, :, top : top + h, left : left + w]
            zoomed = F.interpolate(
                window, size=(height, width), mode="bilinear", align_corners=True
            )[0]
            factor = scale if self.depth_scaling == "multiply" else 1 / scale
            far = depth[i, :, rows][..., columns] * factor
            for part, new in zip(out, (zoomed, labels[i, rows][:, columns], far), strict=True):
                part[i] = new.flip(-1) if flip else new
        return out
