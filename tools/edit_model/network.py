"""The model as it is trained: packed sequences, and the cpu backend's int8 arithmetic simulated.

A product's input is divided by its smoothing factors (SmoothQuant, arXiv 2211.10438), rounded to 255 levels a token,
and multiplied by the merged matrix rounded to 255 levels an output channel: what the backend computes, in whole
numbers of a floating-point type, bfloat16 or float32 (see `working`), which both hold them exactly. Gradients pass
through the rounding (straight-through, arXiv 1308.3432) to A and B of the adapter; those of the full matrices are
never formed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from warmline.engine.models.config import ModelConfig
from warmline.engine.models.llama import ModelWeights, rotary_table
from warmline.engine.models.smoothing import measure_ranges, product_factors, smooth_head

from .compiled import compiled
from .lora import Lora

LEVELS = 127
GROUPS = (("query", "key", "value"), ("output",), ("gate", "up"), ("down",))
"""Matrices that share an input, in a layer's order."""


@dataclass(slots=True)
class Product:
    """Matrices that share an input, as one: integers in the working type, and what they stand for.

    Attributes:
        integers: [out, in], whole numbers in -127..127.
        scale: float32 [out], what one of them is worth.
        shrink: float32 [in], one over the smoothing factors.
        a: working type [modules * rank, in].
        b: working type [out_i, rank] of each module, times the adapter's scale.
    """

    integers: torch.Tensor
    scale: torch.Tensor
    shrink: torch.Tensor
    a: torch.Tensor
    b: list[torch.Tensor]


@dataclass(slots=True)
class Gradients:
    """Where the backward pass adds the gradients of a product's A [modules * rank, in] and B, float32."""

    a: torch.Tensor
    b: list[torch.Tensor]


def round_rows(x: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Each row of float32 as whole numbers in ``dtype``, and what one of them is worth, float32 [rows, 1]."""
    scale = x.abs().amax(-1, keepdim=True).clamp_min(1e-12) / LEVELS
    return torch.round(x / scale).to(dtype), scale


def round_matrix(weight: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """A matrix [out, in] as whole numbers in ``dtype`` with a scale an output channel, as `Int8Linear` does it."""
    scale = weight.abs().amax(1).clamp_min(1e-30) / LEVELS
    return (weight / scale[:, None]).round().to(dtype), scale


@compiled
def _merge(weight: torch.Tensor, delta: torch.Tensor, factor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return round_matrix((weight + delta.float()) * factor, delta.dtype)


@compiled
def _round_input(x: torch.Tensor, shrink: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return round_rows(x.float() * shrink, x.dtype)


@compiled
def _scale_output(y: torch.Tensor, row: torch.Tensor, column: torch.Tensor) -> torch.Tensor:
    return (y.float() * row * column).to(y.dtype)


@compiled
def _scale_columns(y: torch.Tensor, column: torch.Tensor) -> torch.Tensor:
    return (y.float() * column).to(y.dtype)


class _Multiply(torch.autograd.Function):
    """x [rows, in] times a product; gradients of A and B go straight into `Gradients`."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, product: Product, gradients: Gradients | None) -> torch.Tensor:
        integers, row_scale = _round_input(x, product.shrink)
        y = _scale_output(F.linear(integers, product.integers), row_scale, product.scale)
        ctx.save_for_backward(x)
        ctx.product, ctx.gradients = product, gradients
        return y

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        (x,) = ctx.saved_tensors
        product: Product = ctx.product
        gradients: Gradients | None = ctx.gradients
        if gradients is not None:
            low = F.linear(x, product.a)  # [rows, modules * rank]
            rank = product.b[0].shape[1]
            projected = []
            start = 0
            for index, b in enumerate(product.b):
                part = dy[:, start : start + len(b)]
                start += len(b)
                gradients.b[index] += part.t() @ low[:, index * rank : (index + 1) * rank]
                projected.append(part @ b)
            gradients.a += torch.cat(projected, 1).t() @ x
        dx = _scale_columns(_scale_columns(dy, product.scale) @ product.integers, product.shrink)
        return dx, None, None


@compiled
def _norm(x: torch.Tensor, weight: torch.Tensor, eps: float, dtype: torch.dtype) -> torch.Tensor:
    return (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight).to(dtype)


@compiled
def _rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    first, second = x.float().chunk(2, dim=-1)
    cos, sin = cos[:, None], sin[:, None]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1).to(x.dtype)


