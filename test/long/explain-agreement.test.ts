import { after, test } from 'node:test';
import fc from 'fast-check';
import { assertAgreement, configurations, crowdedRoutes, makeBackends, openUpstream } from '../explain/agreement.ts';
import { EdgeWorld, newHost } from '../support/edge-world.ts';

const upstream = await openUpstream({ after });
const world = await EdgeWorld.open({ after });
const backends = await makeBackends(world, upstream.address);

test('explain says what the edge then does, for 1,000 random requests', async () => {
  await fc.assert(
    fc.asyncProperty(configurations, (configuration) =>
      assertAgreement(world, { backends, upstream }, newHost(), configuration),
    ),
    { numRuns: 125, endOnFailure: true },
  );
});

test('explain says what limits, circuits, filters and headers of a route do, for 1,000 random requests', async () => {
  await fc.assert(
    fc.asyncProperty(crowdedRoutes, (configuration) =>
      assertAgreement(world, { backends, upstream }, newHost(), configuration),
    ),
    { numRuns: 100, endOnFailure: true },
  );
});
