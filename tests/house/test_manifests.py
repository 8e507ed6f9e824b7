"""The manifests of docs/install/kubernetes.md are what Kubernetes takes, by its own schemas."""

from __future__ import annotations

import copy
import os
from typing import Any

import pytest
import yaml

from kafka_s3.errors import EXIT_CONFIGURATION, EXIT_DATA
from tests.house.pages import blocks, page

RELEASES = ("1.30", "1.33", "1.37")
MANIFESTS = [yaml.safe_load(block) for block in blocks(page("install/kubernetes.md"), "yaml")]
#: Kubernetes has no schema of these: the operator's own kind, and values of a chart.
OTHERS = {"SparkConnect", ""}


def of_kubernetes() -> dict[str, dict[str, Any]]:
    """Each manifest by its kind; the part of a pod as a pod."""
    found = {}
    for each in MANIFESTS:
        whole = each
        if "containers" in each:
            whole = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "part"}, "spec": each}
        if whole.get("kind", "") not in OTHERS:
            found[whole["kind"]] = whole
    return found


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("kind", ["Pod", "ServiceAccount", "Role", "RoleBinding", "CronJob"])
def test_kubernetes_takes_the_manifests(kind: str, release: str) -> None:
    """By the schema of the release, in which a name that there is not is an error."""
    if os.environ.get("CI") != "true":
        pytest.importorskip("kubernetes_validate", reason="make setup installs it")
    import kubernetes_validate

    manifest = of_kubernetes()[kind]
    kubernetes_validate.validate(manifest, release, strict=True)
    wrong = copy.deepcopy(manifest)
    wrong["metadata"]["nmae"] = "a misspelt one"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, release, strict=True)


def test_a_job_ends_at_once_where_a_retry_is_of_no_use() -> None:
    """The statuses of the CronJob are those that are final for Airflow's task too."""
    job = of_kubernetes()["CronJob"]["spec"]["jobTemplate"]["spec"]
    [rule] = job["podFailurePolicy"]["rules"]
    assert (rule["action"], rule["onExitCodes"]["values"]) == ("FailJob", [EXIT_DATA, EXIT_CONFIGURATION])
