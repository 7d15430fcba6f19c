import { after, test } from 'node:test';
import fc from 'fast-check';
import { recordingUpstream } from '../edge/traffic/recording-upstream.ts';
import { EdgeWorld, newHost } from '../support/edge-world.ts';
import { isLong } from '../support/share-of-cases.ts';
import { assertAgreement, configurations, makeBackends } from './agreement.ts';

const upstream = await recordingUpstream({ after });
upstream.answer = (_request, response) => response.end('hello');
const world = await EdgeWorld.open({ after });
const backends = await makeBackends(world, upstream.address);

test('explain says what the edge then does, for random configurations and requests', async () => {
  await fc.assert(
    fc.asyncProperty(configurations, (configuration) => assertAgreement(world, backends, newHost(), configuration)),
    { numRuns: isLong ? 100 : 8, endOnFailure: true },
  );
});
