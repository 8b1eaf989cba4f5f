"""Assay's Python side: everything that must run inside PyTorch."""
