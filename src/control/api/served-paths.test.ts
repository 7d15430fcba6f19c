import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServedPaths } from './served-paths.ts';

const paths = new ServedPaths(
  [
    ['GET', '/'],
    ['GET', '/edges/https'],
    ['POST', '/edges/https'],
    ['GET', '/edges/https/{id}'],
    ['DELETE', '/edges/https/{id}'],
    ['GET', '/edges/https/{edge_id}/routes/{id}'],
    ['GET', '/events/{id}'],
    ['POST', '/events/replay'],
  ].map(([method = '', path = '']) => ({ method, path })),
);

test('lists the methods of a path: HEAD goes with GET, OPTIONS with anything', () => {
  assert.deepEqual(paths.methodsOf('/'), ['GET', 'HEAD', 'OPTIONS']);
  assert.deepEqual(paths.methodsOf('/edges/https'), ['GET', 'HEAD', 'OPTIONS', 'POST']);
  assert.deepEqual(paths.methodsOf('/edges/https/e1'), ['DELETE', 'GET', 'HEAD', 'OPTIONS']);
  assert.deepEqual(paths.methodsOf('/edges/https/e1/routes/r1'), ['GET', 'HEAD', 'OPTIONS']);
});

test('a fixed segment is no value of the parameter beside it', () => {
  assert.deepEqual(paths.methodsOf('/events/replay'), ['OPTIONS', 'POST']);
  assert.deepEqual(paths.methodsOf('/events/e1'), ['GET', 'HEAD', 'OPTIONS']);
});

test('finds nothing at empty segments, longer and shorter paths', () => {
  for (const path of [
    '/edges',
    '/edges/https/',
    '/edges/https/e1/',
    '/edges//e1',
    '/edges/https/e1/routes',
    '',
    '//',
  ]) {
    assert.deepEqual(paths.methodsOf(path), [], path);
  }
});
