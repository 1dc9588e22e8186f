"""Review and rebuttal: proposer, reviewers, area chair."""
