# On a fresh machine each target sets up what it needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-peers
TIANSHOU := .venv-tianshou
TF := .venv-tf
TFAGENTS := .venv-tfagents
# torch comes first and on its own: whygrad never asks for it, it watches the one that is there.
TORCH ?= torch==2.13.0

# Compiled modules are kept, whatever the shell says: the tests start more than a thousand processes.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-html test-peers test-tianshou test-tf test-tfagents test-thorough test-transparency check gallery bench bench-agents bench-tf clean

demo: $(VENV)/ready
	@echo "+ whygrad run examples/dqn_corridor.py"
	@$(BIN)/whygrad run --fail-on never examples/dqn_corridor.py

# Two files at a time; the one that runs whole scripts keeps two processes busy by itself.
test: check
	$(BIN)/python -m pytest -n 2 --dist loadfile

# The report's page and the live page in a real browser; `make test` does so, too, where Chromium is at hand.
test-html: $(VENV)/ready-dev
	command -v chromium >/dev/null || apt-get install -y --no-install-recommends chromium
	$(BIN)/python -m pytest tests/test_html_browser.py tests/test_live.py tests/test_notebook.py

# Other people's trainers, in an environment of their own.
test-peers: $(PEERS)/ready
	$(PEERS)/bin/python -m pytest tests/peers/test_peers.py tests/peers/test_probes.py
	$(PEERS)/bin/python -m pytest tests/test_sinks.py tests/test_plot.py -k "wandb or parquet or png"

# Tianshou, in another one.
test-tianshou: $(TIANSHOU)/ready
	$(TIANSHOU)/bin/python -m pytest tests/peers/test_tianshou.py

# TensorFlow beside torch, then TensorFlow 2.15 with TF-Agents and without torch; an environment for each.
test-tf: $(TF)/ready
	$(TF)/bin/python -m pytest tests/tf

test-tfagents: $(TFAGENTS)/ready
	$(TFAGENTS)/bin/python -m pytest tests/tf tests/tfagents

# The probes with every seed, every fault and every reference agent.
test-thorough: $(VENV)/ready-dev
	$(BIN)/python -m pytest tests/thorough/test_probe_references.py tests/thorough/test_probe_scripts.py
	$(BIN)/python benchmarks/probes.py

# Every kind of script plain and watched, with defects put back; then interruptions at random moments.
test-transparency: $(VENV)/ready-dev
	$(BIN)/python tests/differential/comparison.py
	$(BIN)/python tests/differential/defects.py
	$(BIN)/python tests/interruptions.py

check: $(VENV)/ready-dev
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

# The real reports that docs/gallery shows.
gallery: $(VENV)/ready-dev
	$(BIN)/python benchmarks/gallery.py

# What watching costs, beside the others that show gradients.
bench: $(PEERS)/ready
	$(PEERS)/bin/python benchmarks/overhead.py --minutes 16
	$(PEERS)/bin/python benchmarks/tracing.py --runs 10

# How the reference agents learn (five seeds each), then how fast they are beside Stable-Baselines3.
bench-agents: $(VENV)/ready-dev $(PEERS)/ready
	$(BIN)/python benchmarks/agents.py
	$(PEERS)/bin/python benchmarks/agents_speed.py

# What watching costs a TensorFlow script.
bench-tf: $(TF)/ready
	$(TF)/bin/python benchmarks/tensorflow_cost.py

$(VENV)/ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -c "import torch" 2>/dev/null || $(BIN)/pip install --quiet "$(TORCH)"
	$(BIN)/pip install --quiet --editable .
	@touch $@

$(VENV)/ready-dev: $(VENV)/ready
	$(BIN)/pip install --quiet --editable ".[dev]"
	@touch $@

# torch is named again beside the trainers, so that pip leaves the one that is there alone.
$(PEERS)/ready: pyproject.toml
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -c "import torch" 2>/dev/null || $(PEERS)/bin/pip install --quiet "$(TORCH)"
	$(PEERS)/bin/pip install --quiet "$(TORCH)" --editable ".[peers]"
	@touch $@

$(TIANSHOU)/ready: pyproject.toml
	$(PYTHON) -m venv $(TIANSHOU)
	$(TIANSHOU)/bin/python -c "import torch" 2>/dev/null || $(TIANSHOU)/bin/pip install --quiet "$(TORCH)"
	$(TIANSHOU)/bin/pip install --quiet "$(TORCH)" --editable ".[tianshou]"
	@touch $@

$(TF)/ready: pyproject.toml
	$(PYTHON) -m venv $(TF)
	$(TF)/bin/python -c "import torch" 2>/dev/null || $(TF)/bin/pip install --quiet "$(TORCH)"
	$(TF)/bin/pip install --quiet "$(TORCH)" "tensorflow-cpu==2.21.*" "tensorboard>=2.15" "pytest>=8" --editable ".[learn]"
	@touch $@

# TF-Agents 0.19 is made for TensorFlow 2.15 and Keras 2.
$(TFAGENTS)/ready: pyproject.toml
	$(PYTHON) -m venv $(TFAGENTS)
	$(TFAGENTS)/bin/pip install --quiet "tensorflow-cpu==2.15.1" "tf-agents==0.19.*" "pytest>=8" --editable ".[probe]"
	@touch $@

clean:
	rm -rf $(VENV) $(PEERS) $(TIANSHOU) $(TF) $(TFAGENTS) .whygrad .mypy_cache .ruff_cache .pytest_cache .hypothesis
