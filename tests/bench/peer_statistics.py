"""Arithmetic of compare_peers.py: ratios of neighbouring pairs and what the machine allows. No processes, no files."""
import math
import statistics


def median_interval(values, wanted=0.95):
    """Interval of the median from order statistics: no distribution assumed, only independent values.

    Returns (low, high, confidence). Between the k-th smallest and the k-th largest of n values lies the median unless
    fewer than k values fall on one side of it, which has probability 2 · P(Binomial(n, 1/2) < k). k is the largest that
    keeps the wanted confidence; of fewer than six values not even smallest to largest reaches 95 %, and the confidence
    returned says so.
    """
    ordered = sorted(values)
    count = len(ordered)
    if count < 2:
        raise ValueError("an interval needs two values")
    tail = 0.0  # P(Binomial < k)
    best = (ordered[0], ordered[-1], 1.0 - 2.0 * 0.5**count)
    for k in range(1, count // 2 + 1):
        tail += math.comb(count, k - 1) * 0.5**count
        confidence = 1.0 - 2.0 * tail
        if confidence < wanted:
            break
        best = (ordered[k - 1], ordered[count - k], confidence)
    return best


def summary(pairs):
    """pairs: [(ours, peer)] in the order measured. The ratio is ours over the peer's, whichever is better."""
    ours = [pair[0] for pair in pairs]
    peer = [pair[1] for pair in pairs]
    ratios = [a / b for a, b in pairs]
    result = {
        "pairs": len(pairs),
        "ours_median": statistics.median(ours),
        "peer_median": statistics.median(peer),
        "ratio_median": statistics.median(ratios),
    }
    if len(pairs) >= 2:
        low, high, confidence = median_interval(ratios)
        result["ratio_interval"] = [low, high]
        result["ratio_confidence"] = confidence
    return result


def ours_first(pair_index):
    """Every other pair begins with the peer: what drifts over a pair then favours neither."""
    return pair_index % 2 == 0


class Ceilings:
    """What a file and a machine allow. `inspect` and `system` are the documents of tokenscope-cli's commands.

    A prompt multiplies every matrix of the layers with each of its rows; generation reads them and the head once a
    token, and with a context its keys and values. Attention's products are left out (8 % of a prompt of 512 in
    SmolLM2-135M), and so is the head's one row of a prompt.
    """

    def __init__(self, inspect, system):
        matrices = [t for t in inspect["tensors"] if len(t["shape"]) >= 2]
        layers = [t for t in matrices if t["name"].startswith("blk.")]
        heads = [t for t in matrices if t["name"] == "output.weight"]
        heads = heads or [t for t in matrices if t["name"] == "token_embd.weight"]  # tied: the table is the head
        self.layer_products = sum(math.prod(t["shape"]) for t in layers)
        self.token_bytes = sum(t["bytes"] for t in layers + heads)
        self.read_bandwidth = system.get("read_bandwidth_bytes_per_s")
        self.products_per_s = system.get("int8_macs_per_s")
        self.cache_bytes = self._cache_bytes(inspect)

    @staticmethod
    def _cache_bytes(inspect):
        """Bytes of f16 keys and values a token of context costs each step; None where layers differ (windows)."""
        meta = inspect["metadata"]
        prefix = inspect["architecture"] + "."
        if meta.get(prefix + "attention.sliding_window"):
            return None
        layers, heads = meta.get(prefix + "block_count"), meta.get(prefix + "attention.head_count")
        kv_heads = meta.get(prefix + "attention.head_count_kv", heads)
        width = meta.get(prefix + "embedding_length")
        if not all(isinstance(v, int) and v > 0 for v in (layers, heads, kv_heads, width)):
            return None
        key = meta.get(prefix + "attention.key_length", width // heads)
        value = meta.get(prefix + "attention.value_length", width // heads)
        return layers * kv_heads * (key + value) * 2

    def prompt_share(self, tokens_per_s):
        return tokens_per_s * self.layer_products / self.products_per_s if self.products_per_s else None

    def generation_share(self, tokens_per_s, context=0):
        if not self.read_bandwidth or (context and self.cache_bytes is None):
            return None
        cache = context * self.cache_bytes if context else 0
        return tokens_per_s * (self.token_bytes + cache) / self.read_bandwidth
