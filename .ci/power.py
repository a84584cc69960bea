"""Failures of the file system for tests of pages: a power cut or an error at each file operation in turn."""
import itertools
import os
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import safetensors.torch

FILE_EVENTS = {'open', 'os.mkdir', 'os.rename', 'os.remove', 'os.rmdir', 'os.chmod', 'os.scandir', 'os.listdir', 'fsync', 'save_file'}

class PowerCut(BaseException):
    "Is not caught by the tested code."

power = dict(on=False)
trail = [] # (event, path or number of the file) of the last call
save_file = safetensors.torch.save_file

def watch(event, args, power=power):
    "Audit hook: stop before operation `left`, and before all later ones, or let this one fail with an error"
    if not power['on'] or event not in FILE_EVENTS or threading.get_ident() != power['thread']: return
    trail.append((event, args[0]))
    power['left'] -= 1
    if power['error'] is None and power['left'] < 0: raise PowerCut
    if power['error'] and power['left'] == -1: raise power['error']

def save_in_two(tensors, path, *args, **kwargs):
    sys.audit('save_file', path)
    Path(path).write_bytes(b'half a file')
    sys.audit('save_file', path)
    save_file(tensors, path, *args, **kwargs)

@contextmanager
def announced():
    "Make flushes and files of tensors visible to the audit hook; the test does not wait for the disk"
    with patch('os.fsync', lambda fd: sys.audit('fsync', fd)), patch('safetensors.torch.save_file', save_in_two): yield

def fail_at(n, call, error=None):
    "Stop a call before its file operation n, or let this operation fail; False: it has fewer"
    trail.clear()
    power.update(on=True, left=n, error=error, thread=threading.get_ident())
    try:
        with announced(): call()
    except (PowerCut, OSError): pass
    finally: power['on'] = False
    return power['left'] < 0

def failures(call, error=None):
    "Stop a call at each of its operations in turn"
    for n in itertools.count():
        stopped = fail_at(n, call, error)
        yield n
        if not stopped: return

def versions_found(write, read, error=None):
    "What a reader finds after each failure of the second of two saves; write and read are functions of a version and of nothing"
    found = []
    write('old')
    for _ in failures(lambda: write('new'), error):
        found.append(read())
        write('old')
    return found

def refuse_flush(number, folders=True, files=False):
    "Let flushes fail with an error number, as file systems do that cannot flush folders"
    flush = os.fsync
    def fsync(fd):
        folder = os.path.isdir(os.readlink(f'/proc/self/fd/{fd}'))
        if folders if folder else files: raise OSError(number, os.strerror(number))
        flush(fd)
    return patch('os.fsync', fsync)

sys.addaudithook(watch)
