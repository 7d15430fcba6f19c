import { suite } from 'node:test';
import { changeFeed } from './change-feed.ts';
import { concurrency } from './concurrency.ts';
import { deliveries } from './deliveries.ts';
import { durability } from './durability.ts';
import { eventsAndIdempotency } from './events-and-idempotency.ts';
import { identity } from './identity.ts';
import { logins } from './logins.ts';
import { modelComparison } from './model-comparison.ts';
import { nodes } from './nodes.ts';
import { presence } from './presence.ts';
import { refusals } from './refusals.ts';
import { sharedCommits } from './shared-commits.ts';
import type { OpenStore } from './store-under-test.ts';
import { writing } from './writing.ts';

/**
 * Requirements for every engine. `test/store/` runs them against real databases. Suites run few tests at once: each has
 * a store with several connections, and all test files share one database server, which accepts a hundred.
 */
export function storeConformance(name: string, openStore: OpenStore): void {
  suite(`${name} store`, { concurrency: 2 }, () => {
    writing(openStore);
    refusals(openStore);
    concurrency(openStore);
    changeFeed(openStore);
    durability(openStore);
    eventsAndIdempotency(openStore);
    presence(openStore);
    nodes(openStore);
    logins(openStore);
    identity(openStore);
    deliveries(openStore);
    modelComparison(openStore);
    sharedCommits(openStore);
  });
}
