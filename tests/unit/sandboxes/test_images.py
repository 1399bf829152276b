"""Images without an engine: where packages come from, who a room says it is, what of the host is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandboxes.errors import ImageUnavailable
from sandboxes.images import debian
from sandboxes.images.debian import debian_image, sources_for
from sandboxes.images.host import host_image
from sandboxes.images.identity import contents, identity


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))


def test_packages_come_from_the_machines_own_sources_for_that_suite(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text(
        "deb [arch=amd64 signed-by=/k.gpg] http://mirror.invalid/debian bookworm main contrib\n"
        "deb-src http://mirror.invalid/debian bookworm main\n# deb http://off.invalid bookworm main\n"
    )
    (tmp_path / "sources.list.d/d.sources").write_text(
        "# ours\nTypes: deb\nURIs: http://other.invalid\n"
        "Suites: bookworm-security trixie\nComponents: main\n\n"
        "Types: deb\nEnabled: no\nURIs: http://off.invalid\nSuites: bookworm\nComponents: main\n\n"
        "Types: deb-src\nURIs: http://src.invalid\nSuites: bookworm\nComponents: main\n"
    )

    found = sources_for("bookworm", tmp_path)

    assert "URIs: http://mirror.invalid/debian\nSuites: bookworm\nComponents: main contrib\n" in found
    assert "Signed-By: /k.gpg" in found and "Suites: bookworm-security\n" in found
    assert "off.invalid" not in found and "src.invalid" not in found and "trixie" not in found


def test_a_suite_the_machine_does_not_use_comes_from_the_archive_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "os-release").write_text("ID=debian\nVERSION_CODENAME=bookworm\n")
    (tmp_path / "sources.list").write_text(
        "deb http://mirror.invalid/debian bookworm main\ndeb http://safe.invalid bookworm-security main\n"
    )
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d/d.sources").write_text(
        "Types: deb\nURIs: http://m.invalid\nSuites: bookworm bookworm-updates\nComponents: main\n"
    )

    found = sources_for("forky", tmp_path, tmp_path / "os-release")

    assert "URIs: http://mirror.invalid/debian\nSuites: forky\nComponents: main\n" in found
    assert "URIs: http://m.invalid\nSuites: forky\nComponents: main\n" in found
    assert "safe.invalid" not in found and "bookworm" not in found


def test_without_any_source_of_the_machine_a_suite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImageUnavailable, match="no apt source of this machine serves forky"):
        sources_for("forky", tmp_path)


@pytest.mark.parametrize("suite", ["", "../x", "a b", "-o"])
def test_words_that_are_no_suite_never_reach_the_builder(suite: str) -> None:
    with pytest.raises(ImageUnavailable):
        debian_image(suite)


def test_the_candidate_replaces_the_images_own_user_of_that_number(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n")

    found = contents(tmp_path)["etc/passwd"].splitlines()

    assert found == ["root:x:0:0::/root:/bin/sh", "candidate:x:1000:1000:candidate:/home/candidate:/bin/sh"]
    assert (identity(tmp_path) / "etc/passwd").read_text().splitlines() == found


def test_a_user_table_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").symlink_to("/etc/shadow")

    assert contents(tmp_path)["etc/passwd"].startswith("root:x:0:0:root:/root:/bin/sh\n")


def machine(folder: Path) -> Path:
    for name in (
        "usr/bin",
        "usr/lib",
        "usr/local/bin",
        "var/lib/dpkg",
        "etc/php/private",
        "etc/alternatives",
    ):
        (folder / name).mkdir(parents=True)
    for name in ("bin", "lib"):
        (folder / name).symlink_to(f"usr/{name}")
    (folder / "var/lib/dpkg/status").write_text("Package: a\n")
    (folder / "etc/passwd").write_text("alice:x:1001:1001::/home/alice:/bin/sh\n")
    (folder / "etc/php/php.ini").write_text("x=1\n")
    (folder / "etc/php/secret.ini").write_text("password=1\n")
    (folder / "etc/php/secret.ini").chmod(0o640)
    (folder / "etc/alternatives/sh").symlink_to("/usr/bin/dash")
    return folder


def test_the_host_image_shows_usr_and_public_settings_and_no_names(tmp_path: Path) -> None:
    found = host_image(machine(tmp_path / "machine"))

    root = found.lowers[0]
    assert found.binds == ("/usr",) and (root / "bin").readlink() == Path("usr/bin")
    assert (root / "etc/php/php.ini").exists() and (root / "etc/alternatives/sh").is_symlink()
    assert not (root / "etc/php/secret.ini").exists()
    assert "alice" not in (root / "etc/passwd").read_text()


def test_the_host_images_digest_follows_what_is_installed(tmp_path: Path) -> None:
    place = machine(tmp_path / "machine")
    before, again = host_image(place).digest, host_image(place).digest
    (place / "var/lib/dpkg/status").write_text("Package: a\nPackage: b\n")

    assert before == again != host_image(place).digest


def test_a_machine_without_a_merged_usr_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()

    with pytest.raises(ImageUnavailable):
        host_image(tmp_path)


def test_a_recipe_that_cannot_be_built_names_the_package_that_is_not_there() -> None:
    words = "W: x\nE: Version '0.0-1' for 'busybox' was not found\nE: setup failed: E: apt failed\nE: no\n"

    assert debian._reason(words) == "Version '0.0-1' for 'busybox' was not found"
    assert debian._reason("a\nb\nc\nd\n") == "b; c; d"


def test_what_a_recipe_installed_is_read_from_what_was_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path))
    status = tmp_path / "images" / debian._name("bookworm", ("a", "b=2")) / "rootfs/var/lib/dpkg/status"
    status.parent.mkdir(parents=True)
    status.write_text(
        "Package: a\nStatus: install ok installed\nVersion: 1:1.0-1\n\n"
        "Package: gone\nStatus: deinstall ok config-files\nVersion: 9\n\n"
        "Package: b\nStatus: install ok installed\nVersion: 2\n"
    )

    assert debian.installed("bookworm", ("b=2", "a")) == {"a": "1:1.0-1", "b": "2"}
    assert debian.installed("bookworm") == {}
