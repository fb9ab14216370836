"""Job files of other systems: what each directive becomes, and that none is dropped without a word."""

import json
from datetime import datetime, timedelta, timezone

import pytest
from typer.testing import CliRunner
from weir.cli.job_files.figures import begin, binary_mib, clock_s, quantity_mib
from weir.cli.job_files.read import job_of
from weir.cli.main import app
from weir.cli.work import submitting, waiting
from weir.errors import WeirClientError

from tests.unit.client.centre import Centre

pytestmark = pytest.mark.req("ELA-101", "ELA-503")
NOW = datetime(2026, 11, 21, 17, 30, tzinfo=timezone(timedelta(hours=8)))
SBATCH = """#!/bin/bash -l
# A comment of the script's own.
#SBATCH --job-name=resnet -p night
#SBATCH --gres=gpu:a100:2   # two of them
#SBATCH -c 8 --mem=64G
#SBATCH --time 1-02:30
#SBATCH --mail-type=END
#SBATCH --array=0-99%8
srun python train.py "$@"
#SBATCH --partition=too-late
"""


class Submitted(Centre):
    """Takes folders and work, which ends at the second look."""

    ends = ("finished", "completed", [0])
    looks = failed = 0

    def folder_send(self, packed, *, progress=None):
        import tarfile

        packed.archive.seek(0)
        with tarfile.open(fileobj=packed.archive) as tar:
            self.files = {each.name: each.mode & 0o777 for each in tar.getmembers()}
        return packed.sha256

    def workload_submit(self, **body):
        self.asked.append(body)
        return self._row("pending", "", [])

    def workload(self, _uid):
        state, reason, codes = self.ends
        return self._row(state, reason, codes)

    def _row(self, state, reason_code, codes):
        slices = [{"exit_code": code} for code in codes]
        return {
            "no": "W-1",
            "uid": "u",
            "state": state,
            "reason": "",
            "reason_code": reason_code,
            "slices": slices,
            "array": {"no": "A-1", "uid": "a"} if "array" in self.asked[-1] else None,
        }

    def array(self, _uid):
        self.looks += 1
        now = {"waiting": 1, "running": 1} if self.looks == 1 else {"waiting": 0, "running": 0}
        return {"no": "A-1", "uid": "a", "progress": {**now, "finished": 1, "failed": self.failed}}


@pytest.fixture
def centre(monkeypatch, tmp_path):
    found = Submitted()
    monkeypatch.setattr(submitting, "caller", lambda _ctx: found)
    monkeypatch.setattr(waiting, "_FIRST_LOOK_S", 0.0)
    monkeypatch.chdir(tmp_path)
    return found


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, text):
        (tmp_path / name).write_text(text)
        return name

    return write


def weir(*words):
    return CliRunner().invoke(app, words)


def job(name, *arguments):
    return job_of([name, *arguments], None)


def left(found):
    return {each.text: each.why for each in found.not_taken}


# --- Slurm -------------------------------------------------------------------------------------------------------


def test_a_slurm_script_travels_with_what_it_asks_for(file):
    found = job(file("job.sh", SBATCH), "--lr", "0.1")
    assert found.request == {
        "name": "resnet", "queue": "night", "model": "a100", "shares": 2, "single_node": True, "whole_cards": True,
        "host_cpu_milli": 4000, "host_memory_mib": 32768, "run_timeout_s": 95_400,
        "array": "0-99%8",
        "argv": ["sh", "-c", 'export SLURM_ARRAY_TASK_ID="$WEIR_ARRAY_INDEX"; exec "$0" "$@"',
                 "bash", "-l", "./job.sh", "--lr", "0.1"],
    }  # fmt: skip
    assert found.files == {"job.sh": SBATCH.encode()}
    assert set(left(found)) == {"#SBATCH --mail-type=END"}
    assert len(found.directives) == 9, "each is named once, none is dropped"


