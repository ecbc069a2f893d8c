"""Shared by all other files: checked settings, where files are, and which code a result depends on."""

import getpass
import os
import shlex
import sys
from functools import cache
from pathlib import Path

import psutil
from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake.shell import shell


def from_here(path):
    """A path relative to the work folder, if it is below it: so results stay valid when the folder is moved."""
    path = Path(path)
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def from_root(path):
    """A path relative to the project, if it is below it, else the file's name."""
    root, path = ROOT.resolve(), Path(path).resolve()
    return path.relative_to(root) if path.is_relative_to(root) else path.name


ROOT = from_here(Path(workflow.current_basedir).parents[1])
RESOURCES = ROOT / "workflow" / "resources"
SOURCE = ROOT / "src"
if set("{}") & set(str(ROOT)):
    raise WorkflowError(f"{ROOT} has braces in it, as wildcards have: start Snakemake in that folder, or move it")

# jobs in a conda environment find the package here
os.environ.update(PYTHONPATH=os.pathsep.join(filter(None, [str(SOURCE.resolve()), os.environ.get("PYTHONPATH")])))
sys.path.insert(0, str(SOURCE.resolve()))

from lookalike.core.terminal import say_interrupted, show_run

sys.excepthook = say_interrupted
# Snakemake writes this path into the commands that start jobs as it is, and a shell would split or expand it in a project
# whose path has spaces, quotes or the like; any other path stays what it was
sys.executable = shlex.quote(sys.executable)

from lookalike.core.errors import LookalikeError
from lookalike.core.files import check_writable
from lookalike.core.fingerprint import fingerprint, kernels_fingerprint
from lookalike.core.instructions import hold_instructions, processor_flags
from lookalike.core.settings.data_sets import MADE_BY_CODE, STUDIES, SYNTHETIC_KINDS, VISTERM_KINDS
from lookalike.core.settings.model import plain
from lookalike.data.archives import load_archives
from lookalike.data.locate import listing_fingerprint, why_not_obtainable
from lookalike.data.visterm_folder import NEEDED as VISTERM_FILES
from lookalike.learners.registry import learner_module
from lookalike.report import PAGES, SNAKEMAKE
from lookalike.studies import rooms, settings
from lookalike.studies.recipes import recipe_module


def running_processes():
    """Numbers of all processes that this one started."""
    return [process.pid for process in psutil.Process().children(recursive=True)]


# --dry-run, --verbose and --quiet are for Snakemake's own words
said = workflow.output_settings
has_own_words = not workflow.is_main_process or said.dryrun or said.verbose or said.quiet
display = None if has_own_words else show_run(logger, lambda: closing(), running_processes)
if display is not None:
    shell.prefix("trap '' INT; set -eu; ")  # Ctrl-C reaches jobs too, and it is the display that ends them

# Snakemake and torch ask for the user's name, and in a container a user may be a number without one
try:
    getpass.getuser()
except (KeyError, OSError):
    os.environ.setdefault("USER", str(os.getuid()))

# compiled kernels are kept in the work folder, or where the environment says; the name has a hash of their code
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(".snakemake", "numba", kernels_fingerprint()).resolve()))

try:
    if workflow.is_main_process and not said.dryrun:
        check_writable(".snakemake", "logs", "results")
    SETTINGS = settings.checked(config)
    for study in SETTINGS.landmark.values():
        # read before planning, because a user's ground truth may have a line that cannot be read
        study.named_landmarks()
    PRINTED = {room: rooms.printed_rows(RESOURCES / "reference-values.csv", room) for room in rooms.ROOMS}
    CLAIMS = {room: rooms.claim_rows(RESOURCES / "claims.csv", room) for room in rooms.ROOMS}
except LookalikeError as error:
    raise WorkflowError(str(error))

# every job inherits the environment, and on a cluster its own Snakemake reads this file too
if SETTINGS.instructions != "native":
    inherited = dict(os.environ)
    differs = hold_instructions(os.environ, processor_flags())
    # a job may run on an older node than the one that sent it
    if differs and (workflow.is_main_process or os.environ != inherited):
        logger.warning(differs)

STUDY_OF = {dataset: study for section in STUDIES for dataset, study in SETTINGS.studies(section).items()}
PAINTED = [dataset for dataset in STUDY_OF if SETTINGS.datasets[dataset].kind in SYNTHETIC_KINDS]
CATEGORY = SETTINGS.category
PICTURED = [dataset for dataset, study in CATEGORY.items() if study.has_pictures]
LANDMARK = SETTINGS.landmark
QUERIES_DRAWN = [dataset for dataset, study in LANDMARK.items() if study.draws_queries]
WEB = SETTINGS.web
FINEGRAINED = SETTINGS.finegrained
HUMAN = SETTINGS.human
CODEBOOKS = {
    published: [id for id, codebook in SETTINGS.codebooks.items() if codebook.published is published]
    for published in (False, True)
}

