import assert from 'node:assert/strict';
import { SeededRandom } from '../fuzz/support/seeded-random.ts';
import { hostileBytes } from './hostile-bytes.ts';
import { ownReading } from './own-reading.ts';
import type { AcceptedRequest, Reading } from './reading.ts';
import { runtimeReading } from './runtime-reading.ts';

/** Input that the runtime accepts and the edge refuses, and why the edge should. */
const WANTED: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['a chunk size of more than 13 digits: not a safe integer for every reader', /\n[0-9a-f]{14,}[;\r]/i],
  ['a chunk line of more than 512 bytes', /\n[0-9a-f]+;[^\r]{400,}/i],
  ['the runtime stops reading at a request for a protocol that the edge does not switch to', /upgrade:/i],
  ['the runtime takes the head of "chunked" with a tab behind it, and refuses the body', /chunked *\t[\t ]*\r/i],
  ['two spaces before the version', / {2}HTTP/],
  ['a bare CR or LF before a request', /(?<!\r)\n|\r(?!\n)/],
  [
    'the runtime goes on after HTTP/1.0 with "keep-alive" and "close"; RFC 9112 §9.3 lets "close" win',
    /HTTP\/1\.0\r\n(?=(?:[^\r\n]+\r\n)*(?:proxy-)?connection:[^\r\n]*close)(?=(?:[^\r\n]+\r\n)*(?:proxy-)?connection:[^\r\n]*keep-alive)/i,
  ],
];

export interface Differences {
  readonly cases: number;
  readonly accepted: number;
  /** How often the edge refused what the runtime accepts, by reason. */
  readonly stricter: ReadonlyMap<string, number>;
}

/** The edge must accept nothing that the runtime refuses, and must read what both accept in the same way. */
export async function findDifferences(seed: number, cases: number): Promise<Differences> {
  const stricter = new Map<string, number>();
  let accepted = 0;
  for (let at = 0; at < cases; at += 1) {
    const pieces = hostileBytes(new SeededRandom(seed * 1_000_003 + at));
    const [own, runtime] = await Promise.all([ownReading(pieces), runtimeReading(pieces)]);
    const bytes = Buffer.concat(pieces).toString('latin1');
    const about = `case ${at} of seed ${seed}: ${JSON.stringify(bytes.slice(0, 2000))}\nown ${JSON.stringify(own)}\nruntime ${JSON.stringify(runtime)}`;
    accepted += own.accepted.length;
    const reason = compare(own, runtime, bytes, about);
    if (reason !== null) stricter.set(reason, (stricter.get(reason) ?? 0) + 1);
  }
  return { cases, accepted, stricter };
}

/** Null: both read the same. */
function compare(own: Reading, runtime: Reading, bytes: string, about: string): string | null {
  for (const [at, mine] of own.accepted.entries()) {
    const theirs = runtime.accepted[at];
    assert.ok(theirs !== undefined, `accepted only by the edge: ${about}`);
    assert.deepEqual(mine.head, theirs.head, about);
    const isStopped = mine.state === 'whole' && theirs.state === 'open';
    if (isStopped || (mine.state === 'broken' && theirs.state !== 'broken')) return wantedReason(bytes, about);
    assert.ok(theirs.body.startsWith(mine.body), about);
    if (mine.state === 'broken') continue;
    assert.deepEqual(pick(mine), pick(theirs), about);
  }
  // The LF behind it starts the next request.
  if (own.accepted.at(-1)?.body.endsWith('\r') === true) return 'a body that ends inside of a line break';
  if (own.accepted.length < runtime.accepted.length) return wantedReason(bytes, about);
  return own.isRefused && !runtime.isRefused ? wantedReason(bytes, about) : null;
}

function pick({ body, trailers, state }: AcceptedRequest): object {
  return { body, trailers, state };
}

function wantedReason(bytes: string, about: string): string {
  const found = WANTED.find(([, pattern]) => pattern.test(bytes));
  assert.ok(found !== undefined, `refused only by the edge: ${about}`);
  return found[0];
}
