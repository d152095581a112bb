"""`subworlds doctor`, on this machine and on one that lacks a layer."""

from __future__ import annotations

import pytest

from subworlds.cli import doctor
from subworlds.sandbox import Finding
from subworlds.sandbox.layers import LANDLOCK_TCP, LAYERS, SECCOMP, Layer

from .conftest import Command


def test_every_layer_is_tried_and_the_mandatory_ones_are_here(subworlds: Command) -> None:
    ran = subworlds("doctor", "--json")
    assert ran.status == 0
    assert ran.json["confined"]
    assert [layer["name"] for layer in ran.json["layers"]] == [layer.name for layer in LAYERS]
    assert all(layer["reason"] and layer["gives"] for layer in ran.json["layers"])
    assert all(layer["present"] for layer in ran.json["layers"] if layer["mandatory"])


def test_the_page_for_people_names_every_layer(subworlds: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "probe_layers", lambda: [Finding(layer, True, "tried") for layer in LAYERS])
    ran = subworlds("doctor")
    assert ran.status == 0
    assert all(layer.name in ran.out for layer in LAYERS)


@pytest.mark.parametrize(("lost", "status"), [(SECCOMP, 1), (LANDLOCK_TCP, 0)])
def test_only_a_missing_mandatory_layer_is_a_failure(
    subworlds: Command, monkeypatch: pytest.MonkeyPatch, lost: Layer, status: int
) -> None:
    found = [Finding(layer, layer != lost, "as told") for layer in LAYERS]
    monkeypatch.setattr(doctor, "probe_layers", lambda: found)
    ran = subworlds("doctor")
    assert ran.status == status
    assert (lost.name in ran.err and "--allow-unconfined" in ran.err) == bool(status)
