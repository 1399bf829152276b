"""Images: stacked folders become one, and registries that refuse are asked again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import requests
from docker.errors import APIError

from sandboxes.docker import images
from sandboxes.docker.failure import ImageLost, PullRefused, translated
from sandboxes.docker.images import Images, merged
from sandboxes.errors import ImageUnavailable
from sandboxes.spec import Image


def test_what_lies_on_top_hides_what_lies_below_and_no_name_comes_twice(tmp_path: Path) -> None:
    above, below = tmp_path / "above", tmp_path / "below"
    for path in (above / "etc/passwd", below / "etc/passwd", below / "etc/shells", below / "proc/1/stat"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (below / "bin").symlink_to("usr/bin")

    found = merged([above, below])

    assert [name for name, _ in found] == ["bin", "etc", "etc/passwd", "etc/shells", "proc"]
    assert dict(found)["etc/passwd"] == str(above / "etc/passwd")


class Registry:
    """An engine whose registry refuses the first so many pulls."""

    def __init__(self, refusals: int) -> None:
        self.refusals, self.pulls, self.held = refusals, 0, False

    def image(self, ref: str) -> dict[str, Any] | None:
        return {"Id": "sha256:1"} if self.held else None

    def pull(self, ref: str) -> None:
        self.pulls += 1
        if self.pulls <= self.refusals:
            raise PullRefused("toomanyrequests")
        self.held = True


def test_a_registry_that_is_asked_too_much_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "PULL_PAUSES", (0.0, 0.0, 0.0))
    registry = Registry(refusals=3)

    found = Images(registry).base(Image("image", "x:1"))  # type: ignore[arg-type]

    assert found.id == "sha256:1" and registry.pulls == 4


def test_what_a_registry_refused_to_the_last_is_not_asked_for_by_every_trial(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(images, "PULL_PAUSES", (0.0, 0.0))
    registry = Registry(refusals=100)
    wanted = Images(registry)  # type: ignore[arg-type]

    for _ in range(5):
        with pytest.raises(ImageUnavailable, match="toomanyrequests"):
            wanted.base(Image("image", "x:1"))

    assert registry.pulls == 3


def test_a_stop_does_not_wait_for_a_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "PULL_PAUSES", (3600.0,))
    registry = Registry(refusals=100)
    wanted = Images(registry)  # type: ignore[arg-type]
    wanted.stop()

    with pytest.raises(ImageUnavailable):
        wanted.base(Image("image", "x:1"))

    assert registry.pulls == 1


@pytest.mark.parametrize(
    ("status", "said", "kind"),
    [
        (429, "slow down", PullRefused),
        (500, "toomanyrequests: You have reached your pull rate limit", PullRefused),
        (404, "No such image: x:1", ImageLost),
        (500, "manifest unknown", ImageUnavailable),
    ],
)
def test_what_an_engine_says_of_an_image_is_told_apart(
    status: int, said: str, kind: type[ImageUnavailable]
) -> None:
    answer = requests.Response()
    answer.status_code = status

    with pytest.raises(ImageUnavailable) as told, translated("pulling x:1", ImageUnavailable):
        raise APIError("no", response=answer, explanation=said)

    assert type(told.value) is kind
    assert told.value.retryable is (kind is ImageLost)
