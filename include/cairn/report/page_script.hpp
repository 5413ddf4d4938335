// The script of the page of a profile.
#pragma once

#include "cairn/base/compiler.hpp"
#include "cairn/base/macros_aside.hpp"

#include <string_view>

namespace cairn::report::detail {

inline constexpr std::string_view page_script = R"html(<script>
'use strict';
const p = JSON.parse(document.getElementById('profile').textContent), f = p.figures, count = p.steps.length;
const parts = ['forward', 'recomputation', 'backward', 'scratch'];
const $ = id => document.getElementById(id);
const made = (name, space) => (attributes, ...inside) => {
  const e = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...inside);
  return e;
};
const html = name => made(name, 'http://www.w3.org/1999/xhtml'), svg = name => made(name, 'http://www.w3.org/2000/svg');

// Three digits and the largest unit that is not above n.
const scaled = (n, base, units) => {
  let unit = 0;
  for (; n >= base && unit + 1 < units.length; ++unit) n /= base;
  return n.toFixed(unit === 0 || n >= 99.95 ? 0 : n >= 9.995 ? 1 : 2) + '\u00a0' + units[unit];
};
const powers = ['', 'k', 'M', 'G', 'T'], sizes = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
const decimal = unit => n => n > 0 ? scaled(n, 1000, powers.map(power => power + unit)) : '';
const flop = decimal('FLOP'), rate = decimal('FLOP/s'), speed = decimal('B/s'), bytes = n => scaled(n, 1024, sizes);
const time = s => s > 0 ? scaled(s * 1e9, 1000, ['ns', '\u00b5s', 'ms', 's']) : '';
const percent = n => (100 * n).toFixed(0) + '\u00a0%';
const over = (n, seconds) => seconds > 0 ? n / seconds : 0;
const lines = (...all) => all.filter(text => text).join('\n');

// Tables: a column has a title, the value by which it sorts, and how that is shown.
const shown = (c, row) => c.show ? c.show(c.of(row)) : c.of(row);
function table(id, columns, rows, foot) {
  const head = html('tr')({}), body = html('tbody')({});
  const most = columns.map(c => c.bar ? Math.max(...rows.map(c.of)) : 0);
  const fill = () => body.replaceChildren(...rows.map(r => html('tr')({}, ...columns.map((c, k) => {
    const cell = html('td')({class: ['text', 'path', 'bar'].filter(kind => c[kind]).join(' ')}, shown(c, r));
    if (c.bar) cell.style.setProperty('--share', (most[k] > 0 ? 100 * c.of(r) / most[k] : 0) + '%');
    if (c.part) cell.prepend(html('i')({class: 'part' + r.part}));
    return cell;
  }))));
  for (const c of columns) {
    const button = html('button')({}, c.title), cell = html('th')({class: c.text ? 'text' : '', scope: 'col'}, button);
    button.onclick = () => {
      const down = cell.getAttribute('aria-sort') ? cell.getAttribute('aria-sort') === 'ascending' : !c.text;
      for (const other of head.children) other.removeAttribute('aria-sort');
      cell.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const way = down ? -1 : 1;
      rows.sort((a, b) => way * (c.of(a) < c.of(b) ? -1 : c.of(a) > c.of(b) ? 1 : 0));
      fill();
    };
    head.append(cell);
  }
  rows = [...rows];
  fill();
  const whole = html('table')({}, html('thead')({}, head), body);
  if (foot) whole.append(html('tfoot')({}, html('tr')({}, ...columns.map(c =>
    html('td')({class: c.text ? 'text' : ''}, shown(c, foot))))));
  $(id).append(whole);
}
const sum = of => p.parts.reduce((n, part) => n + part[of], 0);
const all = {name: 'in all', seconds: sum('seconds'), flops: sum('flops'), bytes: sum('bytes'), least: sum('least')};
const name = (title, more) => ({title, of: r => r.name, text: true, path: true, ...more});
const shares = [
  {title: 'time', of: r => r.seconds, show: time, bar: true},
  {title: 'of all', of: r => over(r.seconds, all.seconds), show: percent},
  {title: 'work', of: r => r.flops, show: flop},
  {title: 'FLOP/s', of: r => over(r.flops, r.seconds), show: rate},
  {title: 'bytes/s', of: r => over(r.bytes, r.seconds), show: speed},
  {title: 'of the roof', of: r => over(r.least, r.seconds), show: percent}];
table('parts', [name('part', {part: true}), ...shares], p.parts.map((r, part) => ({...r, part})), all);
table('operations', [name('operation'), {title: 'times', of: r => r.count}, ...shares], p.operations);
table('segments', [name('segment'),
  {title: 'recomputation', of: r => r.again, show: time, bar: true},
  {title: 'not stored', of: r => r.freed, show: n => n > 0 ? bytes(n) : '', bar: true},
  {title: 'time per MiB', of: r => r.freed > 0 ? r.again * 2 ** 20 / r.freed : 0, show: time},
  {title: 'operations recomputed', of: r => r.operations, show: n => n || ''},
  {title: 'work recomputed', of: r => r.flops, show: flop},
  {title: 'boundary', of: r => r.boundary, show: n => n > 0 ? bytes(n) : ''},
  {title: 'forward', of: r => r.forward, show: time},
  {title: 'backward', of: r => r.backward, show: time}], p.segments);
