"""Slow, obvious NumPy versions of what vqpu does fast: read them to see what is meant."""
