// The page of a profile, without its data and its script.
#pragma once

#include "cairn/base/compiler.hpp"
#include "cairn/base/macros_aside.hpp"

#include <string_view>

namespace cairn::report::detail {

/// The head of the page. Its content security policy forbids the page to load anything.
inline constexpr std::string_view page_head = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>A training step, measured</title>
)html";

inline constexpr std::string_view page_style = R"html(<style>
:root {
  color-scheme: light dark;
  --paper: #ffffff; --panel: #f6f8fa; --ink: #1f2328; --faint: #656d76; --line: #d8dee4; --bar: #dbe9f9;
  --part0: #5b9bd9; --part1: #e8913a; --part2: #4aa58b; --part3: #a9afb8; --segment: #cfe2f6; --other: #aecdee;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #0d1117; --panel: #161b22; --ink: #e6edf3; --faint: #8d96a0; --line: #30363d; --bar: #1c3350;
    --part0: #3f7fc0; --part1: #cf7a25; --part2: #358a72; --part3: #6b727c; --segment: #1f3a59; --other: #2a4d75;
  }
}
* { box-sizing: border-box }
body {
  margin: 0 auto; padding: 24px 20px 64px; max-width: 1240px; background: var(--paper); color: var(--ink);
  font: 14px/1.45 system-ui, "DejaVu Sans", sans-serif;
}
h1 { margin: 0 0 4px; font-size: 22px }
h2 { margin: 36px 0 8px; font-size: 16px }
p { margin: 4px 0 12px; color: var(--faint); max-width: 80ch }
#figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(138px, 1fr)); gap: 8px; margin: 16px 0 }
#figures div { padding: 8px 9px; border: 1px solid var(--line); border-radius: 6px; background: var(--panel) }
#figures b { display: block; font-size: 17px; font-variant-numeric: tabular-nums; white-space: nowrap }
#figures span { color: var(--faint); font-size: 12px; white-space: nowrap }
.above { display: flex; flex-wrap: wrap; gap: 4px 16px; align-items: center; justify-content: space-between }
.legend span { white-space: nowrap; margin-right: 14px; font-size: 12px }
.legend i { display: inline-block; width: 11px; height: 11px; margin-right: 5px; border-radius: 2px }
.part0 { fill: var(--part0); background: var(--part0) } .part1 { fill: var(--part1); background: var(--part1) }
.part2 { fill: var(--part2); background: var(--part2) } .part3 { fill: var(--part3); background: var(--part3) }
svg { display: block; width: 100%; user-select: none; touch-action: pan-y }
svg text { fill: var(--faint); font-size: 11px }
svg .within { fill: var(--ink); text-anchor: middle; pointer-events: none }
.end { text-anchor: end } .middle { text-anchor: middle }
.grid { stroke: var(--line) }
.turn { stroke: var(--ink); stroke-dasharray: 2 3 }
.cross { stroke: var(--faint); pointer-events: none }
.held { stroke: var(--paper); stroke-width: .6 }
.held:hover { stroke: var(--ink); stroke-width: 1.6 }
.segment { fill: var(--segment) } .other { fill: var(--other) }
.ground { fill: var(--panel) }
#tip {
  position: fixed; z-index: 2; display: none; pointer-events: none; max-width: 340px; padding: 7px 10px;
  font-size: 12px; background: var(--panel); border: 1px solid var(--line); border-radius: 6px;
  box-shadow: 0 4px 14px #0004;
  white-space: pre-line; overflow-wrap: anywhere; font-variant-numeric: tabular-nums;
}
#tip b { display: block }
button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer }
.choices { display: flex; gap: 8px }
.choice button { padding: 2px 10px; border: 1px solid var(--line); font-size: 12px }
.choice button:first-child { border-radius: 6px 0 0 6px }
.choice button:last-child { border-radius: 0 6px 6px 0; border-left: 0 }
.choice button[aria-pressed=true] { background: var(--bar) }
.scroll { overflow: auto; max-height: 460px; border: 1px solid var(--line); border-radius: 6px }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th { position: sticky; top: 0; background: var(--panel); font-weight: 600; font-size: 12px; vertical-align: bottom }
th, td { padding: 4px 10px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line) }
th.text, td.text { text-align: left }
td.path { white-space: normal; min-width: 160px; overflow-wrap: anywhere }
tr:last-child td { border-bottom: 0 }
tbody tr:hover { background: var(--panel) }
tfoot td { border-top: 2px solid var(--line); font-weight: 600 }
th[aria-sort=ascending] button::after { content: " \25B4" } th[aria-sort=descending] button::after { content: " \25BE" }
td.bar { background: linear-gradient(to left, var(--bar) var(--share), transparent var(--share)) }
td i { display: inline-block; width: 9px; height: 9px; margin-right: 6px; border-radius: 2px }
</style>
</head>
)html";

inline constexpr std::string_view page_body = R"html(<body>
<h1>A training step, measured</h1>
<p id="said"></p>
<div id="figures"></div>
<h2>The arena over time</h2>
<div class="above">
  <div class="legend"><span><i class="part0"></i>forward</span><span><i class="part1"></i>recomputation</span><span><i
    class="part2"></i>backward</span><span><i class="part3"></i>scratch</span></div>
  <div class="choices"><div class="choice" data-of="up"><button data-choice="stack" aria-pressed="true">bytes that
    live</button><button data-choice="address" aria-pressed="false">addresses</button></div>
  <div class="choice" data-of="along"><button data-choice="time" aria-pressed="true">by time</button><button
    data-choice="steps" aria-pressed="false">by step</button></div></div>
</div>
<svg id="arena" role="img" aria-label="What lies in the arena at each step"></svg>
<h2>Parts</h2>
<div class="scroll" id="parts"></div>
<h2>Segments</h2>
<p>The cost of recomputing a segment stands beside the bytes that the segment does not store. Each cost counts once: a
segment around others leaves out what the inner segments count. Outside of segments, the backward pass recomputes what
is cheap.</p>
<div class="scroll" id="segments"></div>
<h2>Operations</h2>
<p>The time of a step is divided among its operations by their FLOP. "Of the roof" is the share of the speed that the
processor has for so many operations and bytes.</p>
<div class="scroll" id="operations"></div>
<h2>Steps</h2>
<div class="scroll" id="steps"></div>
<div id="tip" role="status"></div>
<script type="application/json" id="profile">
)html";

}  // namespace cairn::report::detail

#include "cairn/base/macros_back.hpp"