table('steps', [{title: 'step', of: r => r.number}, name('operations', {part: true}),
  {title: 'of', of: r => r.origin, text: true, path: true}, ...shares.filter(c => c.title !== 'of all'),
  {title: 'limited by', of: r => r.by, text: true},
  {title: 'read', of: r => r.read, show: bytes}, {title: 'written', of: r => r.written, show: bytes},
  {title: 'live', of: r => r.live, show: bytes}],
  p.steps.map((s, number) => ({...s, number, bytes: s.read + s.written})));

$('said').textContent = `${count} steps on ${f.threads} thread${f.threads > 1 ? 's' : ''}, each the median of ` +
  `${f.rounds} rounds. The processor's roof: ${rate(f.flops)}, and ${speed(f.memory)} from memory to ` +
  `${speed(f.cache)} in a cache.`;
for (const [what, value] of [['a step', time(all.seconds)], ['recomputed: ' +
  percent(over(p.parts[1].seconds, all.seconds)), time(p.parts[1].seconds) || 'none'], ['work', flop(all.flops)],
  ['of the roof', percent(over(all.least, all.seconds))], ['peak: the arena', bytes(f.peak)],
  ['stored for backward', bytes(f.stored)], ['parameters', bytes(f.parameters)], ['gradients', bytes(f.gradients)],
  ['moments', bytes(f.moment_bytes)], ['sums of parts', bytes(f.division_bytes)], ['memory in all', bytes(f.all)]])
  $('figures').append(html('div')({}, html('b')({}, value), html('span')({}, what)));
</script>
)html"
                                                R"html(<script>
'use strict';
// The arena: steps to the right; upward its addresses, or the bytes that live, what is older below.
const begins = {time: [0], steps: [...Array(count + 1).keys()]};
for (const s of p.steps) begins.time.push(begins.time.at(-1) + s.seconds);
const depth = Math.max(...p.segments.map(s => s.depth));
const around = (s, d) => {
  while (p.segments[s].depth > d) s = p.segments[s].parent;
  return p.segments[s].depth === d ? s : 0;
};
const path = s => s > 0 ? 'in ' + p.segments[s].name : '';
const chosen = {along: 'time', up: 'stack'};

// By value, the rectangles that show it: steps [from, to] and where its bytes begin.
const places = {address: p.held.map(h => [{from: h.from, to: h.to, at: h.offset}]), stack: p.held.map(() => [])};
for (let step = 0, next = 0, live = []; step < count; ++step) {
  live = live.filter(i => p.held[i].to >= step);
  for (; next < p.held.length && p.held[next].from === step; ++next) live.push(next);
  let at = 0;
  for (const i of live) {
    const last = places.stack[i].at(-1);
    if (last && last.at === at) last.to = step;
    else places.stack[i].push({from: step, to: step, at});
    at += p.held[i].bytes;
  }
}

function ticks(end, most) {
  const rough = end / most, power = 10 ** Math.floor(Math.log10(rough));
  const tick = power * (rough > 5 * power ? 10 : rough > 2 * power ? 5 : rough > power ? 2 : 1);
  return Array.from({length: Math.floor(end / tick * 1.0001) + 1}, (_, i) => i * tick);
}

