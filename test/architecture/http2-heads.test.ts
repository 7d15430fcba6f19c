import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { filesIn, projectRoot } from './source-files.ts';

/** Only a status, which always fits. */
const CONSTANT = /\.respond\(\[':status', [^,\]]+\]|\.additionalHeaders\(\{ ':status': \w+ \}\)/g;
const SENDS = /\.(?:respond|additionalHeaders)\(|(?<!\bhop)\.sendTrailers\(|[sS]ession\.request\(headers/;

test('heads of exchanges are sent by src/kit/http2/heads.ts alone, which checks that they fit', () => {
  const others = filesIn('src/**/*.ts').filter((path) => {
    if (path === 'src/kit/http2/heads.ts' || path.endsWith('.test.ts')) return false;
    return SENDS.test(readFileSync(join(projectRoot, path), 'utf8').replaceAll(CONSTANT, ''));
  });
  assert.deepEqual(others, []);
});