@pytest.mark.parametrize(
    ("lines", "fields"),
    [
        ("-N 2 --gpus-per-node=4", {"replicas": 2, "shares_per_replica": 4, "whole_cards": True}),
        ("-N2 --gres=gpu:8", {"replicas": 2, "shares_per_replica": 8, "whole_cards": True}),
        ("-G 3", {"shares": 3, "whole_cards": True}),
        ("-n 4 --gpus-per-task=1", {"shares": 4, "whole_cards": True}),
        ("--mem-per-cpu=2G -c4", {"host_cpu_milli": 4000, "host_memory_mib": 8192}),
        ("-G 2 --mem-per-gpu=10G", {"shares": 2, "whole_cards": True, "host_memory_mib": 10240}),
        ("--requeue", {"requeue_on_loss": True}),
        ("-w gpu-7", {"node": "gpu-7"}),
        ("--export=A=1,B=x", {"env": {"A": "1", "B": "x"}}),
        ("-t 30", {"run_timeout_s": 1800}),
        ("--reservation=class", {"reservation": "class"}),
        ("--signal=B:USR1@120", {"signal": "USR1@120"}),
        ("-d afterok:W-1:W-2,afterany:W-3", {"after_ok": ["W-1", "W-2"], "after_any": ["W-3"]}),
        ("--tmp=20G", {"scratch_disk_mib": 20480}),
        ("--container-image=torch:2.13", {"image": "torch:2.13"}),
        (
            "--container-image docker://torch --no-container-mount-home --container-writable",
            {"image": "torch"},
        ),
        (
            "--container-mounts=data:/data:ro,vol://models:/models/m,out:/mnt/out:rw",
            {"volumes": ["data:/data:ro", "models:/models/m", "out:/mnt/out"]},
        ),
    ],
)
def test_each_slurm_directive_that_is_taken_is_a_field(file, lines, fields):
    found = job(file("job.sh", f"#!/bin/sh\n#SBATCH {lines}\ntrue\n"))
    assert {**fields, "name": "job.sh", "argv": ["sh", "./job.sh"]} == found.request
    assert left(found) == {}


@pytest.mark.parametrize(
    "line",
    ["-A physics", "-q high", "-o out.txt", "-n 16", "-N 4", "--mem=0", "--export=ALL", "-w n[1-4]", "--gres=fpga:1",
     "-D /nowhere/at/all", "--exclusive", "-d afterok:7", "-d singleton", "-d afterok:W-1?afterok:W-2",
     "--never-heard-of=1", "--signal=KILL@60", "--signal=x", "--container-image=nvcr.io#nvidia/pytorch:24.01",
     "--container-image=/images/torch.sqsh", "--container-image=", "--container-mounts=/home/me/data:/data",
     "--container-mounts=data", "--container-mounts=data:relative", "--container-mounts=data:/data:x-create",
     "--container-mounts=vol://data/part:/data", "--container-mount-home", "--container-name=mine",
     "--container-save=/images/mine.sqsh", "--container-workdir=/x", "--container-env=A", "--container-readonly",
     "--container-remap-root", "--container-entrypoint"],
)  # fmt: skip
def test_each_slurm_directive_that_is_not_taken_says_why(file, line):
    found = job(file("job.sh", f"#!/bin/sh\n#SBATCH {line}\ntrue\n"))
    ((text, why),) = left(found).items()
    assert text == f"#SBATCH {line}"
    assert len(why) > 10


def test_a_mark_in_a_word_begins_no_comment(file):
    lines = "--container-image=nvcr.io#nvidia/pytorch:24.01 -t 10 # -p never\n#SBATCH -J 'a # b'"
    found = job(file("job.sh", f"#!/bin/sh\n#SBATCH {lines}\ntrue\n"))
    assert list(left(found)) == ["#SBATCH --container-image=nvcr.io#nvidia/pytorch:24.01"]
    assert (found.request["run_timeout_s"], found.request["name"]) == (600, "a # b")
    assert "queue" not in found.request


def test_of_several_mounts_of_pyxis_each_is_taken_or_named(file):
    found = job(file("job.sh", "#!/bin/sh\n#SBATCH --container-mounts=/scratch:/scratch,data:/data\ntrue\n"))
    assert found.request["volumes"] == ["data:/data"]
    ((text, why),) = left(found).items()
    assert "/scratch:/scratch" in text
    assert "name a volume" in why


def test_of_a_directive_that_is_said_twice_the_last_counts_and_the_first_is_named(file):
    found = job(file("job.sh", "#!/bin/sh\n#SBATCH -t 10\n#SBATCH -t 20\n"))
    assert found.request["run_timeout_s"] == 1200
    assert list(left(found)) == ["#SBATCH -t 10"]


