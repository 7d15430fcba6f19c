import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { BYTES_PER_COLLECTION_OF_AGENTS, bufferPassed, collectPassedBuffers } from './passing-buffers.ts';

const CHUNK = 1024 * 1024;

after(() => collectPassedBuffers(null));

test('collects every 24 MB of passed buffers, and only once a collector is set', () => {
  for (let n = 0; n < 100; n += 1) bufferPassed(CHUNK);
  let collections = 0;
  const young = (): void => {
    collections += 1;
  };
  collectPassedBuffers({ young, old: assert.fail });
  for (let n = 0; n < 23; n += 1) bufferPassed(CHUNK);
  assert.equal(collections, 0, 'what passed before does not count');
  bufferPassed(CHUNK);
  assert.equal(collections, 1);
  for (let n = 0; n < 72; n += 1) bufferPassed(CHUNK);
  assert.equal(collections, 4);
});

test('collects more often in an agent', () => {
  let collections = 0;
  const young = (): void => {
    collections += 1;
  };
  collectPassedBuffers({ young, old: assert.fail }, BYTES_PER_COLLECTION_OF_AGENTS);
  for (let n = 0; n < 24; n += 1) bufferPassed(CHUNK);
  assert.equal(collections, 6);
});
