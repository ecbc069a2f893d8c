"""Inputs, outputs and settings that depend on the configuration, as functions that the other files call."""


def drawing_seed(dataset):
    """Seed of a synthetic data set, from its name."""
    return integer_seed(SEED, "datasets", dataset)


def folder_listing(wildcards):
    """Fingerprint of a user's own folder, so that adding, removing or replacing an image scans it again.

    A folder that is away (an unmounted disk) keeps the one that its results were made with.
    """
    data = DATASETS[wildcards.dataset]
    if data["kind"] not in ("folder", "triplets", "class_triplets"):
        return ""
    recorded = Path(f"results/{wildcards.dataset}/listing.txt")
    if not Path(data["path"]).is_dir() and recorded.is_file():
        return recorded.read_text().strip()
    return listing_fingerprint(data["path"])


def reading_threads(wildcards):
    """Threads that read images: one for few images, because a job that asks for all cores waits until nothing runs."""
    return 8 if DATASETS[wildcards.dataset].get("shards", 1) >= 8 else 1


def block_shards(wildcards):
    """Every shard of the blocks that a representation is made from."""
    return [f"{descriptor_of(wildcards)}/blocks-{shard}.npz" for shard in shards(wildcards.dataset)]


def exhibit_files(dataset, paper=""):
    """Every file of a data set's exhibits, or of one paper's."""
    drawn = rooms.drawn_exhibits(config, dataset, paper.rstrip("/"))
    return [file for exhibits in drawn.values() for file in rooms.exhibit_paths(dataset, exhibits)]


def exhibits_of(datasets):
    """Every file of the exhibits of some data sets, and their main numbers, so that a missing file is noticed."""
    return [
        file for dataset in datasets for file in [f"results/{dataset}/exhibits/headline.txt", *exhibit_files(dataset)]
    ]


def target_of(dataset):
    """Name of a data set's own target; `demo` is that of all synthetic ones."""
    return "category_demo" if dataset == "demo" else dataset


def own_target(dataset):
    """Input function of a data set's own target. If it cannot be run, the scan fails and says why, unlike `all`."""
    return lambda wildcards: f"results/{dataset}/manifest.parquet" if not_run(dataset) else exhibits_of([dataset])


def paper_exhibits(paper):
    """Every exhibit of a paper, for each data set outside the demo."""
    return [file for dataset in studied(synthetic=False) for file in exhibit_files(dataset, f"{paper}/")]


def planned(function, *more):
    """Input or parameter function: what the study's plan says about a data set."""
    return lambda wildcards: function(config, wildcards.dataset, *more)


def of_section(*names):
    """Parameter function: a part of the study's settings."""
    return lambda wildcards: reduce(getitem, names, FINEGRAINED[wildcards.dataset])


def of_batch(batch, function):
    """Parameter function: what the study's plan says about the systems of a batch."""
    return lambda wildcards: function(config, wildcards.dataset, batch.fitted_by(wildcards))


def describers_of(batch):
    """Parameter function: code that describes images for the systems of a batch."""
    return lambda wildcards: fingerprint(*map(finegrained.describer_module, batch.fitted_by(wildcards)))
