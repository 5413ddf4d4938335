#!/usr/bin/env -S python3 -B
"""oracles.py: compares the placements that cairn finds for fit<...> with the placements that other programs find.

Chains: the blocks are equal, and each has one byte and one operation. checkpoint-schedules computes the least number of
forward executions. A checkpoint there is a boundary, or everything that the adjoint of a step reads (Maddison, On the
implementation of checkpointing with high-level algorithmic differentiation, 2024). For comparison, the table also has
the numbers of Revolve, which stores only boundaries.

Knapsacks: the blocks are independent of each other. Each is either stored, which takes its bytes, or recomputed, which
takes its time. The solvers of PyTorch's partitioner choose the best blocks to store in a given number of bytes.

README's network: the table has the bytes that PyTorch's partitioner saves and the products that it recomputes, for each
memory budget, next to cairn's frontier.

The models of PyTorch's tests of its memory budget (MemoryBudgetTest): the table has the bytes that PyTorch's
partitioner saves and the products that it recomputes. It has the same figures of cairn with the same products stored,
and of fit<...> in the arena of that program.

The program fails in three cases: if cairn does more work than necessary for a chain of up to 32 blocks; if cairn does
more than PyTorch with the same products stored; or if fit<...> recomputes more products in no more memory.
`./dev bench peers` installs the peers.
"""
import os
import subprocess
import sys

from scenario import bench, build, compile_program, python

if not sys.prefix.startswith(str(python.parents[1])):
    os.execv(python, [python, "-B", *sys.argv])

from checkpoint_schedules.mixed import optimal_steps_mixed
from checkpoint_schedules.multistage import optimal_steps_binomial
import torch
from stored import partitioned, partitioned_by_torch, readme
from torch._functorch import config
from torch._functorch._activation_checkpointing import knapsack
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.flop_counter import flop_registry

solvers = {"dp": knapsack.dp_knapsack, "sliding dp": knapsack.dp_knapsack_sliding_hirschberg,
           "ilp": knapsack.ilp_knapsack, "greedy": knapsack.greedy_knapsack}


def pairs(words, between=":"):
    return [tuple(map(int, word.split(between))) for word in words]


def chains(answers, in_fit):
    """Prints how the lists for chains compare with the best placements. Returns whether the long lists contain the best
    ones. Of m bytes, the gradient takes one and the running block takes one, so m - 2 bytes are left for checkpoints.
    The lists of fit<...> are shorter, so their placements can be worse than the best ones.
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
    """Prints how often cairn recomputes more or less than PyTorch's solvers. Returns whether it never recomputes more.
    """
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
    print(f"{len(answers)} knapsacks, {budgets} budgets. How often cairn recomputes more or less than PyTorch's solvers "
          "do:")
    for name in solvers:
        print(f"  {name:12} more {worse[name]}, less {better[name]}, equal {budgets - worse[name] - better[name]}")
    return not any(worse.values())


def products(graph):
    """Returns the operations of the products of a graph. PyTorch's counter counts no other operations."""
    def value(x):
        return x.meta["val"] if hasattr(x, "meta") else x

    return sum(flop_registry[n.target.overloadpacket](*map(value, n.args), out_val=value(n)) for n in graph.nodes
               if n.op == "call_function" and getattr(n.target, "overloadpacket", None) in flop_registry)


def network(answers):
    """Prints for each budget the point of cairn that stores the most bytes, but no more than PyTorch saves."""
    points = [tuple(map(int, words)) for words in answers]

    def cells(point):
        arena, stored, again = point
        return f"{stored / 1024:12.1f}{again / 1e6:8.0f}{arena / 1024:12.1f}"

    print("saved (PyTorch) and stored (cairn): bytes from the forward to the backward pass, without parameters and "
          "inputs.\narena: all bytes that a step needs at once. again: recomputed MFLOP; for PyTorch, only products "
          "count.\nPyTorch chooses by the operations of products and by the saved bytes. cairn chooses by the "
          "operations of\nall kernels and by the arena.")
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


unit = 64  # side of a matrix, as in oracles.cpp; PyTorch's tests have 512


def matrices(*extents):
    return [torch.randn(rows * unit, columns * unit) for rows, columns in extents]


def of_cosines(x, *weights):
    for w in weights:
        x = torch.cos(x) @ w
    return x


def sum_of_products(*values):
    half = len(values) // 2
    return sum(torch.cos(x @ w).sum() for x, w in zip(values[:half], values[half:]))


def attention_then_product(x, w):
    one = x.reshape(1, 1, *x.shape)
    return torch.cos(scaled_dot_product_attention(one, one, one).reshape(x.shape) @ w).sum()


