"""A standalone Spark cluster on 127.0.0.1 for a test: a master and workers, started and stopped by it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path


class Cluster:
    """Use as a context manager; `kill(i)` ends worker i and its executor at once.

    Workers find what the driver finds, unless they are `bare`: then their Python has what it has itself.
    """

    def __init__(self, folder: Path, n_workers: int = 2, bare: bool = False):
        self.folder, self.n_workers, self.bare = folder, n_workers, bare
        self.workers: list[subprocess.Popen] = []
        self.processes: list[subprocess.Popen] = []
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.master = f"spark://127.0.0.1:{self.port}"

    def __enter__(self) -> Cluster:
        try:
            ports = ("--port", str(self.port), "--webui-port", "0")
            self._start("master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", *ports)
            self._wait("master", "I have been elected leader")
            for i in range(self.n_workers):
                options = ("--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g")
                place = ("--work-dir", str(self.folder / f"work{i}"))
                kind = "org.apache.spark.deploy.worker.Worker"
                self.workers.append(self._start(f"worker{i}", kind, *options, *place, self.master))
            for i in range(self.n_workers):
                self._wait(f"worker{i}", "Successfully registered with master")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            self._end(process)

    def kill(self, i: int) -> None:
        """End a worker and the executor that it started."""
        self._end(self.workers[i])

    def _end(self, process: subprocess.Popen) -> None:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # a group of our own making
            process.wait()

    def _start(self, name: str, *command: str) -> subprocess.Popen:
        import pyspark

        home = Path(pyspark.__file__).parent
        environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1"}
        environment |= {"SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_DIRS": str(self.folder / "local")}
        environment["PYTHONPATH"] = os.pathsep.join(os.path.abspath(p) for p in sys.path if p)
        if self.bare:
            for lent in ("PYTHONPATH", "NUMBA_CACHE_DIR"):
                environment.pop(lent, None)
        with open(self.folder / f"{name}.log", "wb") as log:
            process = subprocess.Popen(
                [str(home / "bin" / "spark-class"), *command],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def _wait(self, name: str, words: str, seconds: float = 1800.0) -> None:
        log, end = self.folder / f"{name}.log", time.monotonic() + seconds
        while words not in log.read_text(errors="replace"):
            if time.monotonic() > end:
                raise TimeoutError(f"{name} didn't start: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.2)
