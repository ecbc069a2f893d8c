"""From numbers to the papers' tables and figures: one job makes a study's contrasts, and one draws all its exhibits.

Needs: the tables that the study's rules make (where a data set cannot be run nothing: the exhibits then say why). Makes:
{study}/contrasts.parquet and {study}/time_contrasts.parquet, exhibits/{paper}/ and exhibits/headline.txt. Which exhibits there are is in studies/*/exhibits.py and what
these import.
"""

for room in rooms.ROOMS:
    for drawn_dataset in rooms.datasets_of(config, room):
        drawn = rooms.exhibits_in(config, room, drawn_dataset)
        headline = (
            {"headline": f"results/{drawn_dataset}/exhibits/headline.txt"}
            if drawn_dataset in config.get(room, ())
            else {}
        )

        rule:
            name:
                f"contrast_{room}_{drawn_dataset}"
            input:
                unpack(
                    lambda wildcards, plan=rooms.plan_of(room), dataset=drawn_dataset: plan.contrast_files(
                        config, dataset
                    )
                ),
            output:
                contrasts=f"results/{drawn_dataset}/{room}/contrasts.parquet",
                time_contrasts=f"results/{drawn_dataset}/{room}/time_contrasts.parquet",
            log:
                f"logs/{drawn_dataset}/contrasts/{room}.log",
            conda:
                "../../envs/exhibits.yaml"
            params:
                room=room,
                study=code_of(f"studies/{room}/contrasts.py", f"studies/{room}/study.py"),
                settings=lambda wildcards, plan=rooms.plan_of(room), dataset=drawn_dataset: plan.exhibit_settings(
                    config, dataset, not_run(dataset)
                ),
                printed=PRINTED[room],
            script:
                "../scripts/contrast_numbers.py"

        rule:
            name:
                f"draw_{room}_{drawn_dataset}"
            input:
                unpack(
                    lambda wildcards, plan=rooms.plan_of(room), dataset=drawn_dataset: (
                        {} if not_run(dataset) else plan.exhibit_files(config, dataset)
                    )
                ),
            output:
                *rooms.exhibit_paths(drawn_dataset, drawn),
                **headline,
            log:
                f"logs/{drawn_dataset}/exhibits/{room}.log",
            conda:
                "../../envs/exhibits.yaml"
            params:
                room=room,
                study=code_of(f"studies/{room}/exhibits.py", f"studies/{room}/study.py"),
                exhibits=[exhibit.id for exhibit in drawn],
                settings=lambda wildcards, plan=rooms.plan_of(room), dataset=drawn_dataset: plan.exhibit_settings(
                    config, dataset, not_run(dataset)
                ),
                printed=PRINTED[room],
                claims=CLAIMS[room],
            script:
                "../scripts/draw_exhibits.py"
