# One image for web, worker and beat: docker build -f deploy/container/server.Dockerfile -t weir-server .
FROM python:3.11-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends nodejs npm && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/weir
COPY requirements/base.txt requirements/base.txt
RUN python -m venv .venv && .venv/bin/pip install --no-input --no-deps --require-hashes -r requirements/base.txt
COPY . .
RUN npm ci --no-audit --no-fund && .venv/bin/python -m portal.devstack.assets

FROM python:3.11-slim
# pg_dump and pg_restore, for backups; of the server's version or newer.
RUN apt-get update && apt-get install -y --no-install-recommends postgresql-client && rm -rf /var/lib/apt/lists/* \
    && useradd --system --home /var/lib/weir --create-home weir
ARG VERSION=""
ENV PATH=/opt/weir/.venv/bin:$PATH PYTHONPATH=/opt/weir:/opt/weir/client PYTHONUNBUFFERED=1 \
    DJANGO_SETTINGS_MODULE=portal.settings.prod WEIR_VAR_DIR=/var/lib/weir WEIR_VERSION=$VERSION
COPY --from=build /opt/weir /opt/weir
WORKDIR /opt/weir
USER weir
VOLUME /var/lib/weir
EXPOSE 8000
HEALTHCHECK CMD python -c "import urllib.request; urllib.request.urlopen('http://localhost:8000/healthz', timeout=3)"
CMD ["python", "-m", "portal.web", "--host", "0.0.0.0", "--port", "8000"]
