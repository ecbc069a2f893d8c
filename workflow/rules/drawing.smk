"""From numbers to the papers' tables and figures: one job of a study makes its contrasts and all its exhibits.

Needs: the tables that the study's rules make, or nothing if a data set cannot be run; the exhibits then say why. Makes:
{study}/contrasts.parquet (if a claim or an exhibit needs one), exhibits/{paper}/, exhibits/headline.txt and
{study}/tested.parquet, in which each claim of the papers is tested separately. From these tables of all studies, one job
makes results/claims.csv. studies/*/exhibits.yaml lists the exhibits.
"""

for room in rooms.ROOMS:
    for drawn_dataset, study in SETTINGS.studies(room).items():
        drawn = study.own_exhibits()
        if not (drawn or study.is_whole):
            continue
        # a study that draws all of its exhibits tells of claims; the first study of a data set says how it ended
        tested = {"tested": f"results/{drawn_dataset}/{room}/tested.parquet"} if study.is_whole else {}
        headline = {"headline": f"results/{drawn_dataset}/exhibits/headline.txt"} if room in STUDIES and tested else {}

        contrasts = {"contrasts": study.contrasts_file} if study.contrasts_file else {}

        rule:
            name:
                f"make_exhibits_of_{room}_{drawn_dataset}"
            input:
                unpack(lambda wildcards, study=study: {} if not_run(study.dataset) else study.inputs()),
            output:
                *rooms.exhibit_paths(drawn_dataset, drawn),
                **contrasts,
                **headline,
                **tested,
            log:
                f"logs/{drawn_dataset}/exhibits/{room}.log",
            conda:
                "../../envs/exhibits.yaml"
            params:
                room=room,
                dataset=drawn_dataset,
                study=code_of(*rooms.drawing_code(room)),
                exhibits=[exhibit.id for exhibit in drawn],
                settings=lambda wildcards, study=study: study.params("exhibits"),
                not_run=lambda wildcards, dataset=drawn_dataset: not_run(dataset),
                printed=PRINTED[room],
                claims=CLAIMS[room],
            script:
                "../scripts/make_exhibits.py"


# one table of all studies, because a verdict is adjusted over the primary claims of its paper
rule decide_claims:
    input:
        tested=lambda wildcards: tested_claims(asked_for()),
        kept=sorted(map(str, KEPT.glob("claims/*.csv"))),
    output:
        csv="results/claims.csv",
        md="results/claims.md",
    log:
        "logs/decide_claims.log",
    conda:
        "../../envs/exhibits.yaml"
    params:
        others=other_claims,
        claims=[row for rows in CLAIMS.values() for row in rows],
        commands={
            run: command_for(run) for rows in CLAIMS.values() for row in rows for run in row["run"].split(";") if run
        },
    script:
        "../scripts/decide_claims.py"
