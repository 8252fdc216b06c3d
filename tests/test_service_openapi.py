"""A client that is generated from the description of the server works."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="uvicorn is not installed")

from belated.service.routes import description
from service_calls import serving

CONFIG = """
post_hooks: []
content_type_overrides:
  application/vnd.apache.parquet: application/octet-stream
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a generated client."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "openapi.json").write_text(json.dumps(description()))
    (folder / "config.yml").write_text(CONFIG)
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none"]
    more = ["--path", "openapi.json", "--output-path", "shop_client", "--config", "config.yml"]
    done = subprocess.run(
        [*command, "--fail-on-warning", *more], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_a_generated_client_predicts_chooses_observes_and_reports(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(folder))
    made: Any = importlib.import_module("shop_client")
    models: Any = importlib.import_module("shop_client.models")

    def call(name: str, *given: Any, **named: Any) -> Any:
        found = importlib.import_module(f"shop_client.api.{name}")
        return found.sync(*given, client=client, **named)

    with serving(tmp_path) as ask:
        client = made.AuthenticatedClient(ask.server.url, str(ask.token))
        row = models.PredictFeaturesType0.from_dict({"hour": 7.0, "page": "shoes"})
        said = call("events.post_models_name_predict", "value", body=models.Predict(row, key="k"))
        assert (said.outcome, said.value) == ("applied", 0.0)
        told = models.Observe(1.0, key="k")
        assert call("events.post_models_name_observe", "value", body=told).outcome == "applied"
        many = models.ObserveItems([told, told])
        again = call("events.post_models_name_observe", "value", body=many)
        assert [each.outcome for each in again.items] == ["duplicate"] * 2
        context = models.ChooseContextType0.from_dict({"hour": 7.0})
        chosen = call("events.post_models_name_choose", "layout", body=models.Choose(context))
        assert chosen.action in ("blue", "green")
        refused = call("events.post_models_name_choose", "none", body=models.Choose(context))
        assert refused.error.code == "unknown_model"
        report = call("models.get_models_name_report", "value")
        assert report["rounds"] == 1
        ranked = models.Rank([models.RankAction("a"), models.RankAction("b")])
        found = call("personalizer.post_models_name_rank", "layout", body=ranked)
        assert found.reward_action_id in ("a", "b")
        client.get_httpx_client().close()
