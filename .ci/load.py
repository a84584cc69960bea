"""Clients that load the server `at-serve`: many at once, patient ones while it is killed and restarted, and rude ones; used by 81a_cli_serve.ipynb."""
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

COMMAND = 'from annotated_transformer.cli.serve import at_serve; at_serve()'
THEIRS = f'import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from load import serve_exported; serve_exported(*sys.argv[1:])'
ENV = os.environ | dict(OMP_NUM_THREADS='1')

class Exported:
    "CTranslate2 with the tokenizers of a translator, behind the same application; `fast` is float32 as in at-serve."
    def __init__(self, name, kind):
        import ctranslate2

        from annotated_transformer.inference.export import export_ctranslate2
        from annotated_transformer.inference.translator import Translator
        vars(self).update(vars(Translator.from_pretrained(name, 'cpu')))
        self.max_source, self.max_chars = Translator.max_source, Translator.max_chars
        kind = None if kind == 'fast' else kind
        with tempfile.TemporaryDirectory() as folder:
            path = export_ctranslate2(self, folder + '/model', kind)
            self.theirs = ctranslate2.Translator(str(path), device='cpu', inter_threads=1, intra_threads=1, compute_type=kind or 'float32')

    def translate(self, texts, beam_size=1, **options):
        assert not options, options
        rows = self.src_tokenizer.encode_batch(texts)
        results = self.theirs.translate_batch([[*map(str, row), '</s>'] for row in rows], beam_size=beam_size, length_penalty=.6,
                                              max_batch_size=4000, batch_type='tokens', max_decoding_length=100)
        return self.tgt_tokenizer.decode_batch([[int(token) for token in result.hypotheses[0]] for result in results])

def serve_exported(name, kind):
    "The application with CTranslate2, until SIGTERM."
    import torch
    import uvicorn

    from annotated_transformer.cli.serve import TranslationApp, patient_server
    from annotated_transformer.inference.serving import AsyncTranslator
    torch.set_num_threads(1)
    app = TranslationApp(dict(model=AsyncTranslator(Exported(name, kind))))
    server, protocol = patient_server(10, 340)
    listening = socket.create_server(('127.0.0.1', 0), backlog=2048)
    print(f'model: http://127.0.0.1:{listening.getsockname()[1]}', flush=True)
    server(uvicorn.Config(app.asgi(), http=protocol, proxy_headers=False, log_level='warning', access_log=False, ws='none')).run([listening])

