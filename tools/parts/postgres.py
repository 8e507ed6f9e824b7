"""PostgreSQL as Debian packages it, on 127.0.0.1."""

import os
import pwd
import shutil
import signal
import subprocess
from pathlib import Path

from tools.parts.errors import PartError
from tools.parts.process import HOST, Part, ReservedPort, accepts_connections, child_environment

ACCOUNT = "postgres"  # what Debian's package makes; the server refuses to run as root
COMMAND_TIMEOUT_S = 120
START_TIMEOUT_S = 60


class PostgreSQL(Part):
    """A server with one database, owned by `user`, that answers when the constructor returns."""

    name = "postgres"

    def __init__(self, *, user: str, password: str, database: str) -> None:
        reason = self.available()
        if reason is not None:
            raise PartError(reason)
        super().__init__()
        self._user, self._password, self._database = user, password, database
        self._port = ReservedPort()
        self._data = self.folder / "data"
        try:
            self._prepare()
            self._run()
            self.command("createdb", database)
        except BaseException:
            self.stop()
            raise

    @staticmethod
    def available() -> str | None:
        """None where a server is installed; otherwise the reason and what to run."""
        if _binaries() is None:
            return "PostgreSQL is not installed. Run: apt-get install postgresql (or put `postgres` on PATH)"
        if os.geteuid() == 0 and (shutil.which("setpriv") is None or _account() is None):
            return f"PostgreSQL does not run as root, and there is no setpriv or no user {ACCOUNT} to run it as instead"
        return None

    @property
    def address(self) -> str:
        """What clients connect to, as host:port."""
        return f"{HOST}:{self._port.number}"

    def command(self, name: str, *arguments: str) -> str:
        """Run one of PostgreSQL's own commands (`psql`, `pg_dump`, ...) as the database's owner; what it printed."""
        where = {"PGHOST": HOST, "PGPORT": str(self._port.number), "PGUSER": self._user, "PGPASSWORD": self._password}
        return _run([_binary(name), *arguments], child_environment(**where))

    def dump(self) -> str:
        """The whole database as SQL."""
        return self.command("pg_dump", "--inserts", self._database)

    def stop(self) -> None:
        """End the server, its clients' sessions too, and remove its data; harmless when repeated."""
        self._signal(signal.SIGINT)  # SIGTERM waits for the clients
        super().stop()
        self._port.close()

    def _prepare(self) -> None:
        self.folder.chmod(0o711)  # the server's account goes through it
        password = self.folder / "password"
        password.touch(mode=0o600)
        password.write_text(self._password)
        self._data.mkdir(mode=0o700)
        account = _account()
        if os.geteuid() == 0 and account is not None:
            for path in (password, self._data):
                os.chown(path, account.pw_uid, account.pw_gid)
        options = ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        initdb = [_binary("initdb"), f"--pgdata={self._data}", f"--username={self._user}", f"--pwfile={password}"]
        _run([*_unprivileged(), *initdb, *options], child_environment(), cwd=self.folder)
        password.unlink()

    def _run(self) -> None:
        settings = {
            "listen_addresses": HOST,
            "port": str(self._port.number),
            "unix_socket_directories": "",
            "fsync": "off",  # its data does not outlive the process
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        server = [_binary("postgres"), "-D", str(self._data), *options]
        self._launch([*_unprivileged(), *server], child_environment())
        self._await(lambda: accepts_connections(self._port.number), START_TIMEOUT_S)
        self._await(self._is_ready, START_TIMEOUT_S)

    def _is_ready(self) -> bool:
        try:
            self.command("pg_isready", "--quiet")
        except PartError:
            return False
        return True


def _unprivileged() -> list[str]:
    """What a command of root's begins with so that it runs as the server's account.

    The kernel forgets the death signal with the change of the account, so it is set again behind it.
    """
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={ACCOUNT}", f"--regid={ACCOUNT}", "--init-groups", "--pdeathsig=KILL", "--"]


def _account() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(ACCOUNT)
    except KeyError:
        return None


def _binaries() -> Path | None:
    """The folder of the newest server that Debian installed, or that of the `postgres` on PATH."""
    packaged = Path("/usr/lib/postgresql").glob("*/bin/postgres")
    newest = sorted(packaged, key=lambda path: float(path.parents[1].name))[-1:]
    found = newest or [Path(path).resolve() for path in [shutil.which("postgres")] if path]
    return found[0].parent if found else None


def _binary(name: str) -> str:
    folder = _binaries()
    assert folder is not None, "the constructor asks available()"
    return str(folder / name)


def _run(command: list[str], environment: dict[str, str], cwd: Path | None = None) -> str:
    run = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cwd, timeout=COMMAND_TIMEOUT_S)
    if run.returncode != 0:
        raise PartError(f"postgres: {' '.join(command)} ended with status {run.returncode}:\n{run.stdout}{run.stderr}")
    return run.stdout
