import { after, test } from 'node:test';
import fc from 'fast-check';
import { EdgeWorld, newHost } from '../support/edge-world.ts';
import { isLong } from '../support/share-of-cases.ts';
import { assertAgreement, configurations, crowdedRoutes, makeBackends, openUpstream } from './agreement.ts';

const upstream = await openUpstream({ after });
const world = await EdgeWorld.open({ after });
const backends = await makeBackends(world, upstream.address);

test('explain says what the edge then does, for random configurations and requests', async () => {
  await fc.assert(
    fc.asyncProperty(configurations, (configuration) =>
      assertAgreement(world, { backends, upstream }, newHost(), configuration),
    ),
    { numRuns: isLong ? 100 : 5, endOnFailure: true },
  );
});

test('explain says what limits, circuits, filters and headers of a route do to one request after the other', async () => {
  await fc.assert(
    fc.asyncProperty(crowdedRoutes, (configuration) =>
      assertAgreement(world, { backends, upstream }, newHost(), configuration),
    ),
    { numRuns: isLong ? 100 : 6, endOnFailure: true },
  );
});
