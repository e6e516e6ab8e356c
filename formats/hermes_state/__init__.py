"""The Hermes agent's session store: SQLite files named state.db. Facts: docs/formats/hermes-state.md."""