def test_a_figure_that_is_none_stops_everything(file):
    for line in ("--time=soon", "--mem=much", "-G x", '--job-name="x', "--begin=whenever"):
        with pytest.raises(WeirClientError):
            job(file("job.sh", f"#!/bin/sh\n#SBATCH {line}\n"))


# --- PBS ---------------------------------------------------------------------------------------------------------


def test_a_pbs_script_is_read(file):
    text = """#!/bin/bash
#PBS -N ocean
#PBS -q night@server
#PBS -l select=2:ncpus=8:ngpus=4:mem=64gb,walltime=10:00:00
#PBS -v A=1
#PBS -W depend=afterok:W-1
#PBS -W umask=022
#PBS -j oe
#PBS -J 0-9
#PBS -l place=scatter
true
"""
    found = job(file("job.pbs", text))
    assert found.request == {
        "name": "ocean", "queue": "night", "replicas": 2, "shares_per_replica": 4, "whole_cards": True,
        "host_cpu_milli": 2000, "host_memory_mib": 16384, "run_timeout_s": 36_000, "env": {"A": "1"},
        "after_ok": ["W-1"], "array": "0-9",
        "argv": ["sh", "-c", 'export PBS_ARRAY_INDEX="$WEIR_ARRAY_INDEX"; exec "$0" "$@"', "bash", "./job.pbs"],
    }  # fmt: skip
    assert set(left(found)) == {"#PBS -l place=scatter", "#PBS -W umask=022"}


# --- Kubernetes --------------------------------------------------------------------------------------------------


def manifest(**container):
    return json.dumps(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "train", "labels": {"kueue.x-k8s.io/queue-name": "night", "team": "a"}},
            "spec": {
                "backoffLimit": 3,
                "activeDeadlineSeconds": 600,
                "parallelism": 1,
                "ttlSecondsAfterFinished": 5,
                "template": {
                    "spec": {
                        "restartPolicy": "Never",
                        "nodeSelector": {"kubernetes.io/hostname": "n1"},
                        "containers": [
                            {
                                "name": "c",
                                "image": "pytorch",
                                "command": ["python"],
                                "args": ["train.py"],
                                **container,
                            }
                        ],
                    }
                },
            },
        }
    )


def test_a_kubernetes_job_is_read(file):
    resources = {"limits": {"nvidia.com/gpu": 2, "cpu": "3500m", "memory": "8Gi"}}
    env = [{"name": "A", "value": "1"}, {"name": "KEY", "valueFrom": {"secretKeyRef": {}}}]
    found = job(file("job.yaml", manifest(resources=resources, env=env)))
    assert found.request == {
        "name": "train", "queue": "night", "max_attempts": 4, "run_timeout_s": 600, "node": "n1",
        "argv": ["python", "train.py"], "shares": 2, "whole_cards": True, "host_cpu_milli": 1750,
        "host_memory_mib": 4096, "env": {"A": "1"}, "image": "pytorch", "secrets": ["KEY"],
    }  # fmt: skip
    assert set(left(found)) == {"metadata.labels.team", "spec.ttlSecondsAfterFinished"}
    assert any("weir secret set KEY" in each.became for each in found.directives)


@pytest.mark.parametrize(
    ("container", "left_out"),
    [
        ({"image": "docker.io/library/python:3.11"}, "container.image: docker.io/library/python:3.11"),
        ({"image": "python@sha256:" + "0" * 64}, "container.image: python@sha256:" + "0" * 64),
        ({"image": "Upper"}, "container.image: Upper"),
    ],
)
def test_an_image_of_a_registry_is_left_with_the_way_to_bring_it(file, container, left_out):
    found = job(file("job.yaml", manifest(**container)))
    assert "image" not in found.request
    assert "weir image import" in left(found)[left_out]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ({"configMapKeyRef": {"name": "c", "key": "k"}}, "no ConfigMaps"),
        ({"fieldRef": {"fieldPath": "metadata.name"}}, "no pod"),
        ({"resourceFieldRef": {"resource": "limits.cpu"}}, "no pod"),
        ({"secretKeyRef": {"name": "s", "key": "k", "optional": True}}, "no secret is optional"),
        ({"somethingNew": {}}, "with -e"),
    ],
)
def test_a_variable_from_elsewhere_than_a_secret_is_left_with_its_reason(file, source, says):
    found = job(file("job.yaml", manifest(env=[{"name": "A", "valueFrom": source}])))
    assert says in left(found)["env.A"]
    assert "secrets" not in found.request


