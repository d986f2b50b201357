"""Backends for other projects: each imports its framework only when it is used."""
