# The server: docker build -t at-serve . && docker run -p 8000:8000 at-serve
# With a model of your own: docker run -p 8000:8000 -v "$PWD/runs/mine:/models/mine:ro" at-serve /models/mine
FROM python:3.12.11-slim-bookworm

ENV PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1

# torch for CPUs, in a layer of its own: it is large and changes rarely
WORKDIR /app
COPY constraints.txt ./
RUN pip install --index-url https://download.pytorch.org/whl/cpu "$(grep '^torch==' constraints.txt)"

COPY . .
RUN pip install --constraint constraints.txt ".[serve]" \
    && useradd --create-home --uid 10001 server

USER 10001
WORKDIR /home/server
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/health', timeout=4)"]

# limits are options, see at-serve --help
ENTRYPOINT ["at-serve", "--host", "0.0.0.0", "--port", "8000", "--device", "cpu"]
CMD ["everyday"]
