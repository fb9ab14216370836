# The agent of a node: docker build -f deploy/container/agent.Dockerfile -t weir-agent .
# It runs with the host's process space (--pid=host --privileged, devices passed in): shims and their work are processes
# of the host, so they outlive this container's restart only where it shares that space.
FROM python:3.11-slim
WORKDIR /opt/weir-agent
COPY node_agent /src/node_agent
COPY weir_wire /src/weir_wire
# torch: what serves sessions, PyTorch on a remote share. EXTRAS="" makes a small image that runs programs only.
ARG EXTRAS="[torch]"
RUN python -m venv /opt/weir-agent && /opt/weir-agent/bin/pip install --no-input "/src/node_agent$EXTRAS"
ENV PYTHONUNBUFFERED=1 WEIR_AGENT_STATE_DIR=/var/lib/weir-agent WEIR_AGENT_USERS_DIR=/var/lib/weir-agent
VOLUME /var/lib/weir-agent
CMD ["/opt/weir-agent/bin/python", "-m", "node_agent"]
