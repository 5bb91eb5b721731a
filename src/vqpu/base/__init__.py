"""What everything stands on: parameters, labels, seeds, samples, two-means."""
