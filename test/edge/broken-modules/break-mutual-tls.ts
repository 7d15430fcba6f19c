import type { TestWorld } from '../../support/test-world.ts';

/** An authority that never existed. */
export const GONE = 'ca_2zXAMPLEauthorityOfTheDocsA';

/** The API does not delete an authority that an edge uses: only a manipulated store is in this state. */
export async function breakMutualTls(
  world: Pick<TestWorld, 'store'>,
  edgeId: string,
  authorityIds: readonly string[],
): Promise<void> {
  const result = await world.store.commit({
    puts: [
      {
        kind: 'https_edge.mutual_tls',
        id: `${edgeId}.mutual_tls`,
        parent: edgeId,
        doc: { enabled: true, certificate_authority_ids: [...authorityIds] },
        secrets: null,
        uniqueKeys: [],
        references: [],
      },
    ],
  });
  if (!result.ok) throw new Error(JSON.stringify(result));
}
