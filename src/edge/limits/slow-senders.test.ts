import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { type Sender, SlowSenders } from './slow-senders.ts';

function sender(
  fields: Partial<Pick<Sender, 'isAnswering'>> & { readonly isWhole?: boolean; readonly unread?: string } = {},
): Sender & { bytesIn: number; problem: string } {
  const source = new PassThrough();
  if (fields.unread !== undefined) source.write(fields.unread);
  const made = {
    isAnswering: fields.isAnswering ?? false,
    bytesIn: 0,
    problem: '',
    connection: { retire: () => {} },
    client: {
      source,
      isBodyWhole: () => fields.isWhole === true,
      writer: {
        onGone: (problem?: { readonly code: string }) => {
          made.problem = problem?.code ?? '';
        },
      },
    },
  };
  return made;
}

test('ends only clients that send their body too slowly, and only while requests are scarce', () => {
  const slow = sender();
  const brisk = sender();
  const answered = sender({ isAnswering: true });
  const whole = sender({ isWhole: true });
  const upstreamIsSlow = sender({ unread: 'waits for the upstream' });
  const all = [slow, brisk, answered, whole, upstreamIsSlow];
  let isScarce = false;
  const senders = new SlowSenders({ minBytesPerSecond: 100, isScarce: () => isScarce, senders: () => all });
  const look = (nowMs: number): string[] => {
    senders.look(nowMs);
    return all.map(({ problem }) => problem);
  };
  const nobody = ['', '', '', '', ''];
  look(0);
  assert.deepEqual(look(60_000), nobody, 'there is room');
  isScarce = true;
  assert.deepEqual(look(65_000), nobody, 'seen for the first time');
  slow.bytesIn += 499;
  brisk.bytesIn += 500;
  assert.deepEqual(look(70_000), ['ERR_POSTERN_REQUEST_TIMEOUT', '', '', '', '']);
});
