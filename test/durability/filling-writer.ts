import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Answer, ApiConnection } from '../support/api-connection.ts';

const PATH = '/backends/http_response';

export interface FillOptions {
  readonly writers: number;
  /** Size of each body. */
  readonly bytes: number;
  readonly isEnough: (answers: readonly Answer[]) => boolean;
}

export interface FillOutcome {
  readonly answers: readonly Answer[];
  /** Bodies of acknowledged creates, by id. */
  readonly kept: Map<string, string>;
}

/** Creates backends with incompressible bodies, from several writers at once, until `isEnough`. */
export async function fill(api: ApiConnection, { writers, bytes, isEnough }: FillOptions): Promise<FillOutcome> {
  const answers: Answer[] = [];
  const kept = new Map<string, string>();
  async function write(): Promise<void> {
    while (!isEnough(answers)) {
      assert.ok(answers.length < 20_000, 'the disk did not fill up');
      const body = randomBytes(bytes / 2).toString('hex');
      const answer = await api.send('POST', PATH, { body });
      answers.push(answer);
      if (answer.status === 201) kept.set(answer.body.id as string, body);
    }
  }
  await Promise.all(Array.from({ length: writers }, write));
  return { answers, kept };
}

/** Everything acknowledged exists with its body, and nothing that was rejected does. */
export async function assertKept(api: ApiConnection, kept: ReadonlyMap<string, string>): Promise<void> {
  const found = new Map<string, string>();
  for (let page: string | null = PATH; page !== null; ) {
    const { status, body } = await api.send('GET', page);
    assert.equal(status, 200);
    for (const each of body.backends as { id: string; body: string }[]) found.set(each.id, each.body);
    const next = body.next_page_uri as string | null;
    page = next === null ? null : next.slice(new URL(next).origin.length);
  }
  assert.deepEqual([...found.keys()].sort(), [...kept.keys()].sort());
  for (const [id, body] of kept) assert.equal(found.get(id), body, id);
}
