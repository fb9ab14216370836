"""Real clients of S3 against a portal's S3-compatible address."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config


@dataclass(frozen=True)
class ObjectAddress:
    """A key for the address of a portal. Not every machine knows names below localhost: clients come by the portal's
    own port, as by a proxy."""

    address: str
    portal: str
    key_id: str
    secret: str

    def boto(self, **options: Any) -> Any:
        """A client of boto3, which tries once."""
        config = Config(proxies={"http": self.portal}, retries={"max_attempts": 0}, **options)
        return boto3.client(
            "s3",
            endpoint_url=self.address,
            aws_access_key_id=self.key_id,
            aws_secret_access_key=self.secret,
            region_name="us-east-1",
            config=config,
        )

    def rclone(self, home: Path, *command: str) -> str:
        """What rclone says; CalledProcessError where it fails."""
        told = {
            "TYPE": "s3",
            "PROVIDER": "Other",
            "ENDPOINT": self.address,
            "ACCESS_KEY_ID": self.key_id,
            "SECRET_ACCESS_KEY": self.secret,
            "REGION": "us-east-1",
        }
        environment = {f"RCLONE_CONFIG_WEIR_{name}": value for name, value in told.items()}
        environment |= {
            "HTTP_PROXY": self.portal,
            "HOME": str(home),
            "RCLONE_CONFIG": str(home / "none.conf"),
        }
        program = Path(sys.executable).parent / "rclone"
        done = subprocess.run(
            [program, "--retries=1", "--low-level-retries=1", *command],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout
