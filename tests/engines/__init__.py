"""Every kind of centre against its real engine, by one suite: `make engines` runs it on what is installed here."""
