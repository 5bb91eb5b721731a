"""The paper's tables and figures, and what its reviewers asked."""
