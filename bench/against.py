#!/usr/bin/env -S python3 -B
"""Times cairn's steps before and after a change: against.py COMMIT [scenario...]

COMMIT is checked out into build/bench/before. The program of each scenario is compiled from both trees. The two
programs then make equally many steps in turns, so that other load on the machine slows both alike. A ratio is the time
now divided by the time before, as the median over the rounds. If it is below 1, the working tree is faster. Programs
are "same" if their losses are equal in every bit.
"""

import statistics
import subprocess
import sys

import scenario as peers

before = peers.build / "before"
forms_of_training = [(who, numbers + form) for who, form, numbers in
                     (("cairn", "plain", ""), ("cairn", "ckpt", ""), ("cairn.optimizer", "plain", ""),
                      ("cairn.optimizer", "ckpt", ""), ("cairn", "plain", "bf16-"), ("cairn", "ckpt", "bf16-"))]


def check_out(commit):
    """Checks a commit out, in the place of the commit that was checked out before."""
    subprocess.run(["git", "worktree", "remove", "--force", str(before)], cwd=peers.top, capture_output=True)
    subprocess.run(["git", "worktree", "add", "--force", "--detach", str(before), commit], cwd=peers.top, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def compiled(tree, name):
    target = peers.build / "against" / tree.name / name
    target.parent.mkdir(parents=True, exist_ok=True)
    flags = [flag.replace(str(peers.top), str(tree)) for flag in peers.flags]
    source = tree / "bench/scenario" / name / "cairn.cpp"
    subprocess.run(["g++", *flags, str(source), "-o", str(target), "-ldl"], check=True)
    return target


def forms_of(name, module):
    """Returns the forms of cairn in a scenario."""
    contests = getattr(module, "contests", [getattr(module, "contestants", None)])
    listed = [each for contest in contests for each in contest or forms_of_training if each[0].startswith("cairn")]
    return [each for each in listed if peers.takes_part(*each, name)]


def in_turns(programs, form, name, threads):
    """Runs two programs in turns. Returns their rows, with the samples of the rounds."""
    rows, running = [], []
    for i, program in enumerate(programs):
        log = peers.build / "against" / f"{name}-{i}.log"
        process = peers.contestant([program, peers.build / name / "tensors", form], log, threads)
        running.append(process)
        rows.append({**process.ready(), "samples": []})
    first = min(process.run(1) for process in running)
    count = max(1, round(peers.seconds_a_run / first))
    for _ in range(peers.rounds_for(2 * first * count, {"budget": 12})):
        for process, row in zip(running, rows):
            row["samples"].append(process.run(count))
    for process in running:
        process.stop()
    return rows


def compare(name, threads, programs, module):
    """Prints a line for each form, and returns the ratios."""
    ratios = []
    for who, form in forms_of(name, module):
        special = who.partition(".")[2]
        said = f"{special}-{form}" if special else form
        old, new = in_turns(programs, said, name, threads)
        ratios.append(peers.ratio(new["samples"], old["samples"]))
        same = "same" if (old["first"], old["later"]) == (new["first"], new["later"]) else "other bits"
        print(f"{name:12} {threads} {said:24} {1e3 * statistics.median(old['samples']):10.2f}"
              f"{1e3 * statistics.median(new['samples']):10.2f}{ratios[-1]:8.3f}{old['memory'] / 2**20:10.3f}"
              f"{new['memory'] / 2**20:10.3f}  {same}", flush=True)
    return ratios


def main():
    commit, *wanted = sys.argv[1:]
    folders = sorted(path.parent for path in (peers.bench / "scenario").glob("*/tensors.py"))
    if unknown := set(wanted) - {folder.name for folder in folders}:
        sys.exit(f"no scenario with tensors: {' '.join(sorted(unknown))}; there are {' '.join(f.name for f in folders)}")
    check_out(commit)
    peers.compile_program(peers.bench / "heap.cpp", peers.build / "heap.so", "-shared", "-fPIC")
    print(f"{'scenario':12} {'threads and form':26} {'ms before':>10}{'ms now':>9}{'ratio':>9}{'MiB before':>11}{'now':>9}")
    ratios = []
    for folder in folders:
        if wanted and folder.name not in wanted:
            continue
        module = peers.import_file(folder / "tensors.py")
        peers.write_tensors(module, peers.build / folder.name / "tensors")
        programs = [compiled(tree, folder.name) for tree in (before, peers.top)]
        for threads in getattr(module, "threads", (1, 2)):
            ratios += compare(folder.name, threads, programs, module)
    print(f"geometric mean of {len(ratios)} ratios: {statistics.geometric_mean(ratios):.3f}")


if __name__ == "__main__":
    main()
