"""ingot.cache: what the cache of compiled kernels holds, and making it smaller."""
import os
import time
from datetime import datetime, timezone

import pytest

import ingot

BLOCK = 4096


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of five kernels, used 0 to 4 days ago, and a file of someone else's."""
    path = tmp_path / "cache"
    (path / "ab").mkdir(parents=True)
    path.chmod(0o700)
    for days in range(5):
        file = path / "ab" / f"ab{days:062x}.ingot"
        file.write_bytes(b"x" * 5000)
        moment = time.time() - days * 86400
        os.utime(file, (moment, moment))
    (path / "ab" / "notes.txt").write_text("mine")
    monkeypatch.setenv("INGOT_CACHE_DIR", str(path))
    monkeypatch.delenv("INGOT_CACHE_LIMIT", raising=False)
    return path


def test_info(folder, monkeypatch):
    info = ingot.cache.info()
    assert info[:5] == (str(folder), 1 << 30, 5 * 2 * BLOCK, 5, 5)
    assert abs((datetime.now(timezone.utc) - info.oldest).total_seconds() - 4 * 86400) < 60
    monkeypatch.setenv("INGOT_CACHE_LIMIT", "none")
    assert ingot.cache.info().limit is None


def test_trim_and_clear(folder):
    assert ingot.cache.trim("20K") == 3 * 2 * BLOCK
    assert sorted(os.listdir(folder / "ab")) == [f"ab{days:062x}.ingot" for days in range(2)] + ["notes.txt"]
    assert ingot.cache.trim(2 * BLOCK) == 2 * BLOCK
    assert ingot.cache.clear() == 2 * BLOCK
    assert ingot.cache.info()[2:] == (0, 0, 0, None)
    assert os.listdir(folder / "ab") == ["notes.txt"]


def test_bad_values(folder, monkeypatch):
    for size in (-1, "much", ""):
        with pytest.raises(ingot.Error, match=f'size is "{size}"') as caught:
            ingot.cache.trim(size)
        assert caught.value.status == "INGOT_INVALID_ARGUMENT"
    for size in (None, 1.5, True):
        with pytest.raises(TypeError, match=type(size).__name__):
            ingot.cache.trim(size)
    monkeypatch.setenv("INGOT_CACHE_LIMIT", "5x")
    with pytest.raises(ingot.Error, match='INGOT_CACHE_LIMIT is "5x"'):
        ingot.cache.info()
    monkeypatch.delenv("INGOT_CACHE_LIMIT")
    folder.chmod(0o777)
    with pytest.raises(ingot.Error, match="no cache folder"):
        ingot.cache.info()
    assert len(os.listdir(folder / "ab")) == 6
