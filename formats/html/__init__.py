"""One self-contained page of sessions, for people: nothing in it is loaded from elsewhere, and nothing a session says is run."""
