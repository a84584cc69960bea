"""Tests of proof.py, on a package of two modules in a temporary folder. `python .ci/test_proof.py` runs them."""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module, reload
from io import StringIO
from pathlib import Path
from time import monotonic
from types import ModuleType
from unittest import mock

from fastcore.test import expect_fail, test_eq

import proof
from proof import (
    Cell,
    NotebookResult,
    as_nobody,
    borrowed_module,
    bound_names,
    case_counts,
    check_in_processes,
    check_mutant,
    check_notebook,
    first_sentence,
    in_processes,
    mutate,
    notebooks_of,
    read_notebook,
    try_cases,
    with_fault,
)

temporary = tempfile.TemporaryDirectory()
folder = Path(temporary.name).resolve()
CODE = '''def mean(xs):
    total = _total(xs)
    return total / len(xs)

def _total(xs): return sum(xs)
'''
SPREAD = '''from toy import averages
from .averages import mean
def spread(xs): return averages.mean([abs(x - mean(xs)) for x in xs])
'''
MODULE, EXPORT = '#| default_exp averages', '#| exports\n' + CODE

def write_notebook(name, *cells):
    "Write a notebook; strings that begin with a capital letter or # become Markdown cells."
    kinds = ['markdown' if re.match(r'[A-Z]|#+ ', c) else 'code' for c in cells]
    content = dict(cells=[dict(cell_type=k, source=c.splitlines(True)) for k, c in zip(kinds, cells)])
    path = folder/name
    path.write_text(json.dumps(content), encoding='utf-8')
    return path

def write_module(name, source):
    (folder/f'toy/{name}.py').write_text(source)
    for module in [m for m in sys.modules if m.split('.')[0] == 'toy']: del sys.modules[module]

def ask():
    mean, spread = import_module('toy.averages').mean, import_module('toy.spread').spread
    return mean([2, 6]), spread([2, 6])

(folder/'toy').mkdir()
(folder/'toy/__init__.py').touch()
sys.path.insert(0, str(folder))
write_module('averages', CODE)
write_module('spread', SPREAD)
notebook = write_notebook(
    '10_averages.ipynb', '# Averages', MODULE, 'Now the mean.', EXPORT, 'The total is right. It is private.', 'assert _total([1, 2, 3]) == 6',
    '## Values\n\nThe mean of three numbers is known. Others are not.', 'assert mean([1, 2, 6]) == 3')
above = write_notebook(
    '20_spread.ipynb', '#| default_exp spread', 'The spread of two numbers is half their distance.', 'assert spread([2, 6]) == 2',
    'from toy.averages import _total\nassert _total([1, 2]) == 3')

def test_read_notebook():
    name, cells = read_notebook(notebook)
    test_eq(name, 'averages')
    test_eq([(c.number, c.claim) for c in cells],
            [(1, 'Averages'), (3, 'Now the mean.'), (5, 'The total is right.'), (7, 'The mean of three numbers is known.')])
    test_eq(cells[-1].heading, 'Values')
    test_eq(first_sentence('**Check.** Each of [10_masks](10_masks.ipynb)\nis *true*, i.e. not false: see\nthere. Or not.'),
            'Each of 10_masks is *true*, i.e. not false: see there.')
    _, (table,) = read_notebook(write_notebook('20_try.ipynb', '# A\n\nA claim. More.\n\n| a | b |\n|---|---|', '1'))
    test_eq((table.heading, table.claim), ('A', 'A claim.'))
    with expect_fail(ValueError, 'averages.py is not a notebook'): read_notebook(folder/'toy/averages.py')
    with expect_fail(FileNotFoundError): read_notebook(folder/'missing.ipynb')
    for content in ('{"cells": 5}', '{"cells": [{}]}', '[]'):
        (folder/'odd.ipynb').write_text(content)
        with expect_fail(ValueError, 'is not a notebook'): read_notebook(folder/'odd.ipynb')
    (folder/'odd.ipynb').unlink()

def test_directive():
    cell = Cell(3, '\n#| hide\n#| eval: false\n1 / 0 #| exports', '', '')
    assert cell.directive('hide') and cell.directive(r'eval:\s*false') and not cell.directive('export')

