import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { suite, test } from 'node:test';
import { startServer } from '../../src/app/main/server.ts';
import { loadConfig } from '../../src/app/settings/load.ts';
import { tempDir } from '../support/temp-dir.ts';

const silent = { write: () => {} };

function configFor(dataDir: string, port = 0) {
  const flags = new Map([
    ['data-dir', dataDir],
    ['api-listen', `127.0.0.1:${port}`],
  ]);
  return loadConfig({ flags, env: {} }).config;
}

suite('startServer', () => {
  test('opens and closes repeatedly in one process on the same data directory', async (t) => {
    const config = configFor(await tempDir(t));
    for (let round = 0; round < 2; round += 1) {
      const server = await startServer(config, { logDestination: silent });
      assert.equal((await fetch(`${server.baseUrl}/healthz`)).status, 200);
      await server.close();
      await server.close();
      await assert.rejects(fetch(`${server.baseUrl}/healthz`));
    }
  });

  test('closes what it has opened when it fails midway', async (t) => {
    const dataDir = await tempDir(t);
    const holder = createServer();
    t.after(() => holder.close());
    await once(holder.listen(0, '127.0.0.1'), 'listening');
    const { port } = holder.address() as AddressInfo;
    await assert.rejects(startServer(configFor(dataDir, port), { logDestination: silent }), /already in use/);
    // The store would reject a second holder of its directory.
    const server = await startServer(configFor(dataDir), { logDestination: silent });
    await server.close();
  });
});
