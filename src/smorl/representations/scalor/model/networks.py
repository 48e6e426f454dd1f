"""The networks of SCALOR in two sizes: "fast" (patches, MLPs) and "paper" (its convolutions).

Glimpses are (B, N, G, C, G) throughout (see geometry.py); the convolutional networks permute.
"""

from itertools import pairwise

import torch
from torch import Tensor, nn

from smorl.representations.scalor.model.settings import ScalorConfig


def conv(inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 8) -> nn.Module:
    """Convolution that keeps or halves the picture, ELU, group normalisation (Release)."""
    padding = 0 if stride == kernel else (kernel - 1) // 2
    layers = nn.Conv2d(inputs, outputs, kernel, stride, padding), nn.ELU()
    return nn.Sequential(*layers, nn.GroupNorm(groups, outputs))


def grow(inputs: int, outputs: int, factor: int, groups: int) -> nn.Module:
    """Enlarge a picture `factor` times by a 1x1 convolution and a pixel shuffle."""
    wide = nn.Conv2d(inputs, outputs * factor**2, 1)
    return nn.Sequential(wide, nn.PixelShuffle(factor), nn.ELU(), nn.GroupNorm(groups, outputs))


def mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """One hidden layer."""
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ELU(), nn.Linear(hidden, outputs))