@compiled
def _probabilities(scores: torch.Tensor, rows: int, scale: float) -> torch.Tensor:
    """Softmax of scores [kv_heads, groups * rows, keys]; the last ``rows`` keys are seen causally."""
    visible_keys = scores.shape[2] - rows + torch.arange(scores.shape[1])[:, None] % rows
    scaled = torch.where(torch.arange(scores.shape[2])[None] <= visible_keys, scores.float() * scale, float("-inf"))
    exponent = torch.exp(scaled - scaled.amax(-1, keepdim=True))
    return (exponent / exponent.sum(-1, keepdim=True)).to(scores.dtype)


@compiled
def _score_gradients(
    probabilities: torch.Tensor, gradient: torch.Tensor, output_gradient: torch.Tensor, scale: float
) -> torch.Tensor:
    """The gradient of the scores from that of the probabilities; ``output_gradient`` has one number a row."""
    return (probabilities.float() * (gradient.float() - output_gradient[..., None]) * scale).to(gradient.dtype)


@dataclass(frozen=True, slots=True)
class Tree:
    """Rows that begin some sequences, and the rest of each: several answers to one prompt's beginning.

    Without branches it is one sequence.
    """

    trunk: int
    branches: tuple[int, ...] = ()

    @property
    def rows(self) -> int:
        """All its rows."""
        return self.trunk + sum(self.branches)

    def positions(self) -> torch.Tensor:
        """The position of each row in its sequence."""
        parts = [torch.arange(self.trunk)]
        return torch.cat([*parts, *(torch.arange(self.trunk, self.trunk + rows) for rows in self.branches)])


def _spans(trees: Sequence[Tree]) -> Iterator[tuple[int, int, int, int]]:
    """The rows [start, end) of each trunk and branch, and those of the trunk before it (none for a trunk)."""
    start = 0
    for tree in trees:
        trunk = start, start + tree.trunk
        yield *trunk, start, start
        start += tree.trunk
        for rows in tree.branches:
            yield start, start + rows, *trunk
            start += rows


class _Attend(torch.autograd.Function):
    """Causal attention of packed trees.

    ``turned`` [rows, heads + kv_heads, dim] has the queries and keys after rotation, ``qkv`` the values last. Whole
    matrices are multiplied: sequences are short, and products fast. The query heads of a group are laid end
    to end, so that keys and values are never repeated.
    """

    @staticmethod
    def forward(
        ctx: Any, turned: torch.Tensor, qkv: torch.Tensor, trees: Sequence[Tree], heads: int, kv_heads: int
    ) -> torch.Tensor:
        output = torch.empty(len(turned), heads, turned.shape[-1], dtype=turned.dtype)
        keys, values = _by_head(turned, qkv, heads, kv_heads)
        kept = []
        for start, end, trunk_start, trunk_end in _spans(trees):
            key = torch.cat([keys[:, trunk_start:trunk_end], keys[:, start:end]], 1)
            value = torch.cat([values[:, trunk_start:trunk_end], values[:, start:end]], 1)
            query = _group(turned[start:end, :heads], kv_heads)
            scores = torch.bmm(query, key.transpose(1, 2))
            probabilities = _probabilities(scores, end - start, turned.shape[-1] ** -0.5)
            attended = torch.bmm(probabilities, value).view(heads, end - start, -1)
            output[start:end] = attended.transpose(0, 1)
            kept.append(probabilities)
        ctx.save_for_backward(turned, qkv, output, *kept)
        ctx.trees, ctx.heads, ctx.kv_heads = trees, heads, kv_heads
        return output.view(len(turned), -1)

    @staticmethod
    def backward(ctx: Any, d_output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None, None, None]:
        turned, qkv, output, *kept = ctx.saved_tensors
        heads, kv_heads, dim = ctx.heads, ctx.kv_heads, turned.shape[-1]
        keys, values = _by_head(turned, qkv, heads, kv_heads)
        d_keys, d_values = torch.zeros(2, kv_heads, len(turned), dim).unbind()
        d_turned, d_qkv = torch.empty_like(turned), torch.zeros_like(qkv)
        d_output = d_output.view(output.shape)
        products = _row_products(d_output, output).t()  # [heads, rows]
        for (start, end, trunk_start, trunk_end), probabilities in zip(_spans(ctx.trees), kept, strict=True):
            key = torch.cat([keys[:, trunk_start:trunk_end], keys[:, start:end]], 1)
            value = torch.cat([values[:, trunk_start:trunk_end], values[:, start:end]], 1)
            query, d_out = _group(turned[start:end, :heads], kv_heads), _group(d_output[start:end], kv_heads)
            d_scores = _score_gradients(
                probabilities,
                torch.bmm(d_out, value.transpose(1, 2)),
                products[:, start:end].reshape(kv_heads, -1),
                dim**-0.5,
            )
            d_turned[start:end, :heads] = torch.bmm(d_scores, key).view(heads, end - start, dim).transpose(0, 1)
            d_key = torch.bmm(d_scores.transpose(1, 2), query)
            d_value = torch.bmm(probabilities.transpose(1, 2), d_out)
            trunk = trunk_end - trunk_start
            for gradient, part in ((d_keys, d_key), (d_values, d_value)):
                gradient[:, start:end] += part[:, trunk:]
                if trunk:
                    gradient[:, trunk_start:trunk_end] += part[:, :trunk]
        d_turned[:, heads:] = d_keys.transpose(0, 1)
        d_qkv[:, heads + kv_heads :] = d_values.transpose(0, 1)
        return d_turned, d_qkv, None, None, None


