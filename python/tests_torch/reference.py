"""Hugging Face transformers as the reference: tiny checkpoints, and runs in float64, float32 and bfloat16."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path

import torch
from transformers import EsmForMaskedLM
from transformers.models.esm import modeling_esm

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "golden"))
from make_checkpoints import TOKENS, masked_lm, tokenize  # noqa: E402, F401


def tiny_model(width: int, heads: int = 3, layers: int = 3, seed: int = 0) -> EsmForMaskedLM:
    """A random model whose every part matters: attention looks somewhere, contacts are neither 0 nor 1."""
    model = masked_lm(seed, layers=layers, heads=heads, width=heads * width, feed_forward=4 * heads * width)
    with torch.no_grad():
        for layer in model.esm.encoder.layer:
            layer.attention.self.query.weight.mul_(2)
            layer.attention.self.key.weight.mul_(2)
        model.esm.contact_head.regression.weight.mul_(5 * (layers * heads) ** 0.5)
    return model


def _rotate(q, k, cos, sin, unsqueeze_dim=1):
    """apply_rotary_pos_emb without its cast to float32."""
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    half = modeling_esm.rotate_half
    return q * cos + half(q) * sin, k * cos + half(k) * sin


def _angles(model: EsmForMaskedLM):
    """cos and sin for every position in float64, from frequencies that were never rounded to float32."""
    width = model.config.hidden_size // model.config.num_attention_heads
    frequencies = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)

    def forward(x, position_ids, layer_type=None):
        angles = position_ids[..., None].to(torch.float64) * frequencies
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos(), angles.sin()

    return forward


@contextmanager
def exact_rotary(model: EsmForMaskedLM):
    """Transformers rounds rotary positions to float32 in every precision; inside, a float64 model stays float64."""
    before = modeling_esm.apply_rotary_pos_emb
    modeling_esm.apply_rotary_pos_emb = _rotate
    model.esm.rotary_embeddings.forward = _angles(model)
    try:
        yield
    finally:
        modeling_esm.apply_rotary_pos_emb = before
        del model.esm.rotary_embeddings.forward


class Reference:
    """One checkpoint run by transformers in float64 ("exact"), float32 or bfloat16, a sequence at a time."""

    DTYPES = {"exact": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16}

    def __init__(self, folder: str | Path, precision: str) -> None:
        self.exact = precision == "exact"
        self.model = EsmForMaskedLM.from_pretrained(
            folder, dtype=self.DTYPES[precision], attn_implementation="eager"
        ).eval()

    def _run(self, compute):
        with torch.no_grad():
            if not self.exact:
                return compute()
            with exact_rotary(self.model):
                return compute()

    def forward(self, tokens: list[int]) -> tuple[list, object]:
        """Hidden states 0..layers [L + 2, C], the last one after the final norm, and logits [L + 2, V]; float64."""
        ids = torch.tensor([tokens])
        out = self._run(lambda: self.model(ids, torch.ones_like(ids), output_hidden_states=True))
        return [state[0].double().numpy() for state in out.hidden_states], out.logits[0].double().numpy()

    def contacts(self, tokens: list[int]):
        """[L, L], float64."""
        ids = torch.tensor([tokens])
        return self._run(lambda: self.model.predict_contacts(ids, torch.ones_like(ids)))[0].double().numpy()

    def loss(self, inputs: list[list[int]], targets: list[list[int]]) -> tuple[float, int]:
        """Mean -ln p over positions whose target is not -100, and their number."""
        total, count = 0.0, 0
        for ids, wanted in zip(inputs, targets):
            _, logits = self.forward(ids)
            rows = [i for i, target in enumerate(wanted) if target != -100]
            logs = torch.log_softmax(torch.from_numpy(logits), dim=-1)
            total -= sum(float(logs[i, wanted[i]]) for i in rows)
            count += len(rows)
        return total / count, count
