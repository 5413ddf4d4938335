#!/usr/bin/env -S python3 -B
"""oracles.py: the placements that cairn finds for fit<...>, beside what others find.

Chains: equal blocks of one byte and one operation, of which checkpoint-schedules computes the least number of forward
executions, where a checkpoint is a boundary or all that a step's adjoint reads (Maddison, On the implementation of
checkpointing with high-level algorithmic differentiation, 2024). Revolve, which keeps only boundaries, for comparison.

Knapsacks: blocks that have nothing to do with each other, which are kept, for their bytes, or computed again, for their
time. Of these, the solvers of PyTorch's partitioner choose the best to keep in so many bytes.

README's network: what PyTorch's partitioner saves and multiplies again for each memory budget, beside cairn's frontier.

It fails where cairn does more work than is known to be needed, of chains of up to 32 blocks. Peers: ./dev bench peers.
"""
import os
import subprocess
import sys

from scenario import bench, build, compile_program, python

if not sys.prefix.startswith(str(python.parents[1])):
    os.execv(python, [python, "-B", *sys.argv])

from checkpoint_schedules.mixed import optimal_steps_mixed
from checkpoint_schedules.multistage import optimal_steps_binomial
from stored import partitioned_by_torch, readme
from torch._functorch import config
from torch._functorch._activation_checkpointing import knapsack
from torch.utils.flop_counter import flop_registry

solvers = {"dp": knapsack.dp_knapsack, "sliding dp": knapsack.dp_knapsack_sliding_hirschberg,
           "ilp": knapsack.ilp_knapsack, "greedy": knapsack.greedy_knapsack}


def pairs(words, between=":"):
    return [tuple(map(int, word.split(between))) for word in words]


def chains(answers, in_fit):
    """Whether lists that are long enough have what is best. In m bytes, one is the gradient's and one the running
    block's: m - 2 are for checkpoints. The lists of fit<...> are shorter: how far a memory is from its best with them.
    """
    print(f"{'blocks':>8}{'memories':>10}{'equal':>8}{'by fit':>8}{'at most':>9}   "
          "forward executions (Revolve) by checkpoints")
    good = True
    for (length, *found), (_, *short) in zip(answers, in_fit):
        length = int(length)
        known = {n: optimal_steps_mixed(length, n) for n in range(1, length)}

        def ratios(points):
            least = {n: min(flops for size, flops in pairs(points) if size <= n + 2) for n in known}
            return {n: least[n] / known[n] for n in known}

        exact, fitted = ratios(found), ratios(short)
        good &= length > 32 or max(exact.values()) == 1
        shown = ", ".join(f"{n}: {known[n]} ({optimal_steps_binomial(length, n)})" for n in list(known)[:5])
        print(f"{length:8}{len(known):10}{list(exact.values()).count(1):8}{list(fitted.values()).count(1):8}"
              f"{max(fitted.values()):9.3f}   {shown}")
    return good


def knapsacks(answers):
    """Whether cairn does as little again as the solvers that look at everything; greedy does not."""
    worse = dict.fromkeys(solvers, 0)
    better = dict.fromkeys(solvers, 0)
    budgets = 0
    for words in answers:
        at = words.index("=")
        sizes, times = zip(*pairs(words[:at], "/"))
        for budget in range(sum(sizes) + 1):
            again = min(time for size, time in pairs(words[at + 1:]) if size <= 100 * budget + 99)
            budgets += 1
            for name, solve in solvers.items():
                theirs = sum(times) - sum(times[i] for i in solve(list(sizes), list(times), budget)[1])
                worse[name] += again > theirs
                better[name] += again < theirs
    print(f"{len(answers)} knapsacks, {budgets} budgets; computed again, cairn to PyTorch's solvers:")
    for name in solvers:
        print(f"  {name:12} more {worse[name]}, less {better[name]}, equal {budgets - worse[name] - better[name]}")
    return not any(worse.values())


def products(graph):
    """Operations of a graph, as PyTorch's counter counts them: those of products alone."""
    def value(x):
        return x.meta["val"] if hasattr(x, "meta") else x

    return sum(flop_registry[n.target.overloadpacket](*map(value, n.args), out_val=value(n)) for n in graph.nodes
               if n.op == "call_function" and getattr(n.target, "overloadpacket", None) in flop_registry)


def network(answers):
    """Beside each budget, cairn's point of the most stored bytes that are not above what PyTorch saves."""
    points = [tuple(map(int, words)) for words in answers]

    def cells(point):
        arena, stored, again = point
        return f"{stored / 1024:12.1f}{again / 1e6:8.0f}{arena / 1024:12.1f}"

    print("Saved, by PyTorch, are bytes between forward and backward without parameters and inputs; stored, by cairn, "
          "likewise;\nthe arena is all that a step needs at once. PyTorch decides by the operations of products and by "
          "what is saved,\ncairn by those of all kernels and by the arena. Again: MFLOP, of PyTorch only products'.")
    print(f"{'budget':>8}{'saved KiB':>12}{'again':>8}   {'stored KiB':>12}{'again':>8}{'arena KiB':>12}")
    without = None
    for budget in (1, 0.75, 0.5, 0.35, 0.25, 0.15, 0.1, 0.05, 0):
        config.activation_memory_budget = budget
        saved, backward = partitioned_by_torch(readme, 784)
        without = products(backward) if without is None else without
        line = f"{budget:8}{saved / 1024:12.1f}{(products(backward) - without) / 1e6:8.0f}   "
        own = max((p for p in points if p[1] <= saved), key=lambda p: p[1], default=None)
        print(line + (cells(own) if own else "  cairn stores more"), flush=True)
    print("all of cairn's:")
    for point in points:
        print(f"{'':31}{cells(point)}")


if __name__ == "__main__":
    compile_program(bench / "oracles.cpp", build / "oracles", f"-I{bench / 'scenario/readme'}", "-O0", "-ldl")
    said = subprocess.run([build / "oracles"], check=True, text=True, capture_output=True).stdout
    lines = [line.split() for line in said.splitlines()]
    chain, fit, sack, points = ([words[1:] for words in lines if words[0] == name]
                                for name in ("chain", "fit", "knapsack", "readme"))
    agreed = [chains(chain, fit), knapsacks(sack)]
    network(points)
    sys.exit(not all(agreed))