RESULTS = "results/{dataset}"
DESCRIPTOR = f"{RESULTS}/descriptors/{{descriptor}}"
FEATURES = f"{RESULTS}/features/{{representation}}"
LOGS = "logs/{dataset}"
REPORT = "results/report"
CLAIMS_TABLE = "results/claims.csv"
REPORT_FILES = SOURCE / "lookalike" / "report"
KEPT = RESOURCES / "runs"


wildcard_constraints:
    dataset="|".join(SETTINGS.datasets),
    descriptor="|".join(SETTINGS.descriptors),
    keypoints="|".join(SETTINGS.keypoints),
    representation="|".join([*SETTINGS.representations, *SETTINGS.codebooks]),
    method="|".join(SETTINGS.methods),
    subset="[A-Za-z0-9._-]+",
    fold="[0-9]+",
    shard="[0-9]+",
    ranker="[0-9]+",
    learner="[a-z]+",
    system="[a-z0-9-]+",
    size="[0-9]+",


def one_of(names):
    """A wildcard constraint that allows only these names."""
    return "|".join(names) or "(?!)"


def studied(synthetic=None):
    """Data sets of all studies, or only those of the demo, or only the others."""
    return [dataset for dataset, study in STUDY_OF.items() if synthetic is None or study.data_set.in_demo == synthetic]


def has_results(dataset):
    """Tell whether there is a finished run of this data set to draw from."""
    results = Path(f"results/{dataset}")
    return (results / "metrics.parquet").exists() or any(results.glob("*/metrics.parquet"))


def visterm_folder(dataset):
    """Folder of published visterm counts: in the work folder, or one that comes with the project."""
    path = Path(SETTINGS.datasets[dataset].path)
    return path if path.is_dir() else ROOT / path


def visterm_files(dataset):
    """Existing files of a folder of published visterm counts; the job says which is missing."""
    return [str(file) for file in sorted(visterm_folder(dataset).glob("*")) if file.name in VISTERM_FILES]


@cache
def not_run(dataset):
    """Why a data set cannot be run now: a sentence for its exhibits and the terminal, or nothing if it can."""
    data = SETTINGS.datasets[dataset]
    published = load_archives(RESOURCES / "archives.yaml")
    if has_results(dataset) or data.kind in MADE_BY_CODE:
        return ""
    wanted = dataset in LANDMARK and LANDMARK[dataset].wants_words()
    class_counts = RESOURCES / "caltech256-class-counts.csv" if data.kind == "caltech256" else None
    place = {"path": str(visterm_folder(dataset))} if data.kind in VISTERM_KINDS else {}
    why = why_not_obtainable(plain(data) | place, published, class_counts, wants_words=wanted)
    if why:
        logger.warning(f"{dataset}: {why}")
    return why


def folder_listing(wildcards):
    """Fingerprint of a user's own folder, so that adding, removing or replacing an image scans it again.

    A folder that is away (an unmounted disk) keeps the one that its results were made with.
    """
    data = SETTINGS.datasets[wildcards.dataset]
    if data.kind not in ("folder", "triplets", "class_triplets"):
        return ""
    recorded = Path(f"results/{wildcards.dataset}/listing.txt")
    if not Path(data.path).is_dir() and recorded.is_file():
        return recorded.read_text().strip()
    return listing_fingerprint(data.path)


def reading_threads(wildcards):
    """Threads that read images: one for few images, because a job that asks for all cores waits until nothing runs."""
    return 8 if SETTINGS.datasets[wildcards.dataset].shards >= 8 else 1


def settings_for(studies, job, batch=None):
    """Parameter function: what a job of a study reads of the settings, as plain values, and of a batch of fits."""
    return lambda wildcards: studies[wildcards.dataset].params(
        job, () if batch is None else batch.fitted_by(wildcards), **wildcards
    )


def learner_code(*methods):
    """Fingerprint of the modules of some methods' learners, which a script finds by their names."""
    return fingerprint(*(learner_module(SETTINGS.methods[method].learner) for method in methods))


def learners_of(batch):
    """Parameter function: code of the learners that a batch fits."""
    return lambda wildcards: learner_code(*batch.fitted_by(wildcards))


def constraints_of(batch):
    """Constraints for the wildcards of a batch's files."""
    return {name: one_of(values) for name, values in batch.allowed.items()}


def code_of(*modules):
    """Function of a parameter: the fingerprint of a rule's script, or of modules that it finds by a name."""
    return lambda wildcards: fingerprint(*modules)


