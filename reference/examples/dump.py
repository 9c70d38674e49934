#!/usr/bin/env python3
"""Hand an attention result to attest-reference: dump.py OUT.safetensors [--wrong]

Writes one decode step of grouped-query attention in float32: the tensors a kernel saw, what it answered, and how
it computed. Put your own kernel in place of `attention`; then:

    attest-reference check OUT.safetensors          # exit 0: right, 1: wrong, 2: unusable

--wrong maps query heads by h % Hkv, a mistake many kernels have made; the check names it.
"""
import json
import struct
import sys

import numpy as np

try:
    from safetensors.numpy import save_file
except ImportError:  # the format is short: a length, a JSON header, the elements

    def save_file(tensors, path, metadata):
        names = {np.dtype(np.float32): "F32", np.dtype(np.float64): "F64", np.dtype(np.float16): "F16"}
        header, end = {"__metadata__": metadata}, 0
        for name, array in tensors.items():
            begin, end = end, end + array.nbytes
            header[name] = {"dtype": names[array.dtype], "shape": array.shape, "data_offsets": [begin, end]}
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for array in tensors.values():
                file.write(np.ascontiguousarray(array).tobytes())


def attention(q, k, v, group):
    """y[b, h, l] = softmax(q·k / sqrt(d)) v, all of it in float32; group[h] is the key/value head that h reads."""
    k, v = k[:, group], v[:, group]
    scores = q @ k.transpose(0, 1, 3, 2) * np.float32(1 / np.sqrt(q.shape[-1]))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def main(path, wrong):
    rng = np.random.default_rng(7)
    batch, heads, kv_heads, keys, width = 1, 4, 2, 64, 16
    q = rng.standard_normal((batch, heads, 1, width), np.float32)
    k = rng.standard_normal((batch, kv_heads, keys, width), np.float32)
    v = rng.standard_normal((batch, kv_heads, keys, width), np.float32)
    head = np.arange(heads)
    y = attention(q, k, v, head % kv_heads if wrong else head // (heads // kv_heads))

    metadata = {
        "attest": "core",  # attention alone; "layer" has the projections too, "rotary" only the rotation
        "causal": "0",
        "arithmetic": "f32",  # what is stored between stages; whatever is left out covers every way to compute
        "passes": "two_pass",  # the maximum first; telling more tightens what is allowed
        "source": "reference/examples/dump.py",
    }
    save_file({"q": q, "k": k, "v": v, "y": y}, path, metadata=metadata)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or (len(sys.argv) == 3 and sys.argv[2] != "--wrong"):
        sys.exit(__doc__)
    main(sys.argv[1], len(sys.argv) == 3)