def test_variables_that_a_file_does_not_name_are_left_with_their_reason(file):
    given = [{"secretRef": {"name": "hf"}}, {"configMapRef": {"name": "settings"}}]
    why = left(job(file("job.yaml", manifest(envFrom=given))))
    assert "--secret NAME for each" in why["envFrom.hf"]
    assert "no ConfigMaps" in why["envFrom.settings"]


def with_volumes(volumes, mounts, **container):
    given = json.loads(manifest(volumeMounts=mounts, **container))
    given["spec"]["template"]["spec"]["volumes"] = volumes
    return json.dumps(given)


def test_a_claim_of_a_kubernetes_job_is_a_volume(file):
    volumes = [
        {"name": "d", "persistentVolumeClaim": {"claimName": "digits", "readOnly": True}},
        {"name": "o", "persistentVolumeClaim": {"claimName": "out"}},
    ]
    mounts = [
        {"name": "d", "mountPath": "/data/"},
        {"name": "o", "mountPath": "/mnt/out"},
        {"name": "o", "mountPath": "/mnt/again", "readOnly": True},
    ]
    found = job(file("job.yaml", with_volumes(volumes, mounts)))
    assert found.request["volumes"] == ["digits:/data:ro", "out:/mnt/out", "out:/mnt/again:ro"]
    assert not [text for text in left(found) if "olume" in text]


