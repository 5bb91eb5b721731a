"""What estimators are made of: validation, encoders, the fit pipeline."""
