"""Shared by all other files: checked settings, where files are, and which code a result depends on."""

import getpass
import inspect
import json
import os
import shlex
import sys
from functools import cache
from itertools import product
from pathlib import Path

import psutil
from snakemake.api import DAGApi
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
from lookalike.core.job_log import SUFFIX
from lookalike.core.settings.data_sets import (
    EMBEDDING_FILES,
    EMBEDDING_KINDS,
    MADE_BY_CODE,
    STUDIES,
    SYNTHETIC_KINDS,
    VISTERM_KINDS,
)
from lookalike.core.settings.model import plain
from lookalike.data.archives import Source, listing_fingerprint, load_archives
from lookalike.data.visterm_folder import NEEDED as VISTERM_FILES
from lookalike.exhibits.printed import human_time
from lookalike.exhibits.registry import PAPERS
from lookalike.learners.registry import learner_module
from lookalike.report import PAGES, SNAKEMAKE
from lookalike.report.costs import study_cost
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
    for id, data in SETTINGS.datasets.items():
        # a folder of published counts or embeddings is in the work folder, or one that comes with the project
        if data.kind in (*VISTERM_KINDS, *EMBEDDING_KINDS) and not Path(data.path).is_dir():
            SETTINGS.datasets[id] = data.model_copy(update={"path": str(ROOT / data.path)})
    for study in SETTINGS.landmark.values():
        # read before planning, because a user's ground truth may have a line that cannot be read
        _ = study.landmark_names
    PRINTED = {room: rooms.printed_rows(RESOURCES / "reference-values.csv", room) for room in rooms.ROOMS}
    CLAIMS = {room: rooms.claim_rows(RESOURCES / "claims.csv", room) for room in rooms.ROOMS}
    ARCHIVES = load_archives(RESOURCES / "archives.yaml")
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
EXHIBITS = {id: exhibit for id, exhibit in rooms.all_exhibits().items() if exhibit.paper in PAPERS}
EXHIBITS_OF = {
    dataset: {exhibit.id for exhibits in SETTINGS.exhibits_of(dataset).values() for exhibit in exhibits}
    for dataset in STUDY_OF
}
PAPER_TARGETS = {
    **{paper.page: [id for id in EXHIBITS if id.startswith(f"{key}/")] for key, paper in PAPERS.items()},
    **{exhibit.target: [id] for id, exhibit in EXHIBITS.items()},
}
"""Target of a paper, or of one of its tables and figures, to what it makes."""
PAINTED = [dataset for dataset in STUDY_OF if SETTINGS.datasets[dataset].kind in SYNTHETIC_KINDS]
CATEGORY = SETTINGS.category
PICTURED = [dataset for dataset, study in CATEGORY.items() if study.has_pictures]
LANDMARK = SETTINGS.landmark
PHOTOGRAPHED = [dataset for dataset, study in LANDMARK.items() if study.has_pictures]
QUERIES_DRAWN = [dataset for dataset, study in LANDMARK.items() if study.draws_queries]
WEB = SETTINGS.web
EMBEDDINGS = SETTINGS.embeddings
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
REPORT_FILES = ("report/templates/*", "report/static/*", "report/*.yaml", "exhibits/*.yaml")
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


def demo_data():
    """Data sets of the demo."""
    return [dataset for dataset, study in STUDY_OF.items() if study.data_set.in_demo]


def is_shipped(dataset):
    """Tell whether the files of a data set come with the project."""
    path = SETTINGS.datasets[dataset].path
    return bool(path) and (ROOT / path).resolve().is_relative_to(RESOURCES.resolve())


def real_data(shipped):
    """Data sets of which nothing is made by code: those whose files come with the project, or the others."""
    real = [dataset for dataset, study in STUDY_OF.items() if not study.data_set.is_synthetic]
    return [dataset for dataset in real if is_shipped(dataset) == shipped]


