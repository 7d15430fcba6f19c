import assert from 'node:assert/strict';
import { test } from 'node:test';
import { summaryLines } from './summary-lines.ts';

const SUMMARY = {
  url: 'https://wiki.localhost:18443/',
  certificates: ['wiki.localhost: from the internal CA. Browsers do not trust it: see "postern ca"'],
  identity: { issuer: 'https://id.localhost:18443' } as never,
  people: { emails: ['ana@example.com', 'benjamin.featherstonehaugh@example.com'], groups: [] } as never,
  administrator: 'https://id.localhost/x',
  console: ['http://127.0.0.1:7080/console (logs you in once, within ten minutes, with the code ABCD-EFGH)'],
  connection: ' --api-url http://127.0.0.1:18081',
};

test('the summary of postern up breaks at words, and its commands so that a shell takes all of them', () => {
  for (const width of [60, 80]) {
    const lines = summaryLines({ ...SUMMARY, width }).flatMap((line) => line.split('\n'));
    const long = lines.filter((line) => line.length > width);
    assert.deepEqual(
      long.filter((line) => !line.startsWith('Invite:') && / \S+ \S/.test(line.slice(15))),
      [],
    );
    assert.equal(lines.join(' ').replaceAll(/\s+/g, ' ').includes('Browsers do not trust it: see "postern ca"'), true);
    const invite = lines.findIndex((line) => line.startsWith('Invite:'));
    assert.match(lines[invite] ?? '', /postern users add ana@example\.com benjamin\.feather\S+ \\$/);
    assert.equal(lines[invite + 1], `${' '.repeat(15)}  --api-url http://127.0.0.1:18081`);
  }
  const piped = summaryLines({ ...SUMMARY, width: null });
  assert.equal(piped.length, 7);
});