def test_bound_names():
    source = ('import os.path as p\nfrom math import pi\ndef f(a): b = 1\nclass C: d = 2\n'
              'for i in (x := [j for j in f]): pass\ng.h = 3')
    test_eq(bound_names(source), {'p', 'pi', 'f', 'C', 'i', 'x'})
    test_eq(bound_names('# nothing'), set())

def test_borrowed_module():
    module = ModuleType('lent')
    module.kept = module.changed = 1
    with borrowed_module(module) as own:
        module.new, module.changed = 2, 2
        del module.kept
        assert sys.modules['lent'] is module and own['changed'] == 1
    test_eq({name: x for name, x in vars(module).items() if not name.startswith('_')}, dict(kept=1, changed=1))
    assert 'lent' not in sys.modules

def test_damaged_module():
    "A damaged module fails, in the cell that tests its values; the usual way of running does not notice it."
    write_module('averages', CODE.replace('/ len(xs)', '/ 2'))
    names = {}
    for cell in read_notebook(notebook)[1]: exec(cell.source, names)
    result = check_notebook(notebook, 'toy')
    test_eq((result.notebook, result.cell.number, result.cell.claim, result.error),
            ('10_averages', 7, 'The mean of three numbers is known.', 'AssertionError'))
    assert 'cell 7>' in result.trace and 'assert mean([1, 2, 6]) == 3' in result.trace
    assert check_notebook(notebook, 'toy', until=5).passed and not check_notebook(notebook, 'toy', until=7).passed
    assert check_notebook(notebook, 'toy', without=['Values']).passed and not check_notebook(notebook, 'toy', without=['Averages']).passed
    test_eq(str(NotebookResult('a', 'E', None, 1)), 'a: failed after 1.0 s, on import: E')
    assert NotebookResult('a').passed and not NotebookResult('a', 'E').passed

def test_check_notebook():
    seen = []
    assert check_notebook(notebook, 'toy', on_cell=lambda c: seen.append(c.number)).passed and check_notebook(above, 'toy').passed
    test_eq(seen, [1, 3, 5, 7])
    test_eq([name for name in vars(sys.modules['toy.averages']) if not name.startswith('__')], ['mean', '_total'])
    def check(*cells): return check_notebook(write_notebook('20_try.ipynb', *cells), 'toy')
    assert check(MODULE, 'def mean(xs): return 0', EXPORT, 'assert mean([1, 2, 6]) == 3').passed
    assert not check(MODULE, EXPORT, 'def mean(xs): return 0', 'assert mean([1, 2, 6]) == 3').passed
    patched = 'with mock.patch.dict(globals(), _total=lambda xs: 30): assert mean([1, 2, 6]) == 10'
    assert check(MODULE, EXPORT, 'from unittest import mock\n' + patched).passed
    assert check(MODULE, '#| eval: false\n1 / 0', "assert open('20_try.ipynb').read()", "print('never seen')").passed
    test_eq(check(MODULE, 'import sys; sys.exit(3)').error, 'SystemExit: 3')
    dataclass = '#| exports\nfrom dataclasses import dataclass\n@dataclass\nclass P:\n    x:int'
    assert check(dataclass, "assert P(3).x == 3 and __name__ == '20_try'").passed
    test_eq(check('#| default_exp nowhere').error, "ModuleNotFoundError: No module named 'toy.nowhere'")
    test_eq(check('1 +').error[:12], 'SyntaxError:')
    hostile = write_notebook('20_hostile.ipynb', MODULE, '#| abuse\n1 / 0')
    assert check_notebook(hostile, 'toy', abuse=False).passed and not check_notebook(hostile, 'toy').passed
    hostile.unlink()

def test_namespace():
    "Why tests run in the module's own names: a patched copy of them patches nothing."
    averages, results = import_module('toy.averages'), []
    source = 'with mock.patch.dict(globals(), _total=lambda xs: 30): results.append(mean([1, 2, 6]))'
    exec(source, vars(averages) | dict(mock=mock, results=results))
    with borrowed_module(averages):
        vars(averages).update(mock=mock, results=results)
        exec(source, vars(averages))
    test_eq(results, [3, 10])

