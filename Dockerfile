# One subworlds server with the built-in packs.
#
#   docker build -t subworlds . && docker run --rm -p 127.0.0.1:8000:8000 subworlds
#
# Worlds are confined by Landlock and seccomp, which the host's kernel must have (Linux 5.13 or newer) and the
# container must be let use: no extra privileges are needed. For packs of your own, mount a folder and say so:
#   docker run --rm -p 127.0.0.1:8000:8000 -v ./my_pack:/packs:ro -e SUBWORLDS_PACK=/packs subworlds
# To be reached from other machines, give it a control token: -p 8000:8000 -e SUBWORLDS_TOKEN=...
FROM python:3.11-slim

ENV PYTHONSAFEPATH=1 \
    PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1

WORKDIR /src
COPY . .
RUN pip install --constraint constraints.txt . && rm -rf /src/*

RUN useradd --system --uid 10001 subworlds
USER subworlds
WORKDIR /tmp

EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=15s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=4)"]

CMD ["subworlds", "serve", "--host", "0.0.0.0", "--port", "8000", "--allow-remote"]