def apart(inner, outer):
    return sum_of_products, matrices(*((i, i) for i in inner), *zip(inner, outer))


tenths = [part / 10 for part in range(10, -1, -1)]
budget_tests = {  # for each test: the loss, its values, and the budgets
    "cheap": (lambda *values: of_cosines(*values).sum(), matrices((1, 1), (1, 1)), (1, 0.5)),
    "even": (lambda *values: torch.cos(of_cosines(*values)).sum(), matrices(*[(1, 1)] * 6), tenths),
    "uneven": (*apart([1] * 4, [11, 3, 4, 2]), [kept / 20 for kept in (18, 17, 16, 15, 14, 13, 11, 7, 6, 5)]),
    "uneven2": (*apart([1] * 5, [3, 5, 11, 17, 14]), [kept / 50 for kept in (42, 30, 19, 8, 3)]),
    "cheaper": (*apart([1, 2], [4, 2]), (1, 0.5)),
    "cheaper2": (*apart([4, 6, 2], [4, 2, 6]), (1, 28 / 40, 16 / 40)),
    **{f"attention{tokens}x{width}": (attention_then_product, matrices((tokens, width), (width, width)), (1, 0.6))
       for tokens, width in ((1, 1), (1, 3), (2, 1))},
}


def memory_budgets(by_fit, by_choice):
    """Prints how cairn compares with PyTorch on the models of PyTorch's tests. Returns whether cairn stores and
    recomputes no more than PyTorch with the same products stored, and whether fit<...> recomputes no more in the arena
    of that."""
    fitted, chosen = {}, {}
    for name, _, *figures in by_fit:
        fitted.setdefault(name, []).append(tuple(map(int, figures)))
    for name, kept, *figures in by_choice:
        chosen[name, int(kept)] = tuple(map(int, figures))

    def cells(stored, again, arena=None):
        shown = f"{stored / (4 * unit**2):9.2f}{again / (2 * unit**3):8.2f}"
        return shown + (f"{arena / (4 * unit**2):8.2f}" if arena else "")

    print(f"PyTorch's tests of its budget. Bytes are in matrices of {unit} x {unit}, and work is in products of two of "
          "them.\nsaved: PyTorch. stored: cairn, with the same products stored. by fit: fit<...> in no more than that "
          "arena.")
    print(f"{'':14}{'budget':>8}{'saved':>9}{'again':>8}{'stored':>9}{'again':>8}{'arena':>8}"
          f"{'by fit':>9}{'again':>8}{'arena':>8}")
    good, rows, equal, again, less = True, 0, 0, 0, 0
    for name, (loss, values, budgets) in budget_tests.items():
        config.activation_memory_budget = 1
        without = products(partitioned(loss, (), values)[1])
        makes = ["getitem", "mm"] if name.startswith("attention") else ["mm", "mm_1", "mm_2", "mm_3", "mm_4"]
        for budget in budgets:
            config.activation_memory_budget = budget
            saved, backward = partitioned(loss, (), values)
            theirs = sum(saved.values()), products(backward) - without
            same = chosen[name, sum(1 << i for i, made in enumerate(makes) if made in saved)]
            best = min((point for point in fitted[name] if point[2] <= same[2]), key=lambda point: point[1])
            good &= same[0] <= theirs[0] and best[1] <= same[1]
            equal += same == (*theirs, same[2])
            rows += 1
            again += same[1] > 0
            less += best[1] < same[1]
            good &= same[1] <= theirs[1] or "getitem" in makes  # for attention, cairn also counts the softmax
            print(f"{name:14}{budget:8.2f}{cells(*theirs)}{cells(*same)}{cells(*best)}", flush=True)
    print(f"{rows} rows. In {equal} of them cairn stores and recomputes as much as PyTorch. In {again} rows products "
          f"are recomputed, and in {less} of these rows fit<...> recomputes fewer.")
    return good


if __name__ == "__main__":
    compile_program(bench / "oracles.cpp", build / "oracles", f"-I{bench / 'scenario/readme'}", "-O0", "-ldl")
    said = subprocess.run([build / "oracles"], check=True, text=True, capture_output=True).stdout
    lines = [line.split() for line in said.splitlines()]
    chain, fit, sack, points, by_fit, by_choice = ([words[1:] for words in lines if words[0] == name] for name in (
        "chain", "fit", "knapsack", "readme", "budget", "kept"))
    agreed = [chains(chain, fit), knapsacks(sack), memory_budgets(by_fit, by_choice)]
    network(points)
    sys.exit(not all(agreed))
