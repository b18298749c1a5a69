"""The views of the app: each draws one page and owns the actions of its scope."""