def test_reload_is_not_enough():
    "Why `install_mutant` imports the whole package anew: a reloaded module leaves the old names in others."
    ask()
    averages, spread = import_module('toy.averages'), import_module('toy.spread')
    (folder/'toy/averages.py').write_text(CODE.replace('/ len(xs)', '/ 1'))
    reload(averages)
    test_eq((averages.mean([2, 6]), spread.mean([2, 6])), (8, 4))

def spawn(send):
    send(subprocess.Popen(['sleep', '60']).pid)
    time.sleep(60)

def alive(pid):
    try:
        if not Path('/proc').exists(): return not os.kill(pid, 0)
        return 'Z' not in Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0]
    except (FileNotFoundError, ProcessLookupError): return False

def test_processes():
    works = [lambda send: send('done'), lambda send: time.sleep(60), lambda send: [send(i) for i in range(3)], lambda send: os._exit(1)]
    test_eq(sorted(in_processes(works, limit=2, workers=2)), [(0, ['done'], False), (1, [], True), (2, [0, 1, 2], False), (3, [], False)])
    start, children = monotonic(), in_processes([spawn, lambda send: send(1)], workers=2)
    test_eq(next(children), (1, [1], False))
    children.close() # the first is still asleep
    assert monotonic() - start < 30
    ((_, (grandchild,), late),) = in_processes([spawn], limit=2)
    for _ in range(50):
        if alive(grandchild): time.sleep(.05) # a killed process takes a moment
    assert late and not alive(grandchild)

def test_as_nobody():
    shut = folder/'shut'
    shut.mkdir(mode=0o555)
    folder.chmod(0o755) # so that no caller reads further
    assert 'Permission denied' in as_nobody(lambda: (shut/'new').mkdir())
    test_eq((as_nobody(lambda: list(shut.iterdir())), [*shut.iterdir()]), (None, []))
    with expect_fail(RuntimeError, 'more than 0.2 s'): as_nobody(lambda: time.sleep(60), .2)
    with expect_fail(RuntimeError, 'died'): as_nobody(lambda: os._exit(1))

def test_check_in_processes():
    endless = write_notebook('20_endless.ipynb', MODULE, EXPORT, 'The sum has an end.', 'while True: _total([1])')
    deadly = write_notebook('30_deadly.ipynb', MODULE, EXPORT, 'Nothing breaks.', 'import os; os._exit(1)')
    fine, hung, dead = sorted(check_in_processes(notebook, endless, deadly, package='toy', limit=2, workers=3), key=lambda r: r.notebook)
    assert fine.passed
    test_eq((hung.error, hung.cell.claim), ('Timeout: more than 2 s', 'The sum has an end.'))
    test_eq((dead.error, dead.cell.claim), ('Crash: the process died', 'Nothing breaks.'))

def test_mutate():
    test_eq(mutate('averages', '/ len(xs)', '/ 2', package='toy'), CODE.replace('/ len(xs)', '/ 2'))
    for old, new, message in (('nonsense', '', 'occurs 0 times'), ('total', '', 'times'), ('/ len(xs)', '/ len(xs)', 'fragment'),
                              ('/ len(xs)', '/', 'is not Python')):
        with expect_fail(ValueError, message): mutate('averages', old, new, package='toy')
    with expect_fail(ValueError, 'not in toy'): mutate('middle', 'a', 'b', package='toy')
    write_module('third', 'def mean(xs):\n    "The sum, / len(xs)."\n    return sum(xs) / len(xs)\n')
    with expect_fail(ValueError, "'/ len(xs)' occurs 2 times in third"): mutate('third', '/ len(xs)', '/ 2', package='toy')