def _by_head(turned: torch.Tensor, qkv: torch.Tensor, heads: int, kv_heads: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Keys and values of all rows, each [kv_heads, rows, dim]."""
    key, value = turned[:, heads:], qkv[:, heads + kv_heads :]
    return key.transpose(0, 1).contiguous(), value.transpose(0, 1).contiguous()


@compiled
def _row_products(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (x.float() * y.float()).sum(-1)


def _group(x: torch.Tensor, kv_heads: int) -> torch.Tensor:
    """Rows of all heads [rows, heads, dim] as [kv_heads, groups * rows, dim]."""
    return x.transpose(0, 1).reshape(kv_heads, -1, x.shape[-1])


@compiled
def _activate(gate_up: torch.Tensor) -> torch.Tensor:
    gate, up = gate_up.float().chunk(2, dim=-1)
    return (F.silu(gate) * up).to(gate_up.dtype)


@compiled
def _add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y.float()


@compiled
def _loss_and_gradient(
    logits: torch.Tensor, row: torch.Tensor, column: torch.Tensor, target: torch.Tensor, weight: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Cross entropy of rows, its gradient by the unscaled logits' columns, and whether the best is the target."""
    scaled = logits.float() * row * column
    top = scaled.amax(-1, keepdim=True)
    exponent = torch.exp(scaled - top)
    total = exponent.sum(-1, keepdim=True)
    chosen = torch.gather(scaled, 1, target[:, None])
    loss = (torch.log(total) + top - chosen).squeeze(1)
    hit = torch.arange(scaled.shape[1])[None] == target[:, None]
    gradient = (exponent / total - hit.float()) * column * weight[:, None]
    return loss, gradient.to(logits.dtype), (chosen >= top).squeeze(1)


class _Head(torch.autograd.Function):
    """The loss of hidden rows, computed in chunks together with its gradient, so that logits are never kept."""

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, product: Product, targets: torch.Tensor, weights: torch.Tensor, chunk: int
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        integers, row_scale = _round_input(x, product.shrink)
        dx = torch.empty_like(x)
        losses, hits = [], []
        for start in range(0, len(x), chunk):
            rows = slice(start, start + chunk)
            logits = F.linear(integers[rows], product.integers)
            loss, gradient, hit = _loss_and_gradient(
                logits, row_scale[rows], product.scale, targets[rows], weights[rows]
            )
            dx[rows] = _scale_columns(gradient @ product.integers, product.shrink)
            losses.append(loss)
            hits.append(hit)
        ctx.save_for_backward(dx)
        every = torch.cat(losses)
        return (every * weights).sum(), every, torch.cat(hits)

    @staticmethod
    def backward(ctx: Any, d_loss: torch.Tensor, *_: Any) -> tuple[torch.Tensor, None, None, None, None]:
        (dx,) = ctx.saved_tensors
        return dx * d_loss, None, None, None, None


@dataclass(slots=True)
class Packed:
    """Trees of sequences laid end to end.

    Attributes:
        token_ids: int64 [rows].
        trees: what the rows are, in their order.
        rows: int64, the rows whose next token is learnt.
        targets: int64, those next tokens.
        weights: float32, how much each counts.
    """

    token_ids: torch.Tensor
    trees: list[Tree]
    rows: torch.Tensor
    targets: torch.Tensor
    weights: torch.Tensor


class Network:
    """A model with an adapter that can be trained. `merge` must follow each change of the adapter.

    Attributes:
        lora: the adapter.
        gradients: what `loss` and its backward pass added up, by layer and group of matrices.
    """

    def __init__(
        self,
        config: ModelConfig,
        weights: ModelWeights,
        lora: Lora,
        calibration: list[int],
        max_length: int = 4096,
        dtype: torch.dtype = torch.bfloat16,
    ) -> None:
        """Prepare a model.

        ``calibration`` are the tokens the backend finds the activations' ranges with, ``dtype`` the working type,
        bfloat16 or float32.
        """
        self.config, self.lora, self._dtype = config, lora, dtype
        self._weights = weights
        self._cos, self._sin = rotary_table(config, max_length)
        ranges = measure_ranges(config, weights, calibration)
        self._factors = [
            product_factors(config, layer, layer_ranges)
            for layer, layer_ranges in zip(weights.layers, ranges.layers, strict=True)
        ]
        self._final_norm, head = smooth_head(weights, ranges)
        integers, scale = round_matrix(head, dtype)
        self._head = Product(integers, scale, torch.ones(config.hidden_size), torch.empty(0), [])
        self._matrices = [
            [torch.cat([getattr(layer, field) for field in group]) for group in GROUPS] for layer in weights.layers
        ]
        self._products: list[list[Product]] = []
        self.gradients = [
            [
                Gradients(
                    torch.zeros(len(group) * lora.rank, pairs[group[0]][0].shape[1]),
                    [torch.zeros_like(pairs[field][1]) for field in group],
                )
                for group in GROUPS
            ]
            for pairs in lora.layers
        ]
        self.merge()

    @torch.no_grad()
    def merge(self) -> None:
        """Round the matrices with the adapter as it is now."""
        products = []
        for index, factors in enumerate(self._factors):
            pairs = self.lora.layers[index]
            row: list[Product] = []
            for group, factor in zip(GROUPS, factors, strict=True):
                low = [(self.lora.scale * pairs[field][1]).to(self._dtype) for field in group]
                a = [pairs[field][0].to(self._dtype) for field in group]
                delta = torch.cat([b @ rows for rows, b in zip(a, low, strict=True)])
                integers, scale = _merge(self._matrices[index][len(row)], delta, factor)
                row.append(
                    Product(
                        integers,
                        scale,
                        1 / factor,
                        torch.cat(a),
                        low,
                    )
                )
            products.append(row)
        self._products = products

    def parameter_gradients(self) -> list[torch.Tensor]:
        """The gradients in the order of `Lora.parameters`."""
        rank, found = self.lora.rank, []
        for row in self.gradients:
            for group, gradients in zip(GROUPS, row, strict=True):
                for index, _ in enumerate(group):
                    # B's gradient lacks the scale that A's has through b.
                    found += [
                        gradients.a[index * rank : (index + 1) * rank],
                        gradients.b[index] * self.lora.scale,
                    ]
        return found

    def zero_gradients(self) -> None:
        """Forget what was added up."""
        for row in self.gradients:
            for gradients in row:
                gradients.a.zero_()
                for b in gradients.b:
                    b.zero_()

    def loss(self, packed: Packed, train: bool = True) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The weighted sum of the targets' cross entropies (to call backward on), each one, which were likeliest."""
        hidden = self.hidden(packed.token_ids, packed.trees, train)[packed.rows]
        return _Head.apply(hidden, self._head, packed.targets, packed.weights, 512)  # type: ignore[no-any-return, no-untyped-call]

    def hidden(self, token_ids: torch.Tensor, trees: Sequence[Tree], train: bool) -> torch.Tensor:
        """The last norm's output in the working type [rows, hidden]."""
        config = self.config
        rows = len(token_ids)
        positions = torch.cat([tree.positions() for tree in trees])
        cos, sin = self._cos[positions], self._sin[positions]
        x = self._weights.embedding[token_ids]
        if train:
            x.requires_grad_()
        heads, kv_heads, dim = config.num_heads, config.num_kv_heads, config.head_dim
        for index, layer in enumerate(self._weights.layers):
            qkv_product, output_product, gate_up_product, down_product = self._products[index]
            qkv_grad, output_grad, gate_up_grad, down_grad = self.gradients[index] if train else [None] * 4
            normed = _norm(x, layer.attention_norm, config.norm_eps, self._dtype)
            qkv = _Multiply.apply(normed, qkv_product, qkv_grad).view(rows, heads + 2 * kv_heads, dim)  # type: ignore[no-untyped-call]
            turned = _rotate(qkv[:, : heads + kv_heads], cos, sin)
            attended = _Attend.apply(turned, qkv, trees, heads, kv_heads)  # type: ignore[no-untyped-call]
            x = _add(x, _Multiply.apply(attended, output_product, output_grad))  # type: ignore[no-untyped-call]
            normed = _norm(x, layer.ffn_norm, config.norm_eps, self._dtype)
            inner = _activate(_Multiply.apply(normed, gate_up_product, gate_up_grad))  # type: ignore[no-untyped-call]
            x = _add(x, _Multiply.apply(inner, down_product, down_grad))  # type: ignore[no-untyped-call]
        return _norm(x, self._final_norm, config.norm_eps, self._dtype)
