"""Airflow's own processes on 127.0.0.1: api-server, scheduler, dag-processor and triggerer, over SQLite."""

import contextlib
import json
import secrets
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import psutil

from tools.parts.errors import PartError
from tools.parts.process import HOST, Part, ReservedPort, UntilStopped

BIN: Final = Path(sys.executable).parent
START_TIMEOUT_S: Final = 180
MIGRATE_TIMEOUT_S: Final = 300


class AirflowProcess(Part):
    """One `airflow` command that goes on until it is stopped; its children end with it."""

    def __init__(self, name: str, environment: Mapping[str, str], *arguments: str) -> None:
        self.name = f"airflow-{name}"
        super().__init__()
        self._launch([BIN / "airflow", *arguments], environment)

    def stop(self) -> None:
        """End the process and what it started."""
        children = psutil.Process(self.pid).children(recursive=True) if self.is_running else []
        super().stop()
        for child in children:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()


class Airflow(UntilStopped):
    """A running Airflow whose api-server answers when the constructor returns; `environment` says what it runs on.

    AIRFLOW_HOME must be in the environment; its database is made or migrated. The login is `user` and `password`;
    `others` have the same password, and roles. Without DAGs that defer tasks, nothing needs the triggerer.
    """

    user = "admin"

    def __init__(
        self, environment: Mapping[str, str], *, triggerer: bool = True, others: Mapping[str, str] | None = None
    ) -> None:
        self._port = ReservedPort()
        roles = {self.user: "admin", **(others or {})}
        self.url = f"http://{HOST}:{self._port.number}"
        self.password = secrets.token_urlsafe(9)
        home = Path(environment["AIRFLOW_HOME"])
        passwords = home / "passwords.json"
        self.environment = {
            **environment,
            "AIRFLOW__API__HOST": HOST,
            "AIRFLOW__API__PORT": str(self._port.number),
            "AIRFLOW__API__BASE_URL": self.url,
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{user}:{role}" for user, role in roles.items()),
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(passwords),
            "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_urlsafe(32),
            "AIRFLOW__CORE__PARALLELISM": "4",
        }
        self._processes: list[AirflowProcess] = []
        try:
            home.mkdir(parents=True, exist_ok=True)
            passwords.touch(mode=0o600)
            passwords.write_text(json.dumps(dict.fromkeys(roles, self.password)))
            self._migrate()
            where = ("--host", HOST, "--port", str(self._port.number))
            self.api_server = self._start("api-server", *where, "--workers", "1")
            # A task that starts before the server answers fails, and the scheduler starts what is due at once.
            self.api_server._await(self._answers, START_TIMEOUT_S)
            # The log servers of scheduler and triggerer would listen on every address; logs are read from the folder.
            self.scheduler = self._start("scheduler", "--skip-serve-logs")
            self.dag_processor = self._start("dag-processor")
            if triggerer:
                self._start("triggerer", "--skip-serve-logs")
            self.api_server._await(self._is_healthy, START_TIMEOUT_S)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End every process; the database and the logs stay in AIRFLOW_HOME."""
        for process in reversed(self._processes):
            process.stop()
        self._port.close()

    def _start(self, name: str, *arguments: str) -> AirflowProcess:
        process = AirflowProcess(name, self.environment, name, *arguments)
        self._processes.append(process)
        return process

    def _migrate(self) -> None:
        run = subprocess.run(
            [BIN / "airflow", "db", "migrate"],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=MIGRATE_TIMEOUT_S,
        )
        if run.returncode != 0:
            raise PartError(f"`airflow db migrate` ended with status {run.returncode}:\n{run.stdout[-3000:]}")

    def _answers(self) -> bool:
        return bool(self._health())

    def _is_healthy(self) -> bool:
        """Whether the api-server answers and knows of a scheduler that lives."""
        health = self._health()
        parts = ("metadatabase", "scheduler", "dag_processor")
        return bool(health) and all(health[part]["status"] == "healthy" for part in parts)

    def _health(self) -> dict[str, Any]:
        """What the api-server says; empty while nothing answers."""
        try:
            with urllib.request.urlopen(f"{self.url}/api/v2/monitor/health", timeout=5) as answer:
                return dict(json.load(answer))
        except (urllib.error.URLError, OSError, ValueError):
            return {}
