# Fills in y for dumps that attest-properties export --kind core wrote. Your kernel goes in place of four lines.
import json, sys, numpy as np

for path in sys.argv[1:]:
    data = open(path, "rb").read()
    end = 8 + int.from_bytes(data[:8], "little")
    head, types = json.loads(data[8:end]), {"F32": "f4", "F64": "f8", "BOOL": "?", "I64": "i8"}
    t = {name: np.frombuffer(data[end:][slice(*it["data_offsets"])], types[it["dtype"]]).reshape(it["shape"])
         for name, it in head.items() if name != "__metadata__"}
    q, (k, v) = t["q"], (np.repeat(t[name], t["q"].shape[1] // t["k"].shape[1], axis=1) for name in "kv")

    s = np.where(t["mask"], q @ k.swapaxes(2, 3) / np.sqrt(q.dtype.type(q.shape[3])), -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    v = np.where(t["mask"].any(2)[..., None], v, 0)  # what no row sees may be NaN, and 0 * NaN is NaN
    y = (p / p.sum(-1, keepdims=True) @ v).astype(q.dtype)

    head["y"] = {"dtype": head["q"]["dtype"], "shape": y.shape, "data_offsets": [len(data) - end, len(data) - end + y.nbytes]}
    text = json.dumps(head).encode()
    open(path, "wb").write(len(text).to_bytes(8, "little") + text + data[end:] + y.tobytes())