def test_an_empty_directory_of_a_kubernetes_job_is_scratch(file):
    volumes = [
        {"name": "t", "emptyDir": {"sizeLimit": "10Gi"}},
        {"name": "v", "emptyDir": {}},
        {"name": "s", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
    ]
    paths = {"t": "/tmp", "v": "/var/tmp", "s": "/dev/shm"}
    mounts = [{"name": name, "mountPath": path} for name, path in paths.items()]
    limits = {"nvidia.com/gpu": 2, "ephemeral-storage": "4Gi"}
    found = job(file("job.yaml", with_volumes(volumes, mounts, resources={"limits": limits})))
    assert found.request["scratch_disk_mib"] == 5 * 1024, (
        "each of two shares has half; the limit holds the volume too"
    )
    assert not [text for text in left(found) if "olume" in text]


@pytest.mark.parametrize(
    ("volume", "mount", "says"),
    [
        ({"persistentVolumeClaim": {"claimName": "d"}}, {"subPath": "part"}, "mounted whole"),
        ({"persistentVolumeClaim": {"claimName": "d" * 60}}, {}, "cannot be the name of a volume"),
        ({"emptyDir": {}}, {"mountPath": "/cache"}, "nothing is mounted at /cache"),
        ({"emptyDir": {"sizeLimit": "5Gi"}}, {"mountPath": "/cache"}, "--disk 5Gi"),
        ({"emptyDir": {"medium": "Memory"}}, {"mountPath": "/tmp"}, "on disk"),
        ({"emptyDir": {}}, {"mountPath": "/dev/shm"}, "main memory"),
        ({"hostPath": {"path": "/data"}}, {}, "folders of nodes"),
        ({"nfs": {"server": "s", "path": "/"}}, {}, "storage class"),
        ({"configMap": {"name": "c"}}, {}, "no ConfigMaps"),
        ({"secret": {"secretName": "s"}}, {}, "--secret NAME"),
        ({"csi": {"driver": "d"}}, {}, "persistentVolumeClaim and emptyDir"),
    ],
)
def test_each_volume_that_is_not_taken_says_why(file, volume, mount, says):
    mounts = [{"name": "v", "mountPath": "/data", **mount}]
    found = job(file("job.yaml", with_volumes([{"name": "v", **volume}], mounts)))
    assert says in left(found)["volumeMounts.v"]
    assert "volumes" not in found.request
    assert "scratch_disk_mib" not in found.request


def test_volumes_and_mounts_without_each_other_are_named(file):
    found = job(
        file("job.yaml", with_volumes([{"name": "a", "emptyDir": {}}], [{"name": "b", "mountPath": "/data"}]))
    )
    assert {"volumes.a", "volumeMounts.b"} <= set(left(found))


def test_a_job_without_a_command_runs_what_its_image_does(file, centre):
    found = job(file("job.yaml", manifest(image="served:2", command=[], args=[])))
    assert (found.request["image"], "argv" in found.request) == ("served:2", False)
    assert weir("submit", "--share", "5", "job.yaml").exit_code == 0
    assert "argv" not in centre.asked[0]
    with pytest.raises(WeirClientError, match="arguments and no command"):
        job(file("job.yaml", manifest(command=[])))


def test_several_runs_of_a_kubernetes_job_are_an_array(file):
    text = manifest().replace(
        '"parallelism": 1', '"parallelism": 2, "completions": 5, "completionMode": "Indexed"'
    )
    found = job(file("job.yaml", text))
    assert found.request["array"] == "0-4%2"
    assert found.request["argv"][2].startswith('export JOB_COMPLETION_INDEX="$WEIR_ARRAY_INDEX"')


def test_shares_of_a_card_in_hamis_words(file):
    limits = {"nvidia.com/gpu": 1, "nvidia.com/gpucores": 30, "nvidia.com/gpumem": 4096}
    found = job(file("job.yaml", manifest(resources={"limits": limits})))
    amounts = {
        name: found.request.get(name) for name in ("shares", "compute_percent", "memory_mib", "whole_cards")
    }
    assert amounts == {"shares": 1, "compute_percent": 30, "memory_mib": 4096, "whole_cards": None}


@pytest.mark.parametrize(
    "text",
    ["kind: Deployment\napiVersion: apps/v1\n", manifest(command=[], args=[], image="a/b"), "a: [",
     with_volumes([{"emptyDir": {}}], []), with_volumes([], [{"name": "a"}]), manifest(env=[{"valueFrom": {}}]),
     "- 1\n", "a: 1\n---\nb: 2\n",
     "hello: world\n", "", "kind: Job\napiVersion: batch/v1\nspec: 7\n", "run: [1]\nenvs: 3\n",
     "resources: {cpus: many}\nrun: x\n", "run: ''\nresources: {}\n", "&a [*a]\n"],
)  # fmt: skip
def test_what_is_no_job_is_refused_in_a_sentence(file, text):
    with pytest.raises(WeirClientError) as refused:
        job(file("job.yaml", text))
    assert refused.value.cure


# --- SkyPilot ----------------------------------------------------------------------------------------------------


def test_a_skypilot_task_is_read(file, tmp_path, monkeypatch):
    monkeypatch.setenv("TOKEN", "t")
    (tmp_path / "src").mkdir()
    text = """
name: lm
workdir: src
num_nodes: 2
resources:
  accelerators: A100:4
  cpus: 8+
  memory: 64
  use_spot: true
  cloud: aws
envs:
  A: 1
  TOKEN:
setup: pip list
run: |
  python train.py
"""
    found = job(file("task.yaml", text))
    assert found.request == {
        "name": "lm", "model": "A100", "replicas": 2, "shares_per_replica": 4, "whole_cards": True, "preemptible": True,
        "host_cpu_milli": 2000, "host_memory_mib": 16384, "env": {"A": "1", "TOKEN": "t"}, "argv": ["./sky-task.sh"],
    }  # fmt: skip
    assert found.workdir == tmp_path / "src"
    assert found.files["sky-task.sh"] == b"#!/bin/bash\nset -e\npip list\nset +e\npython train.py\n"
    assert set(left(found)) == {"resources.cloud"}


def test_images_volumes_and_secrets_of_a_skypilot_task_are_the_centres(file, centre):
    text = """
resources:
  image_id: docker:torch:2
file_mounts:
  /data: vol://digits
  /models/m: vol://models/
volumes:
  /mnt/out: out
secrets:
  HF_TOKEN:
  WANDB_KEY: null
run: python train.py
"""
    found = job(file("task.yaml", text))
    assert found.request["image"] == "torch:2"
    assert found.request["volumes"] == ["digits:/data", "models:/models/m", "out:/mnt/out"]
    assert found.request["secrets"] == ["HF_TOKEN", "WANDB_KEY"]
    assert left(found) == {}
    done = weir("submit", "--secret", "OTHER", "-e", "WANDB_KEY=x", "task.yaml")
    assert done.exit_code == 0, done.output
    assert (centre.asked[0]["secrets"], centre.asked[0]["env"]) == (["HF_TOKEN", "OTHER"], {"WANDB_KEY": "x"})


@pytest.mark.parametrize(
    ("text", "name", "says"),
    [
        ("resources: {image_id: ami-0123}", "resources.image_id", "docker:NAME:TAG"),
        ("resources: {image_id: {us-east-1: ami-0}}", "resources.image_id", "docker:NAME:TAG"),
        (
            "resources: {image_id: 'docker:nvcr.io/nvidia/pytorch:24.01'}",
            "resources.image_id: docker:nvcr.io/nvidia/pytorch:24.01",
            "weir image import",
        ),
        ("resources: {disk_size: 256}", "resources.disk_size", "--disk"),
        ("file_mounts: {/data: ./data}", "file_mounts./data", "--workdir"),
        ("file_mounts: {/data: 's3://bucket'}", "file_mounts./data", "buckets are not mounted"),
        ("file_mounts: {/data: {name: b, store: s3}}", "file_mounts./data", "buckets are not mounted"),
        ("file_mounts: {/data: 'vol://digits/part'}", "file_mounts./data", "mounted whole"),
        ("file_mounts: {data: 'vol://digits'}", "file_mounts.data", "whole path"),
        ("volumes: {/data: 'Not One'}", "volumes./data", "names no volume"),
        ("volumes: {/data: {size: 10Gi}}", "volumes./data", "buckets are not mounted"),
        ("secrets: {HF_TOKEN: abc}", "secrets.HF_TOKEN", "weir secret set HF_TOKEN"),
        ("service: {replicas: 2}", "service", "--serve"),
    ],
)
def test_each_line_of_a_skypilot_task_that_is_not_taken_says_why(file, text, name, says):
    found = job(file("task.yaml", f"run: 'true'\n{text}\n"))
    assert says in left(found)[name]
    assert not {"image", "volumes", "secrets"} & found.request.keys()


# --- what the words are ------------------------------------------------------------------------------------------


def test_scripts_run_by_what_their_first_line_or_ending_names(file):
    for name, text, argv in (
        ("a.py", "print(1)\n", ["python", "./a.py"]),
        ("b.sh", "true\n", ["bash", "./b.sh"]),
        ("c", "#!/usr/bin/env python3\n", ["python3", "./c"]),
        ("d", "#!/usr/bin/env -S python3 -u\n", ["python3", "-u", "./d"]),
    ):
        assert job(file(name, text)).request["argv"] == argv
    file("true", "\x7fELF")
    assert job("true").files == {}, "a program's name is the node's, whatever lies here"
    with pytest.raises(WeirClientError, match="no file"):
        job("gone.sbatch")


def test_the_command_line_counts_before_the_file(centre, file):
    file("job.sh", SBATCH)
    done = weir("submit", "--queue", "day", "--share", "30", "--memory", "4Gi", "-e", "B=2", "job.sh", "x")
    assert done.exit_code == 0, done.output
    (asked,) = centre.asked
    assert (asked["queue"], asked["compute_percent"], asked["memory_mib"]) == ("day", 30, 4096)
    assert "whole_cards" not in asked, "a share that was said is no whole card"
    assert (asked["name"], asked["env"], asked["argv"][-1]) == ("resnet", {"B": "2"}, "x")
    assert centre.files == {"job.sh": 0o755}
    assert "#SBATCH --mail-type=END" in done.stderr
    assert "you are told on your page" in done.stderr


def test_strict_submits_nothing_where_a_line_is_not_taken(centre, file):
    file("job.sh", SBATCH)
    done = weir("submit", "--strict", "job.sh")
    assert (done.exit_code, centre.asked) == (1, [])
    assert "--mail-type=END" in done.stderr
    file("fine.sh", "#!/bin/sh\n#SBATCH -G 1\n")
    assert weir("submit", "--strict", "fine.sh").exit_code == 0


def test_for_programs_what_is_not_taken_is_told_beside_the_answer(centre, file):
    file("job.sh", SBATCH)
    done = weir("--json", "submit", "job.sh")
    assert json.loads(done.stdout)["no"] == "W-1"
    assert "is not taken" in done.stderr


def test_a_folder_travels_without_what_is_ignored(centre, file, tmp_path):
    for name in ("train.py", "data.bin", "keep.bin", "notes.txt"):
        file(name, name)
    file(".gitignore", "*.bin\n!keep.bin\n")
    file(".weirignore", "notes.txt\n/sub/secret\n")
    for folder in (".git", "__pycache__", "env", "sub"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "inside").write_text("x")
    (tmp_path / "env" / "pyvenv.cfg").touch()
    (tmp_path / "sub" / "secret").touch()
    (tmp_path / "sub" / ".gitignore").write_text("!data.bin\n")
    (tmp_path / "sub" / "data.bin").touch()
    (tmp_path / "out").symlink_to("/etc/passwd")
    (tmp_path / "up").symlink_to("../../x")
    (tmp_path / "in").symlink_to("train.py")
    done = weir("submit", "--share", "1", "--workdir", ".", "python", "train.py")
    assert done.exit_code == 0, done.output
    assert set(centre.files) == {
        ".gitignore", ".weirignore", "in", "keep.bin", "sub", "sub/.gitignore", "sub/data.bin", "sub/inside",
        "train.py",
    }  # fmt: skip
    assert "out stays here" in done.stderr
    assert "up stays here" in done.stderr
    first = centre.asked[0]["folder"]
    weir("submit", "--share", "1", "--workdir", ".", "python", "train.py")
    assert centre.asked[1]["folder"] == first, "unchanged it has the same digest"


def test_a_folder_beyond_its_bound_names_what_is_large(centre, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "set").write_bytes(b"x" * 2**21)
    done = weir("submit", "--workdir", ".", "--workdir-limit", "1M", "true")
    assert (done.exit_code, centre.asked) == (1, [])
    assert "most of it in data" in done.stderr
    assert ".weirignore" in done.stderr
    assert "is no folder" in weir("submit", "--workdir", "gone", "true").stderr


def test_a_script_of_the_folder_is_not_sent_twice(centre, file, tmp_path):
    (tmp_path / "jobs").mkdir()
    file("jobs/a.sh", "#!/bin/sh\n")
    weir("submit", "--workdir", ".", "jobs/a.sh")
    assert (centre.asked[0]["argv"], set(centre.files)) == (["sh", "./jobs/a.sh"], {"jobs", "jobs/a.sh"})
    file("a.sh", "#!/bin/sh\nother\n")
    done = weir("submit", "--workdir", "jobs", "a.sh")
    assert done.exit_code == 1
    assert "has a a.sh of its own" in done.stderr


def test_a_file_that_does_not_travel_is_told_of(centre, file):
    file("train.py", "")
    assert "train.py lies here and does not travel" in weir("submit", "python", "train.py").stderr
    assert "does not travel" not in weir("submit", "--workdir", ".", "python", "train.py").stderr


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        (("finished", "completed", [0]), 0),
        (("failed", "crashed", [0, 7]), 7),
        (("failed", "crashed", [-9]), 137),
        (("failed", "refused", []), 1),
        (("finished", "stopped", [None]), 1),
    ],
)
def test_whoever_waits_gets_the_exit_status_of_the_job(centre, ends, code):
    centre.ends = ends
    assert weir("submit", "--wait", "true").exit_code == code


