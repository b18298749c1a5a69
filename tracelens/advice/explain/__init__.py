"""Where each figure, finding and word of a report comes from, read from the product's own source.

May import the rules and what they may."""
