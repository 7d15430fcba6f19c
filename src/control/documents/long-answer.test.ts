import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { longAnswer } from './long-answer.ts';

const bodyWith = (count: number, text: string) => ({
  revision: 3,
  items: Array.from({ length: count }, (_, at) => ({ at, text })),
  uri: 'http://127.0.0.1/items',
});

suite('the answer with a list', () => {
  for (const count of [0, 1, 250]) {
    test(`of ${count} small items is one text`, async () => {
      const body = bodyWith(count, '"š\u0001');
      assert.deepEqual(await longAnswer(body, 'items'), { body, text: JSON.stringify(body) });
    });
  }

  test('of a few large items leaves turns to others, and is sent in parts', async () => {
    const body = bodyWith(40, '\u0001'.repeat(170_000));
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 0);
    const { parts, text } = await longAnswer(body, 'items');
    assert.equal(text, undefined);
    const sent: string[] = [];
    for await (const part of parts ?? []) sent.push(part);
    clearInterval(timer);
    assert.ok(turns > 2 && sent.length > 10, `${turns} turns, ${sent.length} parts`);
    assert.equal(sent.join(''), JSON.stringify(body));
  });
});
