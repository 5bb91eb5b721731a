"""Scripts for those who work on vqpu; not shipped."""
