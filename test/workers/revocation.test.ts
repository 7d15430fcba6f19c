import { after, test } from 'node:test';
import { LoginWorld } from '../support/login-world.ts';
import { revocationTimes } from './revocation-times.ts';

const world = await LoginWorld.open({ after }, { env: { POSTERN_WORKERS: '2' } });

test('a login that is revoked ends its WebSockets at all workers', async () => {
  await revocationTimes(world, 2);
});
