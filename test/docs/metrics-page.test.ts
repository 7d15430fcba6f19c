import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFrozenNames } from '../architecture/frozen-names-file.ts';
import { readPage } from './markdown.ts';

test('the page of metrics lists every metric with its labels, and no other', () => {
  const rows = readPage('docs/reference/metrics.md').matchAll(/^\| `(postern_\w+)` \|([^|]*)\|([^|]*)/gm);
  const listed = Array.from(rows, ([, name, labels = '', meaning = '']) => ({
    name,
    labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label).join(', '),
    isHistogram: meaning.includes('(histogram)'),
  }));
  const frozen = readFrozenNames().flatMap((line) => {
    const [, name, type, labels] = /^metric: (\w+), (\w+), labels \[(.*)\]$/.exec(line) ?? [];
    return name === undefined ? [] : [{ name, labels, isHistogram: type === 'histogram' }];
  });
  assert.ok(frozen.length >= 40);
  const byName = (one: { name?: string | undefined }, other: { name?: string | undefined }): number =>
    String(one.name).localeCompare(String(other.name));
  assert.deepEqual(listed.toSorted(byName), frozen.toSorted(byName));
});
