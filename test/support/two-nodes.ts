import { randomBytes } from 'node:crypto';
import type { Cleanup } from './cleanup.ts';
import { freshDatabase, startPostgres } from './postgres.ts';
import { TunnelWorld } from './tunnel-world.ts';

/** A cluster in one process, on a database of its own. Agents dial the first node. */
export async function twoNodes(
  test: Cleanup,
  env: Readonly<Record<string, string>> = {},
): Promise<readonly [TunnelWorld, TunnelWorld]> {
  const postgres = await startPostgres();
  const { url: databaseUrl } = await freshDatabase(postgres);
  test.after(() => postgres.stop());
  const shared = {
    ...env,
    POSTERN_SECRET_KEY: randomBytes(32).toString('base64'),
    POSTERN_PEER_LISTEN: '127.0.0.1:0',
  };
  const holder = await TunnelWorld.open(test, { ...shared, POSTERN_NODE_NAME: 'holder' }, { databaseUrl });
  const named = { ...shared, POSTERN_NODE_NAME: 'visited', POSTERN_AUTHTOKEN: holder.token };
  return [holder, await TunnelWorld.open(test, named, { databaseUrl })];
}
