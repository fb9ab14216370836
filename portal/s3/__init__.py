"""The S3-compatible address: clients of S3 read and write the files of volumes at a host name of its own."""