def test_check_mutant():
    check = partial(check_mutant, module='averages', package='toy')
    test_eq(check(notebook, old='/ len(xs)', new='/ 2').cell.number, 7)
    test_eq(check(above, old='/ len(xs)', new='/ 1').cell.number, 2)
    test_eq(check(above, old='return sum(xs)', new='return sum(xs) + (len(xs) == 2) * xs[0]').cell.number, 2)
    assert check(above, old='return sum(xs)', new='return sum(xs) * 1').passed # no fault, nothing to find
    test_eq(check(notebook, old='return sum(xs)', new='\n    while True: pass', limit=2).error, 'Timeout: more than 2 s')
    with expect_fail(FileNotFoundError): check(folder/'missing.ipynb', old='/ len(xs)', new='/ 2')
    with expect_fail(TypeError): check(notebook, old='/ len(xs)', new='/ 2', untill=3)
    broken = check(notebook, old='def mean', new='1 / 0\ndef mean')
    test_eq((broken.error, broken.cell), ('ZeroDivisionError: division by zero', None))
    assert check_notebook(notebook, 'toy').passed and check_notebook(above, 'toy').passed
    source = "import inspect\nassert '/ 2' in inspect.getsource(mean) and mean.__module__ == 'toy.averages'"
    curious = write_notebook('30_curious.ipynb', MODULE, source)
    assert check(curious, old='    return total / len(xs)', new='    # a line more\n    return total / 2').passed

def test_with_fault():
    test_eq(with_fault(ask, 'averages', '/ len(xs)', '/ 1', package='toy'), (8, 8))
    test_eq(ask(), (4, 2))
    with expect_fail(RuntimeError, 'no result within 0.1 s'): with_fault(lambda: time.sleep(9), 'averages', '/ len(xs)', '/ 1', .1, 'toy')

def test_notebooks_of():
    test_eq([path.name for path in notebooks_of('averages', folder, 'toy')], ['10_averages.ipynb', '20_spread.ipynb'])
    test_eq([path.name for path in notebooks_of('spread', folder, 'toy')], ['20_spread.ipynb'])
    with expect_fail(ValueError, "exports module='middle'"): notebooks_of('middle', folder, 'toy')

def test_try_cases():
    def check_parity(number, even): assert (number % 2 == 0) == even
    before = dict(case_counts)
    try_cases(check_parity, [(0, True), (7, False), (-2, True)])
    with expect_fail(AssertionError, '2 cases fail:\n(1, True)'): try_cases(check_parity, [(1, True), (2, True), ('x', True)])
    test_eq(case_counts, dict(tried=before['tried'] + 6, failed=before['failed'] + 2))
    case_counts.update(before)

def command(*words):
    "Status and output of the command, run in this process."
    for name in [name for name in sys.modules if name.split('.')[0] == 'toy']: del sys.modules[name]
    output = StringIO()
    try:
        with redirect_stdout(output): proof.main(['--package', 'toy', *map(str, words)])
    except SystemExit as e: return e.code, output.getvalue()
    return 0, output.getvalue()

def test_command():
    code, output = command(notebook, above, '--workers', 2)
    test_eq((code, output.count(': passed in')), (0, 2))
    write_module('averages', CODE.replace('/ len(xs)', '/ 1'))
    code, output = command('--nbs', folder)
    test_eq((code, output.count(': failed after')), (1, 2))
    assert 'cell 7, “The mean of three numbers is known.”: AssertionError' in output and 'assert mean([1, 2, 6]) == 3' in output
    code, output = command('--module', 'averages', '--nbs', folder)
    test_eq((code, output.count(': failed after'), output[:11]), (1, 1, '10_averages'))
    assert command('--nbs', folder/'toy')[0].startswith('There are no notebooks')
    write_module('averages', CODE)
    done = subprocess.run([sys.executable, proof.__file__, str(notebook), '--package', 'toy'], cwd=folder, text=True, capture_output=True,
                          env=os.environ | dict(PYTHONPATH=str(folder)))
    assert done.returncode == 0 and done.stdout.startswith('10_averages: passed in'), done.stdout + done.stderr

def main():
    tests = [test for name, test in globals().items() if name.startswith('test_') and test is not test_eq]
    for test in tests: # each begins with the two correct modules and two notebooks
        write_module('averages', CODE)
        for path in set(folder.glob('*.ipynb')) - {notebook, above}: path.unlink()
        test()
    temporary.cleanup()
    print(f'proof.py: {len(tests)} tests passed')

if __name__ == '__main__': main()
