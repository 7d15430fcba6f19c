import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { textFilter } from './text-filter.ts';

const EDGE_ID = `edghts_${'2'.repeat(27)}`;
const BACKEND_ID = `bkds_${'3'.repeat(27)}`;
const edge = {
  id: EDGE_ID,
  uri: `http://127.0.0.1:4041/edges/https/${EDGE_ID}`,
  created_at: '2026-11-19T10:00:00Z',
  hostports: ['Wiki.example.com:443'],
  routes: [{ match: '/', backend: { backend: { id: BACKEND_ID, uri: 'http://127.0.0.1:4041/backends/static/x' } } }],
};
const finds = (text: string): boolean =>
  textFilter(text, (id) => (id === BACKEND_ID ? ['10.0.0.5:8080', 'ana@example.org'] : []))(edge);

suite('a text filter', () => {
  test('finds a part of a host in any case, all words in any place, and what an item refers to', () => {
    for (const text of ['wiki', 'WIKI.EX', 'wiki 10.0.0.5', 'ana@example.org', '  ']) assert.ok(finds(text), text);
    for (const text of ['shop', 'wiki shop', '10.0.0.6']) assert.ok(!finds(text), text);
  });

  test('finds an id as a whole or by a long part, but not by what all ids, addresses and times have', () => {
    for (const text of [EDGE_ID, BACKEND_ID, EDGE_ID.slice(0, 12)]) assert.ok(finds(text), text);
    for (const text of ['edghts', 'bkds', '127.0.0.1', '2026-11']) assert.ok(!finds(text), text);
  });
});