def default_data():
    """Data sets of the default target, in its order."""
    return [*real_data(shipped=True), *real_data(shipped=False)]


def has_results(dataset):
    """Tell whether there is a finished run of this data set to draw from."""
    return Path(f"results/{dataset}/results.parquet").exists()


def shipped_files(dataset, names):
    """Existing files of a folder of published counts or embeddings; the job says which is missing."""
    folder = Path(SETTINGS.datasets[dataset].path)
    return [str(file) for file in sorted(folder.glob("*")) if file.name in names]


def wants_words(dataset):
    """Tell whether a data set's study uses the words that its benchmark publishes."""
    return dataset in LANDMARK and LANDMARK[dataset].wants_words


@cache
def not_run(dataset, fetch=True):
    """Why a data set cannot be run, fetched if need be or from files in place: a sentence, or nothing if it can."""
    data = SETTINGS.datasets[dataset]
    if has_results(dataset) or data.kind in MADE_BY_CODE:
        return ""
    class_counts = RESOURCES / "caltech256-class-counts.csv" if data.kind == "caltech256" else None
    asked = plain(data) | {"fetch": fetch and data.fetch}
    return Source(asked, ARCHIVES, class_counts, wants_words(dataset)).why_not()


def was_drawn(dataset):
    """Tell whether all exhibits of a study of a data set were drawn from the numbers that are there."""
    results = Path("results", dataset)
    numbers = [path for name in ("results.parquet", "*/results.parquet") for path in results.glob(name)]
    tested = list(results.glob("*/tested.parquet"))
    return any(one.stat().st_mtime <= other.stat().st_mtime for one, other in product(numbers, tested))


def drawn_from(id):
    """Data sets that the target of an exhibit draws it from: real ones in place; where there are none, the demo's."""
    has_it = [dataset for dataset, ids in EXHIBITS_OF.items() if id in ids]
    real = [dataset for dataset in default_data() if dataset in has_it and not not_run(dataset, fetch=False)]
    return real or [dataset for dataset in has_it if dataset in demo_data() and dataset not in default_data()]


def why_from_none(ids):
    """Why no data set can be had that some exhibits are drawn from."""
    absent = [dataset for dataset in default_data() if EXHIBITS_OF[dataset] & set(ids)]
    why = [f"{dataset}: {not_run(dataset, fetch=False)}" for dataset in absent]
    return "; ".join(why) or "no data set of the settings has it"


def asked_alone():
    """Data set to the exhibits that targets ask for; none if anything else is asked for."""
    found = {}
    for target in PAPER_TARGETS if TARGETS <= PAPER_TARGETS.keys() else ():
        for id in PAPER_TARGETS[target] if target in TARGETS else ():
            for dataset in drawn_from(id):
                found.setdefault(dataset, {})[id] = None
    return {dataset: list(ids) for dataset, ids in found.items()}


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


def settings_for(studies, job):
    """Parameter function: what a job of a data set's study reads of the settings, as plain values."""
    return lambda wildcards: studies[wildcards.dataset].params(job, **wildcards)


def settings_of(study, job, batch):
    """Parameter function: what a job of a batch of fits reads of the settings of its study, as plain values."""
    return lambda wildcards: study.params(job, batch.fitted_by(wildcards), **wildcards)


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


def urgency(rule, usual):
    """Function of a rule's priority: that of a shipped data set's job is above all others of the default target."""
    shipped = real_data(shipped=True) if IS_DEFAULT else []

    def belongs_to(datasets, wildcards):
        return any(wildcards.get("dataset") == name or rule.name.endswith(f"_{name}") for name in datasets)

    # networks wait for each other, which makes theirs the longest of all chains of jobs: what they wait for begins first
    chain = FINEGRAINED if usual else []
    return lambda wildcards: usual + 100 * belongs_to(shipped, wildcards) + 2 * belongs_to(chain, wildcards)


