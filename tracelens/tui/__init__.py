"""The terminal app: shows the report document, and lets one check it down to the event."""
