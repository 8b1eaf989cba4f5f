"""Philox4x32-10 in numpy, the same bits as src/program/philox.h.

The part between the markers is written out in every witness script (src/report/witness_script.cpp;
a test compares the two).
"""

from __future__ import annotations

import numpy as np

# --- generator ---
DTYPES = {"float16": np.float16, "float32": np.float32, "float64": np.float64}


def philox_words(seed, number, first, n):
    """Word 0 of Philox4x32-10: key = seed, counter = (element, number), elements first..first+n."""
    low, high = np.uint64(0xFFFFFFFF), np.uint64(32)
    element = np.arange(first, first + n, dtype=np.uint64)
    c0, c1 = element & low, element >> high
    c2 = np.full(n, number & 0xFFFFFFFF, np.uint64)
    c3 = np.full(n, number >> 32, np.uint64)
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0, p1 = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1 = (p1 >> high) ^ c1 ^ np.uint64(k0), p1 & low
        c2, c3 = (p0 >> high) ^ c3 ^ np.uint64(k1), p0 & low
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0.astype(np.uint32)


def draw(seed, number, how, dtype, n, overrides=()):
    """n elements of one input as a numpy array of float64 (values of `dtype`) or int64."""
    kind, lo, hi, step, count, *band = how
    out = np.empty(n, np.float64)
    for first in range(0, n, 1 << 20):
        part = min(1 << 20, n - first)
        u = (philox_words(seed, number, first, part) >> np.uint32(8)).astype(np.float64) * 2.0**-24
        if kind == "uniform":
            values = lo + (hi - lo) * u
        elif kind == "grid":
            values = lo + step * np.floor(u * count)
        elif kind == "integers":
            values = np.floor(lo + (hi - lo) * u)
        else:
            values = np.full(part, lo, np.float64)
        if band:
            inner, extent, begin, end, factor = band
            index = np.arange(first, first + part) // inner % extent
            values = np.where((index >= begin) & (index < end), values * factor, values)
        out[first : first + part] = values
    for element, value in overrides:
        out[element] = value
    return to_dtype(out, dtype)


def to_dtype(values, dtype):
    """Rounded to nearest even, as float64 again; bfloat16, which numpy lacks, by its bits."""
    if dtype in DTYPES:
        with np.errstate(over="ignore"):
            return values.astype(DTYPES[dtype]).astype(np.float64)
    if dtype == "bfloat16":
        scale = 2.0 ** (np.frexp(values)[1] - 8)
        scale = np.maximum(scale, 2.0**-133)
        return np.where(np.isfinite(values), np.rint(values / scale) * scale, values)
    return values.astype(np.int64)


# --- end of generator ---