def exhibit_files(dataset, paper=""):
    """Every file of a data set's exhibits, or of one paper's."""
    drawn = SETTINGS.exhibits_of(dataset, paper)
    return [file for exhibits in drawn.values() for file in rooms.exhibit_paths(dataset, exhibits)]


def exhibits_of(datasets, claims=True):
    """Every file of the exhibits of some data sets, their first tables, and the table of claims of all."""
    files = [
        file for dataset in datasets for file in [f"results/{dataset}/exhibits/headline.txt", *exhibit_files(dataset)]
    ]
    return [*files, CLAIMS_TABLE, CLAIMS_TABLE.replace(".csv", ".md")] if claims else files


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


def paper_files(target):
    """Input function of the target of a paper, or of one of its exhibits."""

    def files(wildcards):
        say_plan()
        found = [(dataset, EXHIBITS[id]) for id in PAPER_TARGETS[target] for dataset in drawn_from(id)]
        return [file for dataset, exhibit in found for file in rooms.exhibit_paths(dataset, [exhibit])]

    return files


def asked_for():
    """Data sets that this run was asked for. The report waits for their exhibits."""
    wanted = [dataset for dataset in STUDY_OF if TARGETS & {target_of(dataset), f"results/{dataset}/run.json"}]
    if IS_DEFAULT:
        wanted += default_data()
    if "shipped" in TARGETS:
        wanted += real_data(shipped=True)
    if "exhibits" in TARGETS:
        wanted += filter(has_results, STUDY_OF)
    if TARGETS & {"demo", "readme_parts"}:
        wanted += demo_data()
    return list(dict.fromkeys(wanted))


@cache
def say_plan():
    """Say before a run what is made from which data and in how long, and what is not run and why: a line a data set."""
    for line in plan_of_all() if IS_DEFAULT else (plan_of_alone(*asked) for asked in asked_alone().items()):
        logger.info(line)


def plan_of_all():
    """Yield the lines of the default target, in its order."""
    for dataset in sorted(default_data(), key=lambda dataset: not_run(dataset) != ""):
        why, folder = not_run(dataset), SETTINGS.datasets[dataset].path
        absent = Source(plain(SETTINGS.datasets[dataset]), ARCHIVES, wants_words=wants_words(dataset)).absent()
        named = f"{' and '.join(archive.about for archive in absent)} from {absent[0].page}" if absent else ""
        if why:
            # of a folder that lacks some of an archive, what it holds
            where = f"not run: put {named} into {folder}" if absent else why.partition(": complete it")[0]
        elif is_shipped(dataset):
            where = "first, from counts that come with the project"
        else:
            where = f"then, after a download of {named}" if absent else f"then, from {folder}"
        yield f"{dataset}: {where}{takes(dataset)}"
    for dataset in STUDY_OF:
        if dataset not in (*default_data(), *demo_data()):
            yield f"{dataset}: not run: a target of its own, because code makes its data{takes(dataset)}"


def plan_of_alone(dataset, ids):
    """The line of a data set that a paper's exhibits are drawn from."""
    targets = ", ".join(EXHIBITS[id].target for id in ids)
    if SETTINGS.datasets[dataset].is_synthetic:
        return f"{dataset}: {targets}; code makes its data: no real data are in place"
    return f"{dataset}: {targets}" + ("" if is_shipped(dataset) else takes(dataset, "; all of its exhibits"))


def takes(dataset, what=";"):
    """How long a data set's study takes on the cores of this run, as far as other runs tell."""
    cores = workflow.resource_settings.cores or workflow.resource_settings.nodes or 1
    finished = {str(record) for record in Path(f"logs/{dataset}").rglob(f"*{SUFFIX}")}
    cost = study_cost(KEPT, dataset, cores, lambda job: f"logs/{dataset}/{job}{SUFFIX}" in finished)
    if cost is None or not cost.seconds or was_drawn(dataset):
        return ""
    words = "at least" if cost.is_least else "about"
    alone = " without an accelerator" if dataset in FINEGRAINED else ""
    return f"{what} {words} {human_time(cost.seconds)} on {cores} core{'s' * (cores > 1)}{alone}"


