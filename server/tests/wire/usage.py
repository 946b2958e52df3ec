"""What a process has used, as the kernel counts it, independent of what the server says itself."""

import os
import threading

CLOCK_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
SAMPLE_S = 0.2


def cpu_s(pid):
    """User and system CPU seconds of all threads so far, to the kernel's tick."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS_PER_S


def device_bytes(pid):
    """Bytes (read from, written to) block devices so far."""
    with open(f"/proc/{pid}/io") as file:
        fields = dict(line.split(": ") for line in file.read().splitlines())
    return int(fields["read_bytes"]), int(fields["write_bytes"])


def resident_bytes(pid):
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    return 0


class ResidentPeak:
    """Samples resident memory while a `with` block runs; `bytes` is the largest seen."""

    def __init__(self, pid):
        self._pid = pid
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.bytes = 0

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        self._thread.join()

    def _sample(self):
        while True:
            try:
                self.bytes = max(self.bytes, resident_bytes(self._pid))
            except OSError:
                return
            if self._done.wait(SAMPLE_S):
                return
