"""The version of Weir: of the portal, its API, the client, the agent and what they share. It is written here alone."""

VERSION = "0.1.0"