def command_of(wildcards):
    """The command that runs a data set's study, with its --configfile."""
    laid = [from_root(path) for path in workflow.overwrite_configfiles]
    if SETTINGS.datasets[wildcards.dataset].in_demo and not laid:
        return "make demo"
    return " ".join([SNAKEMAKE, target_of(wildcards.dataset), *(f"--configfile {path}" for path in laid)])


def closing():
    """Last words of a run: its main numbers, or of several studies a table, how many claims hold, and where all is."""
    from lookalike.exhibits.claims import read_claims
    from lookalike.exhibits.words import counts_words
    from lookalike.report.front import table_of_differences

    folders = [Path(f"results/{dataset}/exhibits") for dataset in asked_for()]
    headlines = [file.read_text(encoding="utf-8") for folder in folders if (file := folder / "headline.txt").is_file()]
    verdicts = read_claims(Path(CLAIMS_TABLE)) if headlines else []
    said = headlines if len(headlines) < 2 else [table_of_differences(verdicts)]
    said.append(counts_words(verdicts))
    if headlines and Path(REPORT, "index.html").is_file():
        said.append(f"Report: {REPORT}/index.html (open it in a browser)")
    alone = [f"results/{dataset}/exhibits/{id}.*" for dataset, ids in asked_alone().items() for id in ids]
    if len(alone) > 3:
        alone = dict.fromkeys(f"{Path(path).parent}/" for path in alone)
    if alone:
        said.append(f"Tables and figures: {', '.join(alone)}")
    return "\n".join(filter(None, said))


def shown_files(datasets):
    """The files that the report reads, of the exhibits of some data sets."""
    return [file for file in exhibits_of(datasets) if file.endswith((".json", ".csv", ".png", "headline.txt"))]


def other_exhibits(wildcards):
    """Other data sets that have exhibits, with their times: if these change, the report is made again."""
    others = {dataset: Path(f"results/{dataset}/exhibits").glob("*/[!.]*.json") for dataset in STUDY_OF}
    times = {
        dataset: max((file.stat().st_mtime_ns for file in files), default=0)
        for dataset, files in others.items()
        if dataset not in asked_for()
    }
    return {dataset: time for dataset, time in times.items() if time}


# a job on another machine reads this file again, and was asked for nothing itself
if workflow.is_main_process:
    # Snakemake knows the targets when it reads this file, and hands them on only afterwards
    readers = [frame.frame.f_locals.get("self") for frame in inspect.stack(context=0)]
    TARGETS = {target for reader in readers if isinstance(reader, DAGApi) for target in reader.dag_settings.targets}
    for target in TARGETS & PAPER_TARGETS.keys():
        if not any(map(drawn_from, PAPER_TARGETS[target])):
            raise WorkflowError(f"{target}: {why_from_none(PAPER_TARGETS[target])}")
    ALONE = {dataset: ids for dataset, ids in asked_alone().items() if not was_drawn(dataset)}
    os.environ.update(LOOKALIKE_ASKED=json.dumps([sorted(TARGETS), ALONE]))
else:
    targets, ALONE = json.loads(os.environ.get("LOOKALIKE_ASKED", "[[], {}]"))
    TARGETS = set(targets)
IS_DEFAULT = not TARGETS or "all" in TARGETS
for dataset, ids in ALONE.items():
    for studies in map(SETTINGS.studies, rooms.ROOMS):
        if dataset in studies:
            studies[dataset] = studies[dataset].drawing_only(ids)
    STUDY_OF[dataset] = next(SETTINGS.studies(room)[dataset] for room in STUDIES if dataset in SETTINGS.studies(room))
