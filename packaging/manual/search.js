// SPDX-License-Identifier: Apache-2.0
// Search box of the rendered manual. The index is loaded at the first use, as a script: pages opened
// from a disk may not fetch files.
'use strict';
const RESULTS = 12;
const form = document.querySelector('.search');
const input = form.querySelector('input');
const list = form.querySelector('ol');

// Position of the first indexed word that is not before `word`.
function lowerBound(words, word) {
  let low = 0, high = words.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (words[middle] < word) low = middle + 1; else high = middle;
  }
  return low;
}

// Weight of every section that contains a word with this prefix; the whole word counts four times.
function sectionsOf(prefix) {
  const found = new Map();
  for (let k = lowerBound(INDEX.words, prefix); k < INDEX.words.length && INDEX.words[k].startsWith(prefix); k++) {
    const factor = INDEX.words[k] === prefix ? 4 : 1;
    for (const [section, weight] of INDEX.postings[k])
      found.set(section, (found.get(section) || 0) + factor * Math.min(weight, 20));
  }
  return found;
}

// Sections that contain all words, best first.
function search(query) {
  const words = query.toLowerCase().match(/[a-z0-9_]{2,}/g) || [];
  if (words.length === 0) return [];
  const maps = words.map(sectionsOf);
  const score = (section) => maps.reduce((sum, map) => sum + map.get(section), 0);
  return [...maps[0].keys()].filter((section) => maps.every((map) => map.has(section)))
    .sort((a, b) => score(b) - score(a) || a - b);
}

function show() {
  const found = search(input.value);
  list.replaceChildren(...found.slice(0, RESULTS).map((section) => {
    const [page, anchor, title, excerpt] = INDEX.sections[section];
    const item = document.createElement('li'), link = document.createElement('a');
    link.href = INDEX.pages[page][0] + (anchor ? '#' + anchor : '');
    link.textContent = title.startsWith(INDEX.pages[page][1]) ? title : INDEX.pages[page][1] + ': ' + title;
    item.append(link, document.createElement('br'), excerpt);
    return item;
  }));
  if (found.length === 0 && input.value.trim() !== '') {
    const item = document.createElement('li');
    item.textContent = 'No section contains all of these words.';
    list.append(item);
  }
}

let loading = false;
function load() {
  if (loading) return;
  loading = true;
  const script = document.createElement('script');
  script.src = 'index.js';
  script.onload = () => { input.addEventListener('input', show); show(); };
  document.head.append(script);
}

form.hidden = false;
form.addEventListener('submit', (event) => {
  event.preventDefault();
  const first = list.querySelector('a');
  if (first) location.href = first.href;
});
input.addEventListener('focus', load);
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && !/INPUT|TEXTAREA/.test(document.activeElement.tagName)) {
    event.preventDefault();
    input.focus();
  }
  if (event.key === 'Escape') list.replaceChildren();
});
const query = new URLSearchParams(location.search).get('q');
if (query) {
  input.value = query;
  load();
}
