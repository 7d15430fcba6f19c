import { suite, test } from 'node:test';
import { killRound } from './kill-rounds.ts';

// Own process: starts nodes as processes. `test/long/acme.test.ts` kills at every step.
suite('kill -9 during an order', () => {
  test('after the order was created and before its answer arrived: the order is found', async (context) => {
    await killRound(context, { step: 'newOrder', isHandled: true });
  });

  test('after the certificate was requested and before the answer arrived: it is fetched', async (context) => {
    await killRound(context, { step: 'finalize', isHandled: true });
  });
});