def start_server(name, engine='fast', port=0, *options):
    "A process with at-serve, or with CTranslate2, and its port."
    if engine.startswith('CTranslate2'): words = [THEIRS, name, engine.split()[1]]
    else: words = [COMMAND, name, '--port', str(port), '--device', 'cpu', '--engine', engine, *options]
    server = subprocess.Popen([sys.executable, '-W', 'ignore', '-c', *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=ENV)
    line = server.stdout.readline()
    if not line: raise RuntimeError(f'the server of {name} did not start (status {server.wait()})')
    return server, int(line.rpartition(':')[2])

def stop_server(server):
    "End a server by SIGTERM; its exit status."
    server.send_signal(signal.SIGTERM)
    return server.wait(120)

def large_call(name, engine):
    "A function from texts and options to outputs, CPU ms and ms per text of one call."
    if engine.startswith('CTranslate2'): translator = Exported(name, engine.split()[1])
    else:
        from annotated_transformer.inference.translator import Translator
        translator = Translator.from_pretrained(name, 'cpu', engine)
    def call(texts, options):
        cpu, wall = time.process_time(), time.perf_counter()
        outputs = list(translator.translate(texts, **options))
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        return outputs, 1e3 * cpu / len(texts), 1e3 * wall / len(texts)
    call(['1', '2'], {})
    return call

def cpu_seconds(pid):
    words = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf('SC_CLK_TCK')

def megabytes(pid): return int(Path(f'/proc/{pid}/statm').read_text().split()[1]) * 4096 / 1e6

def request(text, options=None):
    body = json.dumps(dict(text=text) | (options or {})).encode()
    return b'POST /translate HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n%s' % (len(body), body)

async def answer(reader):
    "Status and value of an answer in JSON."
    head = await reader.readuntil(b'\r\n\r\n')
    size = int(head.lower().split(b'content-length:')[1].split()[0])
    return int(head.split()[1]), json.loads(await reader.readexactly(size))

async def client(port, numbers, texts, options, outputs, seconds):
    "Send one request after the other over one connection."
    reader, writer = await asyncio.open_connection('127.0.0.1', port)
    for n in numbers:
        began = time.perf_counter()
        writer.write(request(texts[n], options))
        status, value = await answer(reader)
        seconds[n] = time.perf_counter() - began
        if status == 200: outputs[n] = value['translations'][0]['text']
    writer.close()

async def patient_client(port, numbers, texts, outputs, retries):
    "The same, and again over a new connection where the server does not answer."
    writer = None
    for n in numbers:
        while n not in outputs:
            try:
                if writer is None: reader, writer = await asyncio.open_connection('127.0.0.1', port)
                writer.write(request(texts[n]))
                status, value = await answer(reader)
                if status == 200: outputs[n] = value['translations'][0]['text']
            except (OSError, asyncio.IncompleteReadError): status = None
            if n in outputs: continue
            retries.append(status)
            if writer: writer.close()
            writer = None
            await asyncio.sleep(.1)
    if writer: writer.close()

async def all_clients(pid, port, texts, options, clients):
    "Outputs, seconds, and the memory of the server after each tenth of the texts."
    outputs, seconds, sizes = {}, {}, []
    numbers = iter(range(len(texts)))
    tasks = [asyncio.ensure_future(client(port, numbers, texts, options, outputs, seconds)) for _ in range(clients)]
    while not all(task.done() for task in tasks):
        if len(outputs) >= len(texts) * len(sizes) // 10: sizes.append(round(megabytes(pid)))
        await asyncio.sleep(.05)
    await asyncio.gather(*tasks)
    return outputs, sorted(seconds.values()), sizes

def batches_of(port):
    "Number of batches that a server has translated."
    with urlopen(f'http://127.0.0.1:{port}/metrics', timeout=60) as page:
        return sum(int(line.split()[-1]) for line in page.read().decode().splitlines() if line.startswith('at_batches_total'))

def load(name, engine, texts, clients=64, **options):
    "A row of figures, and the memory of the server."
    server, port = start_server(name, engine)
    asyncio.run(all_clients(server.pid, port, texts[:200], options, clients)) # warm
    call = large_call(name, engine)
    wanted, *first = call(texts, options)
    before = batches_of(port)
    cpu, began = cpu_seconds(server.pid), time.perf_counter()
    outputs, seconds, sizes = asyncio.run(all_clients(server.pid, port, texts, options, clients))
    wall, cpu = time.perf_counter() - began, cpu_seconds(server.pid) - cpu
    batches = batches_of(port) - before
    second = call(texts[:5000], options)[1:]
    status = stop_server(server)
    assert status == 0 or engine.startswith('CTranslate2'), status
    large_cpu, large_wall = ((a + b) / 2 for a, b in zip(first, second))
    row = {'model': name, 'engine': engine, 'beam': options.get('beam_size', 1), 'requests': len(texts), 'requests/s': len(texts) / wall,
           'texts per batch': len(texts) / batches, 'CPU ms': 1e3 * cpu / len(texts), 'CPU ms, large call': large_cpu, 'share': large_cpu * len(texts) / (1e3 * cpu),
           'texts/s, large call': 1e3 / large_wall, 'p50 ms': 1e3 * seconds[len(seconds) // 2], 'p95 ms': 1e3 * seconds[int(.95 * len(seconds))],
           'lost': len(texts) - len(outputs), 'mixed up': sum(outputs[n] != wanted[n] for n in outputs)}
    print(row, sizes, flush=True)
    return row, sizes

def free_port():
    with socket.create_server(('127.0.0.1', 0)) as listening: return listening.getsockname()[1]

def restarts(name, texts, clients=64, kills=('KILL', 'TERM', 'KILL')):
    "Kill and restart the server while clients send requests: what was lost, mixed up, sent again."
    port = free_port()
    server, _ = start_server(name, port=port)
    outputs, retries = {}, []
    async def run():
        nonlocal server
        numbers = iter(range(len(texts)))
        tasks = [asyncio.ensure_future(patient_client(port, numbers, texts, outputs, retries)) for _ in range(clients)]
        for n, kind in enumerate(kills, 1):
            while len(outputs) < len(texts) * n // (len(kills) + 1): await asyncio.sleep(.01)
            server.send_signal(getattr(signal, f'SIG{kind}'))
            await asyncio.to_thread(server.wait, 120)
            server, _ = await asyncio.to_thread(start_server, name, 'fast', port)
        await asyncio.gather(*tasks)
    asyncio.run(run())
    status = stop_server(server)
    wanted, *_ = large_call(name, 'fast')(texts, {})
    return dict(requests=len(texts), clients=clients, ends=list(kills), sent_again=len(retries), lost=len(texts) - len(outputs),
                mixed_up=sum(outputs[n] != wanted[n] for n in outputs), exit_status=status)

async def _guest(port, data, wait=0.):
    "Send bytes and read what comes, for some seconds; the status, or how the connection ended."
    reader, writer = await asyncio.open_connection('127.0.0.1', port)
    with suppress(OSError):
        writer.write(data)
        await writer.drain()
    try: status = (await asyncio.wait_for(answer(reader), wait))[0] if wait else 'left'
    except TimeoutError: status = 'no answer'
    except (OSError, asyncio.IncompleteReadError): status = 'closed'
    except (IndexError, ValueError): status = 'other text'
    writer.close()
    return status

def rude_guests(name, texts, clients=64, each=50):
    "Rude clients while others send requests: the answers to each kind, and what the others lost."
    server, port = start_server(name)
    asyncio.run(all_clients(server.pid, port, texts[:100], {}, clients))
    whole = request(texts[0])
    long = b'POST /translate HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n' % 30_000_000
    kinds = {'half a head': (b'POST /translate HTTP/1.1\r\nHo', 40), 'nothing': (b'', 40), 'half a body': (whole[:-5], 40),
             '30 MB': (long + b'x' * 30_000_000, 60), 'no JSON': (request('a').replace(b'{', b'('), 60), 'no HTTP': (b'nonsense\r\n\r\n', 60), 'leaves': (whole, 0)}
    async def run():
        others = asyncio.ensure_future(all_clients(server.pid, port, texts, {}, clients))
        async def guests(kind, data, wait):
            number = 4 if kind == '30 MB' else each
            statuses = await asyncio.gather(*(_guest(port, data, wait) for _ in range(number)))
            return kind, {str(status): statuses.count(status) for status in dict.fromkeys(statuses)}
        answers = dict(await asyncio.gather(*(guests(kind, *way) for kind, way in kinds.items())))
        return answers, await others
    answers, (outputs, seconds, sizes) = asyncio.run(run())
    status = stop_server(server)
    wanted, *_ = large_call(name, 'fast')(texts, {})
    return dict(requests=len(texts), clients=clients, answers=answers, lost=len(texts) - len(outputs),
                mixed_up=sum(outputs[n] != wanted[n] for n in outputs), megabytes=sizes, exit_status=status)
