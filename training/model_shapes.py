"""What a Qwen3 model is made of: as much of its config as its size in memory depends on.

The sizes by name are those of the published configs, as the model builders of torchtune
(github.com/pytorch/torchtune, torchtune/models/qwen3/_model_builders.py) restate them for the dense models,
and the launch scripts of slime (scripts/models/qwen3-30B-A3B.sh) for the one with experts. The sums agree
with the models' cards. A Base model has the shape of its namesake. Parameters are
counted as transformers lays the models out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_VOCABULARY = 151_936
_BASE = "-base"


class UnknownModel(ValueError):
    """There is no shape to be had; says why, and what else to give."""


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The sizes of a Qwen3."""

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    intermediate: int
    """Of the feed-forward net; of one expert's, where there are experts."""
    tied: bool
    """Whether the output layer is the embedding."""
    experts: int = 0
    """In each layer; 0 for a dense model."""
    experts_per_token: int = 0
    head_dim: int = 128
    vocabulary: int = _VOCABULARY

    @property
    def attention(self) -> int:
        """The width of all query heads together."""
        return self.heads * self.head_dim

    @property
    def keys(self) -> int:
        """The width of all key heads together, which is also that of the values."""
        return self.kv_heads * self.head_dim

    @property
    def parameters(self) -> int:
        """How many numbers it has."""
        embeddings = (1 if self.tied else 2) * self.vocabulary * self.hidden
        norms = 2 * self.hidden + 2 * self.head_dim
        experts = self.experts * (3 * self.hidden * self.intermediate + self.hidden)  # and the router's row
        return embeddings + self.hidden + self.layers * (norms + experts) + self.linear_parameters

    @property
    def linear_parameters(self) -> int:
        """Those in the layers' linear modules, which 4 bit compresses and LoRA adapts. Experts are none."""
        return sum(rows * columns for rows, columns in self._linear_modules())

    def adapter_parameters(self, rank: int) -> int:
        """Of a LoRA adapter on all linear modules but the output layer."""
        return sum(rank * (rows + columns) for rows, columns in self._linear_modules())

    def _linear_modules(self) -> list[tuple[int, int]]:
        hidden, attention, keys = self.hidden, self.attention, self.keys
        modules = [(hidden, attention), (hidden, keys), (hidden, keys), (attention, hidden)]
        if not self.experts:
            modules += 3 * [(hidden, self.intermediate)]
        return self.layers * modules


QWEN3: Mapping[str, ModelShape] = {
    shape.name: shape
    for shape in (
        ModelShape("Qwen/Qwen3-0.6B", 28, 1024, 16, 8, 3072, tied=True),
        ModelShape("Qwen/Qwen3-1.7B", 28, 2048, 16, 8, 6144, tied=True),
        ModelShape("Qwen/Qwen3-4B", 36, 2560, 32, 8, 9728, tied=True),
        ModelShape("Qwen/Qwen3-8B", 36, 4096, 32, 8, 12_288, tied=False),
        ModelShape("Qwen/Qwen3-14B", 40, 5120, 40, 8, 17_408, tied=False),
        ModelShape("Qwen/Qwen3-32B", 64, 5120, 64, 8, 25_600, tied=False),
        ModelShape("Qwen/Qwen3-30B-A3B", 48, 2048, 32, 4, 768, tied=False, experts=128, experts_per_token=8),
    )
}


def shape_of(model: str) -> ModelShape:
    """The shape of a model, by its name or from the config.json in its folder.

    Raises:
        UnknownModel: the name is not known here, or the folder has no config of a Qwen3.
    """
    if Path(model).is_dir():
        return _shape_in(Path(model))
    wanted = model.lower().removesuffix(_BASE)
    for name, shape in QWEN3.items():
        if wanted in (name.lower(), name.lower().partition("/")[2]):
            return shape
    raise UnknownModel(
        f"{model} is no folder, and no model that is known by name; those are {', '.join(QWEN3)}. For "
        "another Qwen3, give a folder with its config.json"
    )


def _shape_in(folder: Path) -> ModelShape:
    if not (folder / "config.json").is_file():
        adapter = (
            " It has a LoRA adapter: give its base." if (folder / "adapter_config.json").exists() else ""
        )
        raise UnknownModel(f"{folder} has no config.json.{adapter}")
    try:
        from huggingface_hub.errors import StrictDataclassError
        from transformers import AutoConfig
    except ImportError as error:
        raise UnknownModel(f"reading {folder} needs transformers: pip install 'subworlds[train]'") from error
    configs: Any = AutoConfig
    try:
        return _shape_from(str(folder), configs.from_pretrained(folder))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, StrictDataclassError) as error:
        raise UnknownModel(f"{folder}/config.json cannot be read: {error}") from error


def _shape_from(name: str, config: Any) -> ModelShape:
    if config.model_type not in ("qwen3", "qwen3_moe"):
        raise ValueError(f"it is of a {config.model_type}, and only Qwen3 models can be reckoned with")
    mixed = config.model_type == "qwen3_moe"
    if mixed and (config.decoder_sparse_step != 1 or config.mlp_only_layers):
        raise ValueError("some of its layers have experts and some have none, which cannot be reckoned with")
    return ModelShape(
        name,
        config.num_hidden_layers,
        config.hidden_size,
        config.num_attention_heads,
        config.num_key_value_heads,
        config.moe_intermediate_size if mixed else config.intermediate_size,
        tied=bool(config.tie_word_embeddings),
        experts=config.num_experts if mixed else 0,
        experts_per_token=config.num_experts_per_tok if mixed else 0,
        head_dim=config.head_dim,
        vocabulary=config.vocab_size,
    )
