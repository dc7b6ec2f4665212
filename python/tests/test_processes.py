"""Threads, fork, spawn, pickling and Ctrl-C."""

import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import biowarp


def in_child(run, seconds=60):
    """Forks, runs `run` in the child and returns its exit status; a child that hangs is killed and fails."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = 0 if run() else 2
        finally:
            os._exit(status)
    timer = threading.Timer(seconds, os.kill, (pid, signal.SIGKILL))
    timer.start()
    _, status = os.waitpid(pid, 0)
    timer.cancel()
    return status


def test_threads_share_a_model(model, short):
    expected = model.encode(short)
    with ThreadPoolExecutor(4) as pool:
        for rows in pool.map(lambda _: model.encode(short), range(8)):
            assert np.array_equal(rows, expected)


def test_other_threads_run_meanwhile(model, short):
    """The GIL is free while the model computes."""
    ticks = 0
    done = threading.Event()

    def count():
        nonlocal ticks
        while not done.is_set():
            ticks += 1

    thread = threading.Thread(target=count)
    thread.start()
    try:
        before = ticks
        model.encode(short)
        assert ticks > before + 100
    finally:
        done.set()
        thread.join()


def test_number_of_threads_changes_no_bit(model, short):
    one = biowarp.Model.from_pretrained(threads=1)
    three = biowarp.Model.from_pretrained(threads=3)
    assert (one.info.threads, three.info.threads) == (1, 3)
    assert np.array_equal(one.encode(short), model.encode(short))
    assert np.array_equal(three.encode(short), model.encode(short))


def test_fork_after_use(model, short):
    expected = model.encode(short)
    assert in_child(lambda: np.array_equal(model.encode(short), expected)) == 0
    assert np.array_equal(model.encode(short), expected)


def test_fork_before_use(short, model):
    fresh = biowarp.Model.from_pretrained(threads=2)
    assert in_child(lambda: np.array_equal(fresh.encode(short), model.encode(short))) == 0


def test_fork_while_another_thread_computes(model, short):
    expected = model.encode(short)
    started = threading.Event()
    thread = threading.Thread(target=lambda: model.encode(short * 4, tokens=512, progress=lambda *_: started.set()))
    thread.start()
    started.wait(60)
    status = in_child(lambda: np.array_equal(model.encode(short), expected))
    thread.join()
    assert status == 0


def encode_in_worker(model, sequence):
    return model.encode(sequence)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(model, short, method):
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        rows = pool.starmap_async(encode_in_worker, [(model, text) for text in short[:4]]).get(timeout=120)
    assert np.array_equal(np.stack(rows), model.encode(short[:4]))


def test_pickle_keeps_options():
    model = biowarp.Model.from_pretrained("random:8M:3", threads=1)
    again = pickle.loads(pickle.dumps(model))
    assert again.info == model.info
    assert np.array_equal(again.encode("MKTAYIAK"), model.encode("MKTAYIAK"))


def test_pickle_of_a_model_that_changed(tmp_path, model, monkeypatch):
    folder = tmp_path / "m"
    shutil.copytree(model.info.path, folder)
    monkeypatch.chdir(tmp_path)
    pickled = pickle.dumps(biowarp.Model.from_pretrained("m"))
    monkeypatch.chdir("/")
    pickle.loads(pickled)  # a relative folder holds from elsewhere
    with open(folder / "model.safetensors", "r+b") as file:
        file.seek(-2, os.SEEK_END)
        last = file.read(2)
        file.seek(-2, os.SEEK_END)
        file.write(bytes([last[0] ^ 1, last[1]]))
    with pytest.raises(biowarp.InputError, match="changed since it was pickled"):
        pickle.loads(pickled)


def test_keyboard_interrupt_between_batches():
    program = """
import os, signal, biowarp
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
model = biowarp.Model.from_pretrained()
def press(done, total):
    if done < total:
        os.kill(os.getpid(), signal.SIGINT)
try:
    model.encode(["MKTAYIAKQR" * 20] * 50, tokens=256, progress=press)
except KeyboardInterrupt:
    print("interrupted", model.encode("MKT").shape)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith("interrupted"), done.stderr
