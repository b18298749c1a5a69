"""Analysis to predicted forms, blockers, findings and the verdict."""
