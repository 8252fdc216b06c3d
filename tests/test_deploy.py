"""Settings from flags, variables and files; and the files of ``deploy``, which use them."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from belated import cli
from belated.errors import SpecError
from belated.service import Limits, Settings
from belated.service.settings import TABLE, Configuration, documentation, variable_of
from documents import ROOT
from service_calls import serving

DEPLOY = ROOT / "deploy"


# --- Settings -------------------------------------------------------------------------------------


def test_a_flag_goes_before_a_variable_and_that_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "belated.toml"
    file.write_text('port = 1\nhost = "a"\nrate = 2\nproxy = ["10.0.0.1"]\n')
    environment = {"BELATED_CONFIG": str(file), "BELATED_PORT": "2", "BELATED_HOST": "b"}
    found = Configuration({"port": "3"}, {**environment, "BELATED_TOKENS": ""})
    limits = Limits(rate=2.0)
    expected = Settings(port=3, host="b", proxy=("10.0.0.1",), limits=limits)
    assert found.settings == expected
    sources = {"port": "--port", "host": "BELATED_HOST", "rate": str(file), "proxy": str(file)}
    assert found.sources == sources
    assert Configuration({}, {}).settings == Settings()
    every = {variable_of("proxy"): "10.0.0.1, 10.1.0.0/16"}
    assert Configuration({}, every).settings.proxy == ("10.0.0.1", "10.1.0.0/16")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("prot = 1", "no setting 'prot'; there are: store, host"),
        ('port = "many"', "port is a number, got 'many'"),
        ("port = 1.5", "port is a number"),
        ("port = true", "port is a number"),
        ("host = 1", "host is a text"),
        ('parser = "h2"', "parser is one of h11, httptools, got 'h2'"),
        ("proxy = [1]", "proxy is a text, or a list of texts"),
        ("=", "cannot be read"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(tmp_path: Path, text: str, match: str) -> None:
    file = tmp_path / "belated.toml"
    file.write_text(text)
    with pytest.raises(SpecError, match=match):
        Configuration({"config": str(file)}, {})


def test_no_password_stands_on_the_command_line_or_is_printed(tmp_path: Path) -> None:
    url = "postgresql://user:se%3Acret@host/db"
    with pytest.raises(SpecError, match="PGPASSWORD") as refusal:
        Configuration({"store": url}, {})
    assert "cret" not in str(refusal.value)
    Configuration({"store": "postgresql://user@host/db"}, {})
    found = Configuration({}, {"BELATED_STORE": url})
    assert found.settings.store == url
    shown = tomllib.loads(str(found))
    assert shown["store"] == "postgresql://user:***@host/db"


def test_the_effective_settings_are_printed_as_a_file_that_gives_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens, file = tmp_path / "to\\ken's.json", tmp_path / "printed.toml"
    monkeypatch.setenv("BELATED_TOKENS", str(tokens))
    arguments = ["serve", "--proxy", "10.0.0.1", "--at-once", "7", "--check"]
    assert cli.main(arguments) == 1  # there is no such file
    assert "cannot be read" in capsys.readouterr().err
    assert cli.main([*arguments[:-1], "--add-token", "shop:decide"]) == 0
    capsys.readouterr()
    assert cli.main(arguments) == 0
    file.write_text(capsys.readouterr().out)
    monkeypatch.delenv("BELATED_TOKENS")
    limits = Limits(at_once=7)
    expected = Settings(tokens=str(tokens), proxy=("10.0.0.1",), limits=limits)
    assert Configuration({"config": str(file)}, {}).settings == expected


def test_every_setting_is_documented() -> None:
    assert documentation() in (ROOT / "docs" / "service.md").read_text()


# --- Files ----------------------------------------------------------------------------------------


def parsed(line: str) -> Any:
    """Return the arguments of a command of belated, or fail as the command would."""
    return cli._parser().parse_args(shlex.split(line))


def test_the_image_has_variables_and_a_command_that_there_are() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    last = text.rpartition("\nFROM ")[2]
    assert "USER 10001" in last
    assert "HEALTHCHECK" in last
    variables = set(re.findall(r"\bBELATED_[A-Z_]+", last))
    assert variables <= {variable_of(name) for name in TABLE}
    (entry,) = re.findall(r"^ENTRYPOINT (.*)$", last, re.MULTILINE)
    (command,) = re.findall(r"^CMD (.*)$", last, re.MULTILINE)
    assert json.loads(entry) == ["belated"]
    parsed(shlex.join(json.loads(command)))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (wanted,) = re.findall(r"\$\{wheel\}\[(.*?)\]", text)
    assert set(wanted.split(",")) <= extras["optional-dependencies"].keys()


def test_the_services_of_compose_use_settings_that_there_are() -> None:
    yaml = pytest.importorskip("yaml")
    text = (DEPLOY / "compose.yaml").read_text()
    services = yaml.safe_load(text)["services"]
    server = services["belated"]
    parsed(shlex.join(server["command"]))
    environment = {name: str(value) for name, value in server["environment"].items()}
    found = Configuration({}, environment).settings
    assert {"BELATED_STORE", "BELATED_TOKENS", "BELATED_PROXY"} <= environment.keys()
    assert found.store == "postgresql://belated@postgres/belated"
    assert server["read_only"]
    assert server["cap_drop"] == ["ALL"]
    for line in re.findall(r"belated (serve .*)$", text, re.MULTILINE):
        parsed(line)
    upstream = services["caddy"]["environment"]["BELATED_UPSTREAM"]
    assert upstream == f"belated:{Settings().port}"


def test_the_unit_of_systemd_starts_what_there_is() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "belated.service")
    service = unit["Service"]
    for name in ("ExecStartPre", "ExecStart"):
        program, _, line = service[name].partition(" ")
        assert program.endswith("/belated")
        assert parsed(line).config == "/etc/belated/belated.toml"
    assert parsed(service["ExecStartPre"].partition(" ")[2]).check
    found = Configuration({"config": str(DEPLOY / "belated.toml")}, {}).settings
    assert str(found.store).startswith(service["WorkingDirectory"])


def test_proxies_lead_to_where_the_server_listens() -> None:
    place = f"127.0.0.1:{Settings().port}"
    assert f"proxy_pass http://{place};" in (DEPLOY / "nginx.conf").read_text()
    assert f":{place}}}" in (DEPLOY / "Caddyfile").read_text()
    limit = f"{Limits().upload >> 20}m"
    assert f"client_max_body_size {limit};" in (DEPLOY / "nginx.conf").read_text()
    assert f"max_size {limit.upper()}B" in (DEPLOY / "Caddyfile").read_text()


def test_the_dashboard_of_grafana_draws_metrics_that_there_are(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    dashboard = json.loads((DEPLOY / "grafana.json").read_text())
    texts = [each["expr"] for panel in dashboard["panels"] for each in panel["targets"]]
    texts += [each["query"] for each in dashboard["templating"]["list"]]
    wanted = {name for text in texts for name in re.findall(r"\bbelated_\w+", text)}
    with serving(tmp_path) as ask:
        ask("POST", "/models/value/predict", {"features": {}, "key": "a"})
        found = ask("GET", "/metrics").body.decode()
    assert wanted <= {re.split(r"[{ ]", line)[0] for line in found.splitlines()}
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels) == 8


@pytest.mark.parametrize("program", ["caddy", "nginx", "systemd-analyze"])
def test_programs_accept_their_files(tmp_path: Path, program: str) -> None:
    """Where they are installed, the programs themselves read what is theirs."""
    found, openssl = shutil.which(program), shutil.which("openssl")
    if found is None or openssl is None:
        pytest.skip(f"no {program} here")
    text = {name: (DEPLOY / name).read_text() for name in ("nginx.conf", "belated.service")}
    if program == "caddy":
        command = ["validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "Caddyfile")]
    elif program == "nginx":
        made = f"req -x509 -newkey rsa:2048 -nodes -keyout {tmp_path}/privkey.pem -subj /CN=x"
        made += f" -out {tmp_path}/fullchain.pem"
        subprocess.run([openssl, *made.split()], check=True, capture_output=True)
        inner, outer = tmp_path / "belated.conf", tmp_path / "nginx.conf"
        inner.write_text(text["nginx.conf"].replace("/etc/ssl/belated", str(tmp_path)))
        head = f"pid {tmp_path}/pid;\nerror_log {tmp_path}/log;\nevents {{}}\n"
        outer.write_text(f"{head}http {{ access_log off; include {inner}; }}\n")
        command = ["-t", "-c", str(outer)]
    else:
        unit = tmp_path / "belated.service"
        unit.write_text(text["belated.service"].replace("/opt/belated/bin/belated", "/bin/true"))
        command = ["verify", str(unit)]
    done = subprocess.run([found, *command], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
