"""One report document, rendered as text, Markdown, JSON and CSV."""
