"""Containerfiles, without a database: read line by line, turned into steps and a configuration, and into a script."""
