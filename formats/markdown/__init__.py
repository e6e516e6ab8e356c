"""Markdown and Quarto documents: written for people, and so that nothing in a transcript can break them."""
