"""One module per resource: its wire types, how it is computed, and its routes."""