function draw() {
  const chart = $('arena'), wide = Math.max(chart.clientWidth, 280);
  const left = 66, right = wide - 8, top = 22, bottom = 342;
  const at = begins[chosen.along], x = i => left + (right - left) * at[i] / at[count];
  const y = n => bottom - (bottom - top) * n / (f.peak * 1.04), foot = bottom + 26 + 17 * depth;
  const line = (x1, y1, x2, y2, kind) => svg('line')({x1, y1, x2, y2, class: kind});
  const box = (x1, y1, x2, y2, kind, more) =>
    svg('rect')({x: x1, y: y1, width: Math.max(x2 - x1, .3), height: y2 - y1, class: kind, ...more});
  const text = (x, y, kind, what) => svg('text')({x, y, class: kind}, what);
  const out = [box(left, top, right, bottom, 'ground')];
  const size = Math.min(Math.floor(Math.log(Math.max(f.peak, 1)) / Math.log(1024)), 4), unit = 1024 ** size;
  for (const n of ticks(f.peak * 1.04 / unit, 6)) {
    const here = y(n * unit);
    out.push(line(left, here, right, here, 'grid'), text(left - 6, here + 4, 'end', +n.toPrecision(3)));
  }
  out.push(text(left - 6, top - 8, 'end', sizes[size]));
  p.held.forEach((h, i) => {
    const boxes = places[chosen.up][i].map(r =>
      `M${x(r.from)} ${y(r.at)}V${y(r.at + h.bytes)}H${x(r.to + 1)}V${y(r.at)}Z`);
    out.push(svg('path')({class: 'held part' + h.part, 'data-held': i, d: boxes.join('')}));
  });
  out.push(line(left, y(f.peak), right, y(f.peak), 'turn'), text(right, y(f.peak) - 4, 'end', 'peak ' + bytes(f.peak)));
  p.steps.forEach((s, i) =>
    out.push(box(x(i), bottom + 4, x(i + 1), bottom + 18, 'held part' + s.part, {'data-step': i})));
  out.push(text(left - 6, bottom + 15, 'end', 'steps'));
  for (let d = 1; d <= depth; ++d) {
    const row = bottom + 5 + 17 * d;
    for (let i = 0, k = 0; i < count;) {
      const s = around(p.steps[i].segment, d), from = i;
      while (i < count && around(p.steps[i].segment, d) === s) ++i;
      if (s === 0) continue;
      out.push(box(x(from), row, x(i), row + 14, k++ % 2 ? 'other' : 'segment', {'data-segment': s}));
      const room = (x(i) - x(from)) / 6 - 1, full = p.segments[s].name;
      const number = full.split('.').findLast(part => /^\d+$/.test(part)) || '';
      const fits = full.length < room ? full : number.length < room ? number : '';
      out.push(text((x(from) + x(i)) / 2, row + 11, 'within', fits));
    }
    if (d === 1) out.push(text(left - 6, row + 11, 'end', 'segments'));
  }
  const end = chosen.along === 'time' ? at[count] * 1e3 : count;
  for (const n of ticks(end, Math.min(10, (right - left) / 60))) {
    const here = left + (right - left) * n / end;
    out.push(line(here, foot, here, foot + 4, 'grid'), text(here, foot + 16, 'middle', +n.toPrecision(4)));
  }
  out.push(text((left + right) / 2, foot + 34, 'middle', chosen.along === 'time' ? 'milliseconds' : 'steps'));
  out.push(line(x(f.turn), top, x(f.turn), foot, 'turn'), text(x(f.turn), top - 8, 'middle', 'the turn'));
  out.push(line(-1, top, -1, foot, 'cross'));
  chart.setAttribute('viewBox', `0 0 ${wide} ${foot + 40}`);
  chart.style.height = foot + 40 + 'px';
  chart.replaceChildren(...out);
  chart.onpointermove = event => {
    const here = event.clientX - chart.getBoundingClientRect().left, cross = chart.lastChild;
    let step = 0;
    while (step + 1 < count && x(step + 1) < here) ++step;
    const inside = here >= left && here <= right;
    cross.setAttribute('x1', inside ? here : -1);
    cross.setAttribute('x2', inside ? here : -1);
    tell(event, inside ? step : -1);
  };
}

const told = {
  held: h => [h.name + ' ' + h.extents, lines(h.origin || path(h.segment), bytes(h.bytes) + ', ' + parts[h.part],
    h.from === h.to ? `at step ${h.from}` : `from step ${h.from} to ${h.to}`,
    'at ' + bytes(h.offset) + ' of the arena')],
  segment: s => [s.name, lines(s.again > 0 && time(s.again) + ' to recompute', bytes(s.freed) + ' not stored')],
  step: (s, i) => [`step ${i}: ${s.name}`, lines(s.origin, parts[s.part] + ', ' + time(s.seconds),
    s.flops > 0 && flop(s.flops) + ', ' + rate(over(s.flops, s.seconds)),
    `${percent(over(s.least, s.seconds))} of the roof, of ${s.by}`, bytes(s.live) + ' live')],
};
function tell(event, step) {
  const data = event.target.dataset || {}, kind = ['held', 'segment', 'step'].find(k => k in data);
  const tip = $('tip'), i = kind ? +data[kind] : step, of = kind || 'step';
  if (i < 0) return hide();
  const [title, more] = told[of]((of === 'held' ? p.held : of === 'segment' ? p.segments : p.steps)[i], i);
  const now = of === 'held' ? `\nnow step ${step}: ${bytes(p.steps[step].live)} live` : '';
  tip.replaceChildren(html('b')({}, title), more + now);
  tip.style.display = 'block';
  const size = tip.getBoundingClientRect(), x = event.clientX + 14, y = event.clientY + 14;
  tip.style.left = Math.max(4, x + size.width > innerWidth - 4 ? event.clientX - size.width - 10 : x) + 'px';
  tip.style.top = Math.max(4, y + size.height > innerHeight - 4 ? event.clientY - size.height - 10 : y) + 'px';
}
function hide() { $('tip').style.display = 'none'; }
$('arena').onpointerleave = hide;
for (const button of document.querySelectorAll('[data-choice]')) button.onclick = () => {
  chosen[button.parentElement.dataset.of] = button.dataset.choice;
  for (const other of button.parentElement.children) other.setAttribute('aria-pressed', other === button);
  draw();
};
addEventListener('resize', draw);
draw();
</script>
)html";

}  // namespace cairn::report::detail

#include "cairn/base/macros_back.hpp"