@pytest.mark.parametrize(("failed", "code"), [(0, 0), (1, 1)])
def test_whoever_waits_for_an_array_waits_for_all_of_it(centre, failed, code):
    centre.failed = failed
    done = weir("submit", "--wait", "--array", "0-2", "true")
    assert (done.exit_code, centre.looks) == (code, 2), done.output
    assert "1 wait, 1 run" in done.stderr


def test_whoever_is_tired_of_waiting_leaves_it_running(centre, monkeypatch):
    def tired(_uid):
        raise KeyboardInterrupt

    monkeypatch.setattr(centre, "workload", tired)
    done = weir("submit", "--wait", "true")
    assert done.exit_code == 130
    assert "goes on without you" in done.stderr


# --- figures -----------------------------------------------------------------------------------------------------


def test_times_and_amounts_of_other_systems():
    assert [clock_s(text) for text in ("30", "10:30", "1:30:00", "2-12", "1-0:30", "1-0:0:5")] == [
        1800, 630, 5400, 216_000, 88_200, 86_405,
    ]  # fmt: skip
    assert [binary_mib(text) for text in ("4G", "512", "1T", "1500K")] == [4096, 512, 2**20, 2]
    assert [quantity_mib(text) for text in ("4Gi", "1G", "1e9", "524288k")] == [4096, 954, 954, 500]
    assert begin("now+1hour", now=NOW) == "2026-11-21T18:30:00+08:00"
    assert begin("tomorrow", now=NOW) == "2026-11-22T00:00:00+08:00"
    assert begin("18:00:00", now=NOW) == "2026-11-21T18:00:00+08:00"