def describers_of(batch):
    """Parameter function: code that describes images for the systems of a batch."""
    return lambda wildcards: fingerprint(*map(describer_module, batch.fitted_by(wildcards)))


def exhibit_files(dataset, paper=""):
    """Every file of a data set's exhibits, or of one paper's."""
    drawn = SETTINGS.exhibits_of(dataset, paper)
    return [file for exhibits in drawn.values() for file in rooms.exhibit_paths(dataset, exhibits)]


def exhibits_of(datasets):
    """Every file of the exhibits of some data sets, their main numbers, and the table of claims of all."""
    files = [
        file for dataset in datasets for file in [f"results/{dataset}/exhibits/headline.txt", *exhibit_files(dataset)]
    ]
    return [*files, CLAIMS_TABLE, CLAIMS_TABLE.replace(".csv", ".md")]


def tested_claims(datasets):
    """The tables of claims, each tested by itself, of all studies of some data sets."""
    return [
        f"results/{dataset}/{room}/tested.parquet"
        for dataset in datasets
        for room in rooms.ROOMS
        if dataset in SETTINGS.studies(room)
    ]


def other_claims(wildcards):
    """Tables of claims of other data sets that were run, with their times: if these change, all are decided again."""
    asked = set(tested_claims(asked_for()))
    found = [path for path in sorted(Path("results").glob("*/*/tested.parquet")) if str(path) not in asked]
    return {str(path): path.stat().st_mtime_ns for path in found}


def command_for(dataset):
    """The command that makes a data set's results, with the settings of its example where it is not in the project's."""
    example = "" if dataset in SETTINGS.datasets else f" --configfile examples/{dataset}.yaml"
    return f"{SNAKEMAKE} {dataset}{example}"


def target_of(dataset):
    """Name of a data set's own target; `demo` is that of all synthetic ones."""
    return "category_demo" if dataset == "demo" else dataset


def own_target(dataset):
    """Input function of a data set's own target. If it cannot be run, the scan fails and says why, unlike `all`."""
    return lambda wildcards: f"results/{dataset}/manifest.parquet" if not_run(dataset) else exhibits_of([dataset])


def paper_exhibits(paper):
    """Every exhibit of a paper, for each data set outside the demo."""
    return [file for dataset in studied(synthetic=False) for file in exhibit_files(dataset, paper)]


def asked_for():
    """Data sets that this run was asked for. The report waits for their exhibits."""
    targets = set(workflow.dag_settings.targets)
    wanted = [dataset for dataset in studied() if targets & {target_of(dataset), f"results/{dataset}/run.json"}]
    if not targets or "all" in targets:
        wanted += studied(synthetic=False)
    if "exhibits" in targets:
        wanted += filter(has_results, studied())
    if targets & {"demo", "readme_parts"}:
        wanted += studied(synthetic=True)
    return list(dict.fromkeys(wanted))


def command_of(wildcards):
    """The command that runs a data set's study, with its --configfile."""
    laid = [from_root(path) for path in workflow.overwrite_configfiles]
    if SETTINGS.datasets[wildcards.dataset].in_demo and not laid:
        return "make demo"
    return " ".join([SNAKEMAKE, target_of(wildcards.dataset), *(f"--configfile {path}" for path in laid)])


def closing():
    """Last words of a run: the main numbers of its studies, how many claims hold, and where the report is."""
    from lookalike.exhibits.claims_table import read_claims
    from lookalike.exhibits.words import counts_words

    headlines = [Path(f"results/{dataset}/exhibits/headline.txt") for dataset in asked_for()]
    tables = [path.read_text(encoding="utf-8") for path in headlines if path.is_file()]
    where = (
        [f"Report: {REPORT}/index.html (open it in a browser)"]
        if tables and Path(REPORT, "index.html").is_file()
        else []
    )
    counts = [counts_words(read_claims(Path(CLAIMS_TABLE)))] if tables else []
    return "\n".join([*tables, *filter(None, counts), *where])


def shown_files(datasets):
    """The files that the report reads, of the exhibits of some data sets."""
    return [file for file in exhibits_of(datasets) if file.endswith((".json", ".csv", ".png", "headline.txt"))]


def other_exhibits(wildcards):
    """Other data sets that have exhibits, with their times: if these change, the report is made again."""
    others = {dataset: Path(f"results/{dataset}/exhibits").glob("*/[!.]*.json") for dataset in studied()}
    times = {
        dataset: max((file.stat().st_mtime_ns for file in files), default=0)
        for dataset, files in others.items()
        if dataset not in asked_for()
    }
    return {dataset: time for dataset, time in times.items() if time}
