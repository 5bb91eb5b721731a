"""Save, load and checkpoints: directories that are read without running any code from them.

Models and checkpoints are such directories: ``manifest.json`` and the files that it lists with
their SHA-256. Writing is atomic. Modules are imported one by one: readers of tables need no torch.
"""
