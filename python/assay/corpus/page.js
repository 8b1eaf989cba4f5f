'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const titles = {name: 'kernel', level: 'level', verdict: 'verdict', class: 'class',
  about: 'witness or cause', findings: 'findings', seconds: 's', memory: 'MiB',
  checked: 'looked at %', claimed: 'said to be'};
const numbers = new Set(['seconds', 'memory', 'checked']);
const pageSize = 200;

const rows = data.rows.map((cells, index) => {
  const row = {index};
  data.columns.forEach((column, k) => { row[column] = cells[k]; });
  row.words = data.columns.filter(c => !numbers.has(c)).map(c => row[c]).join(' ').toLowerCase();
  return row;
});
const columns = data.columns.filter(c =>
  !['level', 'findings', 'claimed'].includes(c) || rows.some(row => row[c]));
const state = {off: new Set(), sort: null, descending: false, shown: pageSize, found: rows};

const $ = id => document.getElementById(id);
function make(tag, props = {}, ...children) {
  const node = Object.assign(document.createElement(tag), props);
  node.append(...children);
  return node;
}

function matches() {
  const words = $('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
  const level = $('level').value;
  const found = rows.filter(row => !state.off.has(row.verdict) &&
    (level === '' || row.level === level) && words.every(word => row.words.includes(word)));
  if (state.sort) {
    const key = state.sort, sign = state.descending ? -1 : 1;
    found.sort((a, b) => {
      const x = a[key], y = b[key];
      if (x === null || y === null) return (x === null) - (y === null);
      return sign * (numbers.has(key) ? x - y : String(x).localeCompare(y, 'en', {numeric: true}));
    });
  }
  return found;
}

function cell(row, column) {
  const value = row[column];
  if (numbers.has(column)) {
    const text = value === null ? '' : column === 'seconds' ? value.toFixed(1) :
      value.toLocaleString('en', {maximumFractionDigits: 4});
    return make('td', {className: 'number', textContent: text});
  }
  const td = make('td', {className: column, textContent: value});
  if (column === 'verdict') td.style.color = data.colors[value];
  return td;
}

function tableRow(row) {
  const tr = make('tr', {className: 'kernel', tabIndex: 0}, ...columns.map(c => cell(row, c)));
  const toggle = () => {
    if (tr.nextSibling?.className === 'detail') tr.nextSibling.remove();
    else open(tr, row);
  };
  tr.addEventListener('click', toggle);
  tr.addEventListener('keydown', event => { if (event.key === 'Enter') toggle(); });
  return tr;
}

function fill(from) {
  const body = document.querySelector('#kernels > tbody');
  if (from === 0) body.replaceChildren();
  body.append(...state.found.slice(from, state.shown).map(tableRow));
  const left = state.found.length - state.shown;
  $('more').hidden = left <= 0;
  $('more').textContent = `show ${Math.min(pageSize, left).toLocaleString('en')} more`;
  $('count').textContent =
    `${state.found.length.toLocaleString('en')} of ${rows.length.toLocaleString('en')} kernels`;
}

function update() {
  state.shown = pageSize;
  state.found = matches();
  fill(0);
}

async function details(index) {
  const text = $(`chunk${Math.floor(index / data.chunk)}`).textContent;
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return (await new Response(stream).json())[index % data.chunk];
}

// With line numbers; the line where the witness differs is marked and scrolled to.
function source(text, line) {
  const pre = make('pre');
  const lines = text.replace(/\n$/, '').split('\n');
  const width = String(lines.length).length;
  lines.forEach((content, k) => {
    const span = make('span', {className: k + 1 === line ? 'here' : ''},
      make('i', {textContent: String(k + 1).padStart(width) + '  '}), content + '\n');
    pre.append(span);
  });
  return pre;
}

async function open(tr, row) {
  const td = make('td', {colSpan: columns.length});
  const box = make('tr', {className: 'detail'}, td);
  tr.after(box);
  let found;
  try {
    found = await details(row.index);
  } catch (error) {
    td.textContent = `this browser cannot unpack the details: ${error}`;
    return;
  }
  const facts = make('table');
  for (const [name, value] of Object.entries(found.facts)) {
    facts.append(make('tr', {}, make('th', {textContent: name}), make('td', {textContent: value})));
  }
  td.append(facts);
  const add = (title, node) => td.append(make('h3', {textContent: title}), node);
  if (found.text) add('what assay check says', make('pre', {textContent: found.text}));
  if (found.errors) add('printed on standard error', make('pre', {textContent: found.errors}));
  // A place in another file, such as ref.py, is no line of the kernel.
  const place = (found.facts.line || '').match(/^(.*):(\d+)$/);
  const line = place && place[1].endsWith(found.kernel) ? Number(place[2]) : 0;
  const kernel = found.source ? source(found.source, line) : null;
  if (kernel) add(found.kernel, kernel);
  if (found.reference) add('ref.py', source(found.reference, 0));
  if (found.script) {
    const file = new Blob([found.script], {type: 'text/x-python'});
    const save = make('a', {textContent: 'save', download: 'witness.py',
      href: URL.createObjectURL(file)});
    add('the witness as a script for PyTorch, ', make('pre', {textContent: found.script}));
    td.lastChild.previousSibling.append(save);
  }
  const here = kernel?.querySelector('.here');
  if (here) kernel.scrollTop = here.offsetTop - kernel.offsetTop - kernel.clientHeight / 2;
}

function setUpTable() {
  const head = document.querySelector('#kernels > thead > tr');
  for (const column of columns) {
    const th = make('th', {textContent: titles[column], scope: 'col',
      className: numbers.has(column) ? 'number' : ''});
    th.addEventListener('click', () => {
      state.descending = state.sort === column ? !state.descending : numbers.has(column);
      state.sort = column;
      head.querySelectorAll('th').forEach(other => other.removeAttribute('aria-sort'));
      th.setAttribute('aria-sort', state.descending ? 'descending' : 'ascending');
      update();
    });
    head.append(th);
  }
  $('more').addEventListener('click', () => {
    const from = state.shown;
    state.shown += pageSize;
    fill(from);
  });
}

function setUpControls() {
  $('filter').addEventListener('input', update);
  const levels = [...new Set(rows.map(row => row.level))].filter(Boolean);
  levels.sort((a, b) => a - b);
  $('level').append(make('option', {value: '', textContent: 'all levels'}),
    ...levels.map(n => make('option', {value: n, textContent: `level ${n}`})));
  $('level').hidden = levels.length === 0;
  $('level').addEventListener('change', update);
  for (const verdict of data.verdicts) {
    const number = rows.filter(row => row.verdict === verdict).length;
    const chip = make('button', {textContent: `${verdict} ${number.toLocaleString('en')}`});
    chip.dataset.verdict = verdict;
    chip.style.borderColor = data.colors[verdict];
    chip.setAttribute('aria-pressed', 'true');
    chip.addEventListener('click', () => {
      if (!state.off.delete(verdict)) state.off.add(verdict);
      showChips();
      update();
    });
    $('chips').append(chip);
  }
}

function showChips() {
  document.querySelectorAll('#chips button').forEach(chip =>
    chip.setAttribute('aria-pressed', String(!state.off.has(chip.dataset.verdict))));
}

function only(verdict, words) {
  state.off = new Set(data.verdicts.filter(v => v !== verdict));
  $('filter').value = words;
  showChips();
  update();
}

function setUpFigures() {
  for (const [id, figure] of Object.entries(data.figures)) {
    Plotly.newPlot(id, figure.data, figure.layout, {responsive: true, displayModeBar: false});
  }
  $('verdicts').on('plotly_click', event => only(event.points[0].x, ''));
  $('causes').on('plotly_click', event => only(...event.points[0].customdata));
}

setUpTable();
setUpControls();
update();
// The table is there before the plotting library is read.
document.addEventListener('DOMContentLoaded', setUpFigures);
