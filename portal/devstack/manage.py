"""`manage.py` for a machine without servers: the embedded ones run for as long as the command does.

python -m portal.devstack.manage makemigrations --check
"""

import os
import subprocess
import sys

from portal.devstack.bootstrap import ROOT
from portal.devstack.environment import server_environment
from portal.devstack.errors import LocalError
from portal.devstack.options import options_read
from portal.devstack.servers.servers import Servers


def main(arguments: list[str]) -> int:
    """Run one Django command; its exit status."""
    options = options_read()
    servers = Servers(options.var_dir)
    try:
        environment = server_environment(options, servers)
        command = [sys.executable, str(ROOT / "manage.py"), *arguments]
        return subprocess.run(command, check=False, env={**os.environ, **environment}).returncode
    except LocalError as error:
        print(f"weir: {error}", file=sys.stderr)
        return 1
    finally:
        servers.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