class ImageEncoder(nn.Module):
    """Picture (B, C, S, S) -> encoding (B, channels, cells, cells)."""

    def __init__(self, config: ScalorConfig, inputs: int) -> None:
        super().__init__()
        c, paper = config.channels, config.networks == "paper"
        halvings = (config.image_size // config.cells).bit_length() - 1
        if paper:
            widths = [16, 32, *([c] * (halvings - 2))]
            layers, before = [], inputs
            for i, width in enumerate(widths):
                groups = 4 if width == 16 else 8
                last = i == len(widths) - 1
                layers += [conv(before, width, 4, 2, groups)]
                layers += [conv(width, width, 1 if last else 3, 1, 16 if last else groups)]
                before = width
        else:
            layers = [conv(inputs, c // 2, 4, 4)]
            widths = [c // 2, *([c] * (halvings - 2))]
            layers += [conv(a, b, 4, 2) for a, b in pairwise(widths)]
        self.down = nn.Sequential(*layers)
        self.lateral = nn.Sequential(*(conv(c, c, 3) for _ in range(2 if paper else 1)))
        self.out = conv(2 * c, c, 3)

    def forward(self, pictures: Tensor) -> Tensor:
        encoding = self.down(pictures)
        return self.out(torch.cat([encoding, self.lateral(encoding)], 1))


class ConvLstm(nn.Module):
    """Stacked convolutional LSTM cells with peepholes, conditioned on the action.

    Release: it passed the previous hidden state as the cell state, so there was no cell memory;
    here C is C.
    """

    def __init__(self, config: ScalorConfig, actions: int) -> None:
        super().__init__()
        c, k = config.channels, config.cells
        layers = range(config.lstm_layers)
        self.inputs = nn.ModuleList(nn.Conv2d(2 * c, 4 * c, 3, padding=1) for _ in layers)
        self.actions = nn.ModuleList(nn.Linear(actions, 4 * c) for _ in layers)
        self.peephole = nn.Parameter(torch.zeros(len(layers), 3, c, k, k))
        # Memory starts open, the usual remedy for LSTMs that forget at first.
        opened = torch.tensor([0.0, 1.0, 0.0]).view(3, 1, 1, 1)
        self.register_buffer("opened", opened, persistent=False)
        self.opened: Tensor
        self.shape = (len(layers), 2, c, k, k)

    def init(self, batch: int) -> Tensor:
        """Return zero states (B, layers, 2, C, cells, cells)."""
        return self.peephole.new_zeros(batch, *self.shape)

    def forward(self, encoding: Tensor, action: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        states = []
        for i, (conv, linear) in enumerate(zip(self.inputs, self.actions, strict=True)):
            hidden, cell = state[:, i].unbind(1)
            gates = conv(torch.cat([encoding, hidden], 1))
            encoding, cell = self._turn(i, gates + linear(action)[:, :, None, None], cell)
            states.append(torch.stack([encoding, cell], 1))
        return encoding, torch.stack(states, 1)

    def run(self, encodings: Tensor, actions: Tensor) -> Tensor:
        """What `forward` returns for whole sequences (B, T, .) from zero states on, (B, T, .).

        What enters from below does not wait for the frame before, so it is one convolution.
        """
        lead = encodings.shape[:2]
        for i, (conv, linear) in enumerate(zip(self.inputs, self.actions, strict=True)):
            assert isinstance(conv, nn.Conv2d)
            below, before = conv.weight.chunk(2, 1)
            gates = nn.functional.conv2d(encodings.flatten(0, 1), below, conv.bias, padding=1)
            gates = gates + linear(actions.flatten(0, 1))[:, :, None, None]
            hidden, cell, outputs = None, encodings.new_zeros(lead[0], *self.shape[2:]), []
            for entered in gates.unflatten(0, lead).unbind(1):
                if hidden is not None:
                    entered = entered + nn.functional.conv2d(hidden, before, padding=1)
                hidden, cell = self._turn(i, entered, cell)
                outputs.append(hidden)
            encodings = torch.stack(outputs, 1)
        return encodings

    def _turn(self, layer: int, gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """Return hidden state and cell after the gates' inputs (B, 4 C, k, k)."""
        doors, candidate = gates.unflatten(1, (4, -1)).split([3, 1], 1)
        doors = doors + self.peephole[layer] * cell[:, None] + self.opened
        enter, forget, leave = torch.sigmoid(doors).unbind(1)
        cell = forget * cell + enter * torch.tanh(candidate[:, 0])
        return leave * torch.tanh(cell), cell


class GlimpseEncoder(nn.Module):
    """Glimpse (..., G, C, G) -> features (..., outputs)."""

    def __init__(self, config: ScalorConfig, channels: int, outputs: int) -> None:
        super().__init__()
        g = config.glimpse
        self.flat = config.networks == "fast"
        if self.flat:
            self.net = mlp(g * g * channels, config.hidden, outputs)
        else:
            self.net = nn.Sequential(
                conv(channels, 16, 4, 2, 4),
                conv(16, 32, 4, 2),
                conv(32, 64, 4, 2),
                conv(64, 64, 3),
                conv(64, 128, g // 8, g // 8, 16),
                nn.Flatten(),
                nn.Linear(128, outputs),
            )

    def forward(self, glimpses: Tensor) -> Tensor:
        lead = glimpses.shape[:-3]
        if self.flat:
            return self.net(glimpses.flatten(-3))
        pictures = glimpses.reshape(-1, *glimpses.shape[-3:]).transpose(1, 2)
        return self.net(pictures).reshape(*lead, -1)


class GlimpseDecoder(nn.Module):
    """what (..., W) -> colours (..., G, 3, G) and mask (..., G, 1, G), both in (0, 1)."""

    def __init__(self, config: ScalorConfig) -> None:
        super().__init__()
        g = self.glimpse = config.glimpse
        self.mask_bias = config.mask_bias
        self.flat = config.networks == "fast"
        if self.flat:
            self.net = nn.Sequential(
                nn.Linear(config.what, config.hidden),
                nn.ELU(),
                mlp(config.hidden, config.hidden, g * 4 * g),
            )
        else:
            self.net = nn.Sequential(
                conv(config.what, 128, 1, 1, 16),
                grow(128, 64, g // 8, 8),
                grow(64, 64, 2, 8),
                grow(64, 32, 2, 8),
                grow(32, 16, 2, 4),
                conv(16, 16, 3, 1, 4),
                nn.Conv2d(16, 4, 3, padding=1),
            )

    def masks(self, what: Tensor) -> Tensor:
        """Return the masks alone (..., G, 1, G), without painting what is behind them."""
        if not self.flat:
            return self(what)[1]
        g, last = self.glimpse, self.net[-1]
        assert isinstance(last, nn.Sequential)
        end = last[-1]
        assert isinstance(end, nn.Linear)
        rows = end.weight.view(g, 4, g, -1)[:, 3].flatten(0, 1)
        hidden = last[:-1](self.net[:-1](what))
        out = nn.functional.linear(hidden, rows, end.bias.view(g, 4, g)[:, 3].flatten())
        return torch.sigmoid(out + self.mask_bias).reshape(*what.shape[:-1], g, 1, g)

    def forward(self, what: Tensor) -> tuple[Tensor, Tensor]:
        g, lead = self.glimpse, what.shape[:-1]
        if self.flat:
            out = self.net(what).reshape(*lead, g, 4, g)
        else:
            out = self.net(what.reshape(-1, what.shape[-1], 1, 1)).transpose(1, 2)
            out = out.reshape(*lead, g, 4, g)
        return torch.sigmoid(out[..., :3, :]), torch.sigmoid(out[..., 3:, :] + self.mask_bias)


class MaskEncoder(nn.Module):
    """What is explained already, alpha (B, 1, S, S) -> (B, outputs, cells, cells)."""

    def __init__(self, config: ScalorConfig, outputs: int) -> None:
        super().__init__()
        side = config.image_size // config.cells
        if config.networks == "fast":
            self.net = nn.Sequential(nn.Conv2d(1, outputs, side, side), nn.ELU())
        else:
            halvings = side.bit_length() - 1
            widths = [1, 16, 32, *([64] * (halvings - 2))]
            layers = [conv(a, b, 4, 2, 4 if b == 16 else 8) for a, b in pairwise(widths)]
            self.net = nn.Sequential(*layers, conv(64, outputs, 1))

    def forward(self, alpha: Tensor) -> Tensor:
        return self.net(alpha)
