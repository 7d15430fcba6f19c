import { suite, test } from 'node:test';
import { isLong } from '../support/share-of-cases.ts';
import { killRound } from './kill-rounds.ts';

suite('kill -9 during an order', () => {
  test('after the order was created and before its answer arrived: the order is found', async (context) => {
    await killRound(context, { step: 'newOrder', isHandled: true });
  });

  // `test/long/acme.test.ts` kills at every step.
  if (isLong) {
    test('after the certificate was requested and before the answer arrived: it is fetched', async (context) => {
      await killRound(context, { step: 'finalize', isHandled: true });
    });
  }
});
