"""Gets a new token of Airflow's for Prometheus' scrape: for a cron job, more often than a token lasts.

    AIRFLOW_USER=prometheus AIRFLOW_PASSWORD=... python renew_token.py https://airflow.example.com TOKEN_FILE

Prometheus reads the file of `authorization.credentials_file` at each scrape. The file is replaced as a whole.
"""

import json
import os
import sys
import urllib.request
from pathlib import Path


def main(url: str, file: Path) -> None:
    login = {"username": os.environ["AIRFLOW_USER"], "password": os.environ["AIRFLOW_PASSWORD"]}
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url.rstrip('/')}/auth/token", json.dumps(login).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        token = json.load(answer)["access_token"]
    new = file.with_name(f"{file.name}.new")
    new.touch(mode=0o640)
    new.write_text(token)
    new.replace(file)


if __name__ == "__main__":
    try:
        main(sys.argv[1], Path(sys.argv[2]))
    except (IndexError, KeyError, OSError, ValueError) as error:
        sys.exit(f"The token was not renewed, and the earlier file is as it was: {type(error).__name__} {error}.")
