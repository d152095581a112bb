"""Lets a trainer write to the weights of vLLM's CPU build.

On a CPU vLLM repacks the weights of linear layers for oneDNN or AMX and drops the parameters that they came
from, so there is nothing left for a trainer's next weights to be loaded into. With neither of the two vLLM
calls torch's own linear on the parameters themselves: slower, and all that a test needs. On a GPU nothing of
this happens, and none of this is needed.
"""

from __future__ import annotations

from typing import Any


def keep_weights() -> None:
    """Called by vLLM before it loads a model."""
    from vllm import _custom_ops
    from vllm.model_executor.layers import utils

    def none_fits(*_: Any) -> bool:
        return False

    setattr(_custom_ops, "_supports_onednn", False)  # noqa: B010 - it is private
    setattr(utils, "check_cpu_sgl_kernel", none_fits)  # noqa: B010 - it is typed otherwise
