"""`assay corpus`: every kernel of a folder is checked, in a process of its own."""
